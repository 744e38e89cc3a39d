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
    // Where room is scarce, an answer finds nothing read of it for a tenth of a second. Who is
    // refused for want of room is silent then, and is let go for that.
    let (idle, stalled) = (Duration::from_secs(3), Duration::from_secs(1));
    let deadlines = Deadlines { idle, stalled, ..Deadlines::default() };
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

    /// How many connections of the three protocols there are, with the one that asks.
    async fn connections(&self) -> u64 {
        let answer = asked(self.admin, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
        let of_one = |line: &str| line.rsplit_once(' ')?.1.parse::<u64>().ok();
        let lines = answer.lines().filter(|line| line.starts_with("slipring_connections{"));
        lines.filter_map(of_one).sum()
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

/// What still comes of an answer after the other side has closed, to the end. It is read by large
/// steps: by the small ones of a client that does not read it takes longer than anything else here.
async fn rest(stream: &mut TcpStream) -> usize {
    socket2::SockRef::from(&*stream).set_recv_buffer_size(MIB).unwrap();
    let mut answer = Vec::new();
    let read = stream.read_to_end(&mut answer);
    // A connection that was reset has ended too.
    let _ = tokio::time::timeout(PATIENCE, read).await.unwrap();
    answer.len()
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
    let all_gone = async {
        while running.connections().await > 1 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(2 * PATIENCE, all_gone).await.unwrap();
    let answer = asked(running.sqs, &receive()).await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.len() > MIB, "{}", &answer[..200]);
    for stream in unread.iter_mut().step_by(3) {
        assert!(rest(stream).await < 9 * MIB, "the whole answer came after all");
    }
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
