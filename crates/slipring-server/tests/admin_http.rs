//! The admin listener over sockets: who may call, limits, probes, metrics, the stop.

// Helpers of tests may fail like tests.
#![allow(clippy::unwrap_used, clippy::panic)]

mod admin_support;

use std::time::Duration;

use admin_support::memory_engine;
use serde_json::Value;
use slipring::{Clock, Engine, Queue, QueueSettings, SystemClock};
use slipring_server::admin::{BODY_BYTES_MAX, Failure, MayRetry, Settings};
use slipring_server::{AdminOptions, Server, ServerOptions, Stopped};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

struct Running {
    server: Server,
    engine: Engine,
    address: String,
}

async fn start(settings: Settings) -> Running {
    let engine = memory_engine().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let admin = Some(AdminOptions { listener, settings });
    let options = ServerOptions {
        engine: engine.clone(),
        sqs: None,
        beanstalkd: None,
        admin,
        leaving_bytes_max: None,
        audit: None,
    };
    Running { server: Server::start(options), engine, address }
}

impl Running {
    /// Sends bytes and reads the answer to its end: status and body.
    async fn raw(&self, request: &[u8]) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).await.unwrap();
        // A server that refuses early may close before everything is sent.
        let _ = stream.write_all(request).await;
        read_answer(&mut stream).await
    }

    async fn ask(&self, line: &str, headers: &str, body: &str) -> (u16, String) {
        let length = body.len();
        let head = format!("{line} HTTP/1.1\r\nconnection: close\r\n{headers}");
        let request = format!("{head}content-length: {length}\r\n\r\n{body}");
        self.raw(request.as_bytes()).await
    }

    async fn ask_json(&self, line: &str, body: &str) -> (u16, String) {
        self.ask(line, &format!("{HOST}content-type: application/json\r\n"), body).await
    }

    /// A connection on which a receive waits.
    async fn wait_on(&self, queue: &Queue) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).await.unwrap();
        let request = "POST /v1/queues/q/receive HTTP/1.1\r\nhost: localhost\r\n\
                       content-type: application/json\r\ncontent-length: 18\r\n\r\n\
                       {\"wait_ms\":600000}";
        stream.write_all(request.as_bytes()).await.unwrap();
        while queue.waiting() == 0 {
            tokio::task::yield_now().await;
        }
        stream
    }
}

async fn read_answer(stream: &mut TcpStream) -> (u16, String) {
    let mut bytes = Vec::new();
    // A reset after an early refusal ends the answer as well.
    let _ = stream.read_to_end(&mut bytes).await;
    let text = String::from_utf8(bytes).unwrap();
    let status = text.split(' ').nth(1).unwrap_or("0").parse().unwrap();
    let body = text.split_once("\r\n\r\n").map(|(_, body)| body.to_owned());
    (status, body.unwrap_or_default())
}

const HOST: &str = "host: localhost\r\n";

#[tokio::test]
async fn a_token_is_asked_for_except_by_probes() {
    let token = Some("secret".to_owned());
    let running = start(Settings { token, ..Settings::default() }).await;
    for (headers, status) in [
        (HOST.to_owned(), 401),
        (format!("{HOST}authorization: Bearer wrong\r\n"), 401),
        (format!("{HOST}authorization: Basic secret\r\n"), 401),
        (format!("{HOST}authorization: Bearer secret\r\n"), 200),
    ] {
        assert_eq!(running.ask("GET /v1/queues", &headers, "").await.0, status, "{headers}");
        assert_eq!(running.ask("GET /metrics", &headers, "").await.0, status, "{headers}");
    }
    assert_eq!(running.ask("GET /healthz", HOST, "").await.0, 200);
    assert_eq!(running.ask("GET /readyz", HOST, "").await.0, 200);
}

