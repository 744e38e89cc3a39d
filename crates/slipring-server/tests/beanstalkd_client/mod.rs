//! A server on a memory store and a clock that stands still, and a raw client to talk to it.

// Each test file takes what it needs of this module.
#![allow(dead_code, clippy::unwrap_used, clippy::panic)]

#[path = "../running/mod.rs"]
pub mod running;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use slipring::Engine;
use slipring_server::beanstalkd::{Listener, Server, Settings};
use slipring_server::deadlines::Deadlines;
use tokio_util::sync::CancellationToken;

use running::{PATIENCE, Running, Serves};

/// A running server.
pub type TestServer = Running<Server>;

impl Serves for Server {
    type Settings = Settings;
    type Listener = Listener;

    fn patient() -> Settings {
        let idle = Duration::from_secs(1 << 32);
        let deadlines = Deadlines { idle, ..Deadlines::default() };
        Settings { deadlines, ..Settings::default() }
    }

    async fn listen() -> (Listener, SocketAddr) {
        let listener = Listener::tcp("127.0.0.1:0").await.unwrap();
        let address = listener.address().parse().unwrap();
        (listener, address)
    }

    fn make(engine: Engine, settings: Settings) -> Server {
        Server::new(engine, settings)
    }

    async fn run(self, listener: Listener, stop: CancellationToken) {
        self.serve(listener, stop).await;
    }
}

impl TestServer {
    pub fn connect(&self) -> Client<TcpStream> {
        Client::new(connect(self.address))
    }

    /// Waits until `reached` holds for what `stats` says of `key`.
    pub fn wait_for_stat(&self, key: &str, reached: impl Fn(u64) -> bool) {
        let mut client = self.connect();
        for _ in 0..100_000 {
            let stats = client.yaml("stats");
            let value = stats.iter().find(|(name, _)| name == key).unwrap();
            if reached(value.1.parse().unwrap()) {
                return;
            }
            std::thread::yield_now();
        }
        panic!("{key} never got there");
    }
}

pub fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

/// A connection that sends and receives bytes.
pub struct Client<S> {
    pub stream: S,
    pending: Vec<u8>,
}

impl<S: Read + Write> Client<S> {
    pub fn new(stream: S) -> Client<S> {
        Client { stream, pending: Vec::new() }
    }

    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).unwrap();
    }

    fn fill(&mut self) -> usize {
        let mut buffer = [0; 65536];
        let count = match self.stream.read(&mut buffer) {
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => 0,
            Err(error) => {
                let shown = self.pending.escape_ascii();
                panic!("nothing more came ({error}); so far {shown}")
            }
        };
        self.pending.extend_from_slice(&buffer[..count]);
        count
    }

    /// Whether nothing came behind what was read, as far as one can see now.
    pub fn has_no_more(&self) -> bool {
        self.pending.is_empty()
    }

    /// A line with its CR LF.
    pub fn line(&mut self) -> Vec<u8> {
        loop {
            if let Some(end) = self.pending.windows(2).position(|two| two == b"\r\n") {
                return self.pending.drain(..end + 2).collect();
            }
            assert!(self.fill() > 0, "closed after {}", self.pending.escape_ascii());
        }
    }

    /// So many bytes.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        while self.pending.len() < count {
            assert!(self.fill() > 0, "closed after {}", self.pending.escape_ascii());
        }
        self.pending.drain(..count).collect()
    }

    /// Reads these bytes and nothing else.
    pub fn expect(&mut self, bytes: impl AsRef<[u8]>) {
        let expected = bytes.as_ref();
        while self.pending.len() < expected.len() && expected.starts_with(&self.pending) {
            assert!(
                self.fill() > 0,
                "closed after {}, expected {}",
                self.pending.escape_ascii(),
                expected.escape_ascii()
            );
        }
        let shown = expected.len().min(self.pending.len());
        assert!(
            self.pending.starts_with(expected),
            "got {}, expected {}",
            self.pending[..shown.max(self.pending.len().min(200))].escape_ascii(),
            expected[..expected.len().min(200)].escape_ascii()
        );
        self.pending.drain(..expected.len());
    }

    /// Sends a command and reads its reply line.
    pub fn ask(&mut self, command: &str) -> String {
        self.send(format!("{command}\r\n"));
        let line = self.line();
        String::from_utf8(line).unwrap().trim_end().to_string()
    }

    /// The text of an `OK` reply.
    pub fn text(&mut self) -> String {
        let line = String::from_utf8(self.line()).unwrap();
        let count: usize = line
            .trim_end()
            .strip_prefix("OK ")
            .unwrap_or_else(|| panic!("got {line}"))
            .parse()
            .unwrap();
        let text = self.bytes(count);
        assert_eq!(self.bytes(2), b"\r\n");
        String::from_utf8(text).unwrap()
    }

    /// Sends a command and reads the pairs of its `OK` reply.
    pub fn yaml(&mut self, command: &str) -> Vec<(String, String)> {
        self.send(format!("{command}\r\n"));
        let text = self.text();
        slipring_wire::beanstalkd::yaml::pairs(&text)
            .map(|(key, value)| (key.to_string(), value.to_string()))
            .collect()
    }

    /// The other side has closed.
    pub fn expect_end(&mut self) {
        assert!(self.pending.is_empty(), "got {}", self.pending.escape_ascii());
        assert_eq!(self.fill(), 0, "got {}", self.pending.escape_ascii());
    }
}
