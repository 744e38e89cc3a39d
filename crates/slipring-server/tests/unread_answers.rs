//! Answers that nobody reads, over all protocols: they are bounded together, those who do not read
//! are let go, and others are served soon.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::time::Duration;

use slipring::stores::MemoryStore;
use slipring::{Engine, EngineOptions, NewMessage, QueueSettings};
use slipring_server::deadlines::Deadlines;
use slipring_server::{
    AdminOptions, BeanstalkdOptions, Server, ServerOptions, SqsOptions, Stopped, admin, beanstalkd,
    sqs,
};
use socket2::{Domain, Socket, Type};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const MIB: usize = 1 << 20;
/// Nothing that works takes so long.
const PATIENCE: Duration = Duration::from_secs(30);

struct Running {
    server: Server,
    engine: Engine,
    sqs: std::net::SocketAddr,
    beanstalkd: std::net::SocketAddr,
    admin: std::net::SocketAddr,
}

async fn start() -> Running {
    let engine = Engine::open(MemoryStore::shared(), EngineOptions::default()).await.unwrap();
    let bind = || TcpListener::bind("127.0.0.1:0");
    let listeners = (bind().await.unwrap(), bind().await.unwrap(), bind().await.unwrap());
    let place = |listener: &TcpListener| listener.local_addr().unwrap();
    let (sqs, tubes, admin) = (place(&listeners.0), place(&listeners.1), place(&listeners.2));
    // Where room is scarce, an answer finds nothing read of it for a tenth of a second.
    let deadlines = Deadlines { stalled: Duration::from_secs(1), ..Deadlines::default() };
    let job_bytes_max = 2 * MIB as u32;
    let server = Server::start(ServerOptions {
        engine: engine.clone(),
        sqs: Some(SqsOptions {
            listener: listeners.0,
            settings: sqs::Settings { deadlines, ..sqs::Settings::default() },
        }),
        beanstalkd: Some(BeanstalkdOptions {
            listener: listeners.1.into(),
            settings: beanstalkd::Settings { deadlines, job_bytes_max, ..Default::default() },
        }),
        admin: Some(AdminOptions {
            listener: listeners.2,
            settings: admin::Settings { deadlines, ..admin::Settings::default() },
        }),
        leaving_bytes_max: Some(24 * MIB),
        audit: None,
    });
    Running { server, engine, sqs, beanstalkd: tubes, admin }
}

impl Running {
    async fn fill(&self, messages: usize) {
        let settings = QueueSettings { message_bytes_max: 2 * MIB as u64, ..Default::default() };
        let queue = self.engine.create_queue("q", settings).await.unwrap();
        for _ in 0..messages {
            queue.send(NewMessage::new(vec![b'x'; MIB])).await.unwrap();
        }
    }

    /// Asks on so many connections, and reads nothing.
    async fn ask_and_do_not_read(
        &self,
        address: std::net::SocketAddr,
        request: &str,
        connections: usize,
    ) -> Vec<TcpStream> {
        let mut streams = Vec::new();
        for _ in 0..connections {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
            socket.set_recv_buffer_size(4096).unwrap();
            socket.connect(&address.into()).unwrap();
            socket.set_nonblocking(true).unwrap();
            let mut stream = TcpStream::from_std(socket.into()).unwrap();
            stream.write_all(request.as_bytes()).await.unwrap();
            streams.push(stream);
        }
        streams
    }
}

fn receive() -> String {
    let form = "Action=ReceiveMessage&QueueUrl=q&MaxNumberOfMessages=10&VisibilityTimeout=0";
    let kind = "Content-Type: application/x-www-form-urlencoded";
    let length = form.len();
    format!(
        "POST / HTTP/1.1\r\nHost: localhost\r\n{kind}\r\nContent-Length: {length}\r\n\r\n{form}"
    )
}

fn peek() -> String {
    "GET /v1/queues/q/messages?limit=100 HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned()
}

/// Asks and reads the whole answer.
async fn asked(address: std::net::SocketAddr, request: &str) -> String {
    let work = async {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = request.replacen("\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1);
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        String::from_utf8(answer).unwrap()
    };
    tokio::time::timeout(PATIENCE, work).await.unwrap()
}

/// Waits until the other side has closed. What was on its way by then is read by large steps: by
/// the small ones of a client that does not read it takes longer than anything else here.
async fn closed(stream: &mut TcpStream) {
    socket2::SockRef::from(&*stream).set_recv_buffer_size(MIB).unwrap();
    let mut answer = Vec::new();
    let read = stream.read_to_end(&mut answer);
    let ended = tokio::time::timeout(PATIENCE, read).await.unwrap();
    let whole = ended.is_ok() && answer.len() > 9 * MIB;
    assert!(!whole, "the whole answer came after all");
}

#[tokio::test(flavor = "multi_thread")]
async fn those_who_do_not_read_are_let_go_and_others_are_served() {
    // S12.6
    let running = start().await;
    running.fill(12).await;
    let mut unread = running.ask_and_do_not_read(running.sqs, &receive(), 12).await;
    unread.extend(running.ask_and_do_not_read(running.admin, &peek(), 12).await);
    let peeks = "use q\r\n".to_owned() + &"peek-ready\r\n".repeat(20);
    unread.extend(running.ask_and_do_not_read(running.beanstalkd, &peeks, 12).await);
    let answer = asked(running.sqs, &receive()).await;
    assert!(answer.starts_with("HTTP/1.1 200") || answer.starts_with("HTTP/1.1 503"));
    let answer = asked(running.admin, &peek()).await;
    assert!(answer.starts_with("HTTP/1.1 200") || answer.starts_with("HTTP/1.1 503"));
    // Those who ask first are let go first.
    for stream in unread.iter_mut().take(2) {
        closed(stream).await;
    }
    drop(unread);
    let answer = asked(running.sqs, &receive()).await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.len() > MIB, "{}", &answer[..200]);
    assert_eq!(running.server.stop().await, Stopped::Clean);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_does_not_wait_for_those_who_do_not_read() {
    // S12.6
    let running = start().await;
    running.fill(12).await;
    let _unread = [
        running.ask_and_do_not_read(running.sqs, &receive(), 20).await,
        running.ask_and_do_not_read(running.admin, &peek(), 20).await,
    ];
    let stopped = tokio::time::timeout(Duration::from_secs(5), running.server.stop()).await;
    assert!(stopped.is_ok(), "it took more than five seconds");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_a_look_ends_at_its_size_and_the_next_one_goes_on() {
    // S12.6
    let running = start().await;
    running.fill(10).await;
    let (mut after, mut seen, mut pages) = (0_u64, 0, 0);
    loop {
        let path = format!("/v1/queues/q/messages?limit=100&after={after}");
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let answer = asked(running.admin, &request).await;
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(body.len() < 5 * MIB);
        let page: serde_json::Value = serde_json::from_str(body).unwrap();
        seen += page["messages"].as_array().unwrap().len();
        pages += 1;
        let Some(next) = page["next"].as_u64() else { break };
        after = next;
    }
    assert_eq!((seen, pages), (10, 3));
    running.server.stop().await;
}
