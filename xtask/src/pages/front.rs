//! A port in front of a server's port: it notes what comes, and passes everything on. It also
//! serves the page, so that the page's own name points, to the browser, at the server.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// A connection that is silent for so long is over.
const SILENCE: Duration = Duration::from_secs(10);

/// What came so far.
#[derive(Clone, Default)]
pub struct Seen(Arc<Mutex<Vec<String>>>);

impl Seen {
    fn note(&self, text: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }

    /// Everything, in the order in which it came.
    pub fn all(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether something came that begins so.
    pub fn has(&self, begins: &str) -> bool {
        self.all().iter().any(|text| text.starts_with(begins))
    }
}

/// The ports in front of the three protocols, and what came to them.
pub struct Fronts {
    /// That of the SQS port, which serves the page.
    pub sqs: SocketAddr,
    /// What came to all of them.
    pub seen: Seen,
}

impl Fronts {
    /// Opens a port in front of each of these addresses. `page` makes the page of the three ports.
    pub fn open(
        targets: [&str; 3],
        page: impl FnOnce([u16; 3]) -> String,
    ) -> Result<Fronts, String> {
        let failed = |error: io::Error| format!("no port for the test: {error}");
        let seen = Seen::default();
        let mut listeners = Vec::new();
        for _ in targets {
            listeners.push(TcpListener::bind("127.0.0.1:0").map_err(failed)?);
        }
        let places: Vec<SocketAddr> = listeners
            .iter()
            .map(TcpListener::local_addr)
            .collect::<Result<_, _>>()
            .map_err(failed)?;
        let [sqs, beanstalkd, admin] = places[..] else { return Err("three ports".to_owned()) };
        let page: Arc<str> = page([sqs.port(), beanstalkd.port(), admin.port()]).into();
        for (listener, target) in listeners.into_iter().zip(targets) {
            let (seen, target, page) = (seen.clone(), target.to_owned(), Arc::clone(&page));
            // Ends with this program.
            thread::spawn(move || {
                for stream in listener.incoming().flatten() {
                    let (seen, target, page) = (seen.clone(), target.clone(), Arc::clone(&page));
                    thread::spawn(move || serve(stream, &seen, &target, &page));
                }
            });
        }
        Ok(Fronts { sqs, seen })
    }
}

/// One connection: its first request decides.
fn serve(mut stream: TcpStream, seen: &Seen, target: &str, page: &str) -> io::Result<()> {
    stream.set_read_timeout(Some(SILENCE))?;
    let mut begun = vec![0; 64 << 10];
    let count = stream.read(&mut begun)?;
    begun.truncate(count);
    let text = String::from_utf8_lossy(&begun).into_owned();
    let path = text.split(' ').nth(1).unwrap_or_default();
    if path == "/page" {
        return answer(&mut stream, "text/html", page);
    }
    if path == "/done" {
        let body = rest_of_body(&mut stream, &text)?;
        seen.note(format!("/done {body}"));
        return answer(&mut stream, "text/plain", "");
    }
    seen.note(path.to_owned());
    pass_on(stream, &begun, seen, target)
}

fn answer(stream: &mut TcpStream, kind: &str, body: &str) -> io::Result<()> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\
         connection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}

/// The body of a request of which a part has come.
fn rest_of_body(stream: &mut TcpStream, begun: &str) -> io::Result<String> {
    let (head, body) = begun.split_once("\r\n\r\n").unwrap_or((begun, ""));
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    let mut rest = vec![0; length.unwrap_or(0).saturating_sub(body.len())];
    stream.read_exact(&mut rest)?;
    Ok(format!("{body}{}", String::from_utf8_lossy(&rest)))
}

/// Passes a connection on to `target`; further requests on it are noted, too.
fn pass_on(mut client: TcpStream, begun: &[u8], seen: &Seen, target: &str) -> io::Result<()> {
    let mut server = TcpStream::connect(target)?;
    server.set_read_timeout(Some(SILENCE))?;
    server.write_all(begun)?;
    let (mut answers, mut back) = (server.try_clone()?, client.try_clone()?);
    let returning = thread::spawn(move || {
        let _ = io::copy(&mut answers, &mut back);
        let _ = back.shutdown(Shutdown::Both);
    });
    let mut bytes = vec![0; 64 << 10];
    while let Ok(count) = client.read(&mut bytes) {
        let Some(piece) = bytes.get(..count).filter(|piece| !piece.is_empty()) else { break };
        let text = String::from_utf8_lossy(piece);
        let words: Vec<&str> = text.splitn(3, ' ').collect();
        if let [_, path, version] = words[..]
            && version.starts_with("HTTP/")
        {
            seen.note(path.to_owned());
        }
        server.write_all(piece)?;
    }
    let _ = server.shutdown(Shutdown::Both);
    let _ = returning.join();
    Ok(())
}