#[tokio::test]
async fn web_pages_cannot_call_through_a_browser_on_this_machine() {
    let running = start(Settings::default()).await;
    let ask =
        async |host: &str| running.ask("GET /v1/queues", &format!("host: {host}\r\n"), "").await.0;
    for host in ["localhost", "localhost:9325", "127.0.0.1:9325", "[::1]:9325", "[::1]"] {
        assert_eq!(ask(host).await, 200, "{host}");
    }
    for host in ["evil.example", "evil.example:9325", "localhost.evil.example"] {
        assert_eq!(ask(host).await, 403, "{host}");
    }
    let new = "{\"name\":\"q\"}";
    let plain = format!("{HOST}content-type: text/plain\r\n");
    assert_eq!(running.ask("POST /v1/queues", &plain, new).await.0, 415);
    assert_eq!(running.ask("POST /v1/queues/q/purge", HOST, "").await.0, 415);
    assert_eq!(running.ask("PUT /v1/queues", &plain, new).await.0, 405, "whatever it carries");
    assert_eq!(running.ask_json("POST /v1/queues", new).await.0, 201);
}

#[tokio::test]
async fn an_oversize_body_is_refused_and_stores_nothing() {
    let running = start(Settings::default()).await;
    running.engine.create_queue("q", QueueSettings::default()).await.unwrap();
    let body = format!("{{\"messages\":[{{\"body\":\"{}\"}}]}}", "x".repeat(BODY_BYTES_MAX));
    let (status, answer) = running.ask_json("POST /v1/queues/q/messages", &body).await;
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!((status, &answer["kind"]), (413, &Value::from("limit_exceeded")));
    assert_eq!(running.engine.queue("q").await.unwrap().stats().await.unwrap().total(), 0);
    // The server lives on.
    assert_eq!(running.ask("GET /readyz", HOST, "").await.0, 200);
}

#[tokio::test]
async fn large_bodies_that_do_not_arrive_cannot_fill_the_memory() {
    // S12.3
    let running = start(Settings::default()).await;
    let head = format!(
        "POST /v1/queues HTTP/1.1\r\n{HOST}content-type: application/json\r\nconnection: close\r\n\
         content-length: {BODY_BYTES_MAX}\r\n\r\n"
    );
    // Four of these bodies fit, so exactly one of five is refused, with all of them almost there.
    let mut answers = tokio::task::JoinSet::new();
    for _ in 0..5 {
        let mut stream = TcpStream::connect(&running.address).await.unwrap();
        let begun = [head.as_bytes(), &vec![b' '; BODY_BYTES_MAX - 10]].concat();
        answers.spawn(async move {
            // One that is refused is not read to its end.
            let _ = stream.write_all(&begun).await;
            read_answer(&mut stream).await
        });
    }
    let (status, body) = answers.join_next().await.unwrap().unwrap();
    assert_eq!(status, 503, "{body}");
    assert!(body.contains("\"retry\":\"later\""), "{body}");
    assert!(answers.try_join_next().is_none());
    drop(answers);
    while running.ask_json("POST /v1/queues", &large_name()).await.0 == 503 {
        tokio::task::yield_now().await;
    }
}

/// A body that has to ask for room.
fn large_name() -> String {
    format!("{{\"name\":\"{}\"}}", "x".repeat(BODY_BYTES_MAX / 2))
}

#[tokio::test]
async fn garbage_ends_its_connection_only() {
    let running = start(Settings::default()).await;
    let long = format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(1 << 20));
    for garbage in [&b"\x00\xff\r\n\r\n"[..], b"put 0 0 10 1\r\na\r\n", long.as_bytes()] {
        let (status, _) = running.raw(garbage).await;
        assert!((400..500).contains(&status), "{status}");
    }
    assert_eq!(running.ask("GET /healthz", HOST, "").await.0, 200);
}

#[tokio::test]
async fn a_connection_too_many_is_told_so() {
    let running = start(Settings { connections_max: 1, ..Settings::default() }).await;
    let mut first = TcpStream::connect(&running.address).await.unwrap();
    first.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    assert!(first.read_u8().await.is_ok());
    let mut second = TcpStream::connect(&running.address).await.unwrap();
    let (status, body) = read_answer(&mut second).await;
    assert_eq!((status, body.contains("connections_max")), (503, true));
    // As clients read every error.
    let failure: Failure = serde_json::from_str(&body).unwrap();
    assert_eq!((failure.kind.as_str(), failure.retry), ("limit_exceeded", MayRetry::Later));
}

#[tokio::test]
async fn the_metrics_count_queues_waits_and_commands() {
    let running = start(Settings::default()).await;
    let queue = running.engine.create_queue("q", QueueSettings::default()).await.unwrap();
    queue.send(slipring::NewMessage::new("four")).await.unwrap();
    let (status, text) = running.ask("GET /metrics", HOST, "").await;
    assert_eq!(status, 200);
    for line in [
        "slipring_store_up 1",
        "slipring_queues 1",
        "slipring_queue_messages{queue=\"q\",state=\"ready\"} 1",
        "slipring_queue_bytes{queue=\"q\"} 4",
        "slipring_wait_seconds_count{class=\"send_turn\"} 1",
        "slipring_commands_total{protocol=\"admin\",command=\"metrics\"} 1",
        "# TYPE slipring_wait_seconds histogram",
    ] {
        assert!(text.lines().any(|given| given == line), "{line} is not in\n{text}");
    }
    let start = text.lines().find_map(|line| line.strip_prefix("process_start_time_seconds "));
    assert!(start.unwrap().parse::<f64>().unwrap() > 1.6e9);
}

#[tokio::test]
async fn a_store_that_is_away_does_not_take_the_metrics_with_it() {
    let running = start(Settings::default()).await;
    running.engine.create_queue("q", QueueSettings::default()).await.unwrap();
    running.engine.shutdown().await;
    let (status, text) = running.ask("GET /metrics", HOST, "").await;
    assert_eq!(status, 200, "{text}");
    let has = |start: &str| text.lines().any(|line| line.starts_with(start));
    assert!(has("slipring_store_up 0"), "{text}");
    assert!(has("slipring_wait_acquisitions_total{") && has("process_open_fds "), "{text}");
    assert!(!has("slipring_queue"), "{text}");
}

#[tokio::test]
async fn the_readiness_probe_tells_the_truth() {
    let running = start(Settings::default()).await;
    assert_eq!(running.ask("GET /readyz", HOST, "").await.0, 200);
    running.engine.shutdown().await;
    let (status, body) = running.ask("GET /readyz", HOST, "").await;
    assert_eq!(status, 503, "{body}");
    assert_eq!(running.ask("GET /healthz", HOST, "").await.0, 200);
}

#[tokio::test]
async fn a_stop_releases_waiting_receives_and_ends_idle_connections() {
    let running = start(Settings::default()).await;
    let queue = running.engine.create_queue("q", QueueSettings::default()).await.unwrap();
    let _idle = TcpStream::connect(&running.address).await.unwrap();
    let mut waiting = running.wait_on(&queue).await;
    let clock = SystemClock::new();
    let started = clock.now();
    assert_eq!(running.server.stop().await, Stopped::Clean);
    assert!(started.until(clock.now()) < Duration::from_secs(5));
    let (status, body) = read_answer(&mut waiting).await;
    assert_eq!((status, body.as_str()), (200, "{\"deliveries\":[]}"));
}

#[tokio::test]
async fn a_receive_whose_caller_leaves_waits_no_longer() {
    // S2.3
    let running = start(Settings::default()).await;
    let queue = running.engine.create_queue("q", QueueSettings::default()).await.unwrap();
    let caller = running.wait_on(&queue).await;
    drop(caller);
    while queue.waiting() > 0 {
        tokio::task::yield_now().await;
    }
    queue.send(slipring::NewMessage::new("x")).await.unwrap();
    let stats = queue.stats().await.unwrap();
    assert_eq!((stats.ready, stats.leased), (1, 0));
}
