//! `/metrics` of a whole server: what is counted whichever protocol asked, which queues have
//! lines, and how the answer comes.

// Helpers of tests may fail like tests.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use flate2::read::GzDecoder;
use serde_json::Value;
use slipring::stores::MemoryStore;
use slipring::{Engine, EngineOptions, NewMessage, QueueSettings, Store, Waits};
use slipring_conformance::fault::{Fault, FaultyStore, Verb};
use slipring_server::{AdminOptions, BeanstalkdOptions, Server, ServerOptions, SqsOptions};
use slipring_server::{admin, beanstalkd, sqs};
use slipring_sqlite::{SqliteOptions, SqliteStore};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// Nothing that works takes so long.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server of all protocols.
struct Running {
    engine: Engine,
    _server: Server,
    sqs: String,
    beanstalkd: String,
    admin: String,
}

async fn start() -> Running {
    start_with(sqs::Settings::default()).await
}

async fn start_with(settings: sqs::Settings) -> Running {
    start_over(MemoryStore::shared(), Waits::new(), settings).await
}

async fn start_in(path: &Path) -> Running {
    let options = SqliteOptions::default();
    let waits = options.waits.clone();
    start_over(SqliteStore::open(path, options).unwrap(), waits, sqs::Settings::default()).await
}

async fn start_over(store: Arc<dyn Store>, waits: Waits, sqs_settings: sqs::Settings) -> Running {
    let options = EngineOptions { waits, ..EngineOptions::default() };
    let engine = Engine::open(store, options).await.unwrap();
    let listen = async || TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (for_sqs, for_admin) = (listen().await, listen().await);
    let for_beanstalkd = beanstalkd::Listener::tcp("127.0.0.1:0").await.unwrap();
    let address = |listener: &TcpListener| listener.local_addr().unwrap().to_string();
    let (sqs, admin) = (address(&for_sqs), address(&for_admin));
    let beanstalkd = for_beanstalkd.address();
    let options = ServerOptions {
        engine: engine.clone(),
        sqs: Some(SqsOptions { listener: for_sqs, settings: sqs_settings }),
        beanstalkd: Some(BeanstalkdOptions {
            listener: for_beanstalkd,
            settings: beanstalkd::Settings::default(),
        }),
        admin: Some(AdminOptions { listener: for_admin, settings: admin::Settings::default() }),
        audit: None,
        leaving_bytes_max: None,
    };
    Running { engine, _server: Server::start(options), sqs, beanstalkd, admin }
}

/// Asks once and reads the answer to its end: its head, and its body.
async fn http(address: &str, request: &str, headers: &str, body: &str) -> (String, Vec<u8>) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let length = body.len();
    let text = format!(
        "{request} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{headers}\
         content-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await.unwrap();
    let end = bytes.windows(4).position(|part| part == b"\r\n\r\n").unwrap() + 4;
    let body = bytes.split_off(end);
    (String::from_utf8(bytes).unwrap(), body)
}

impl Running {
    async fn scrape(&self, query: &str) -> Scraped {
        let (head, body) = http(&self.admin, &format!("GET /metrics{query}"), "", "").await;
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        Scraped(String::from_utf8(body).unwrap())
    }

    /// Runs an SQS action with a JSON body; answers the body.
    async fn sqs(&self, action: &str, body: &str) -> String {
        let headers = format!(
            "x-amz-target: AmazonSQS.{action}\r\ncontent-type: application/x-amz-json-1.0\r\n"
        );
        let (_, body) = http(&self.sqs, "POST /", &headers, body).await;
        String::from_utf8(body).unwrap()
    }

    /// Calls the admin API; answers the body.
    async fn admin(&self, request: &str, body: &str) -> String {
        let (_, body) =
            http(&self.admin, request, "content-type: application/json\r\n", body).await;
        String::from_utf8(body).unwrap()
    }

    /// Sends commands over one connection and reads so many lines.
    async fn beanstalkd(&self, commands: &str, lines: usize) -> Vec<String> {
        let mut stream = BufReader::new(TcpStream::connect(&self.beanstalkd).await.unwrap());
        stream.write_all(commands.as_bytes()).await.unwrap();
        let mut all = Vec::new();
        for _ in 0..lines {
            let mut line = String::new();
            tokio::time::timeout(PATIENCE, stream.read_line(&mut line)).await.unwrap().unwrap();
            all.push(line.trim_end().to_owned());
        }
        all
    }

    /// Scrapes until a condition holds.
    async fn scrape_until(&self, holds: impl Fn(&Scraped) -> bool) -> Scraped {
        let scraping = async {
            loop {
                let seen = self.scrape("").await;
                if holds(&seen) {
                    return seen;
                }
            }
        };
        tokio::time::timeout(PATIENCE, scraping).await.unwrap()
    }
}

/// What a scrape gave.
struct Scraped(String);

impl Scraped {
    fn has(&self, line: &str) -> bool {
        self.0.lines().any(|given| given == line)
    }

    fn expect(&self, lines: &[&str]) {
        for line in lines {
            assert!(self.has(line), "{line} is not in\n{}", self.0);
        }
    }

    /// The value of a series, if it is there.
    fn value(&self, series: &str) -> Option<f64> {
        let value = |line: &str| line.strip_prefix(series)?.strip_prefix(' ')?.parse().ok();
        self.0.lines().find_map(value)
    }

    /// The lines of a family that have one label.
    fn count(&self, family: &str) -> usize {
        let head = format!("{family}{{");
        self.0.lines().filter(|line| line.starts_with(&head)).count()
    }
}

#[tokio::test]
async fn messages_are_counted_for_their_queue_whichever_protocol_asked() {
    let running = start().await;
    running.sqs("CreateQueue", "{\"QueueName\":\"q\"}").await;
    let of_queue = "\"QueueUrl\":\"http://localhost/000000000000/q\"";
    running.sqs("SendMessage", &format!("{{{of_queue},\"MessageBody\":\"one\"}}")).await;
    running.admin("POST /v1/queues/q/messages", "{\"messages\":[{\"body\":\"two\"}]}").await;
    let put = "use q\r\nput 0 0 60 5\r\nthree\r\nput 0 0 60 4\r\nfour\r\nwatch q\r\n";
    assert_eq!(running.beanstalkd(put, 4).await[3], "WATCHING 2");
    // Those of priority 0 come first: ids 3 and 4.
    let settle = "watch q\r\nreserve\r\nreserve-with-timeout 0\r\nrelease 3 9999999 0\r\n\
                  delete 4\r\nreserve-job 3\r\nbury 3 0\r\n";
    let replies = running.beanstalkd(settle, 10).await;
    assert_eq!(replies[9], "BURIED", "{replies:?}");
    let received = running.sqs("ReceiveMessage", &format!("{{{of_queue}}}")).await;
    let handle = received.split("\"ReceiptHandle\":\"").nth(1).unwrap();
    let handle = handle.split('"').next().unwrap();
    let delete = format!("{{{of_queue},\"ReceiptHandle\":\"{handle}\"}}");
    running.sqs("DeleteMessage", &delete).await;
    running.admin("POST /v1/queues/q/pause", "{}").await;
    running.scrape("").await.expect(&[
        "slipring_messages_sent_total{queue=\"q\"} 4",
        "slipring_messages_received_total{queue=\"q\"} 4",
        "slipring_messages_acked_total{queue=\"q\"} 2",
        "slipring_messages_nacked_total{queue=\"q\"} 1",
        "slipring_messages_parked_total{queue=\"q\"} 1",
        "slipring_messages_lapsed_total{queue=\"q\"} 0",
        "slipring_messages_dead_lettered_total{queue=\"q\"} 0",
        "slipring_messages_retired_total{queue=\"q\"} 0",
        "slipring_queue_paused{queue=\"q\"} 1",
        "slipring_queue_messages{queue=\"q\",state=\"parked\"} 1",
        "slipring_commands_total{protocol=\"beanstalkd\",command=\"reserve-job\"} 1",
    ]);
}

#[tokio::test]
async fn errors_are_counted_by_protocol_and_code() {
    let running = start().await;
    running.sqs("GetQueueUrl", "{\"QueueName\":\"none\"}").await;
    running.sqs("NoSuchAction", "{}").await;
    running.sqs("CreateQueue", "{\"QueueName\":\"q\"}").await;
    let entry = "{\"Id\":\"a\",\"ReceiptHandle\":\"forged\"}";
    let batch =
        format!("{{\"QueueUrl\":\"http://localhost/000000000000/q\",\"Entries\":[{entry}]}}");
    let failed = running.sqs("DeleteMessageBatch", &batch).await;
    assert!(failed.contains("\"Failed\""), "{failed}");
    running.beanstalkd("nonsense\r\ndelete 77\r\nignore default\r\n", 3).await;
    running.admin("GET /v1/queues/none", "").await;
    running.admin("GET /nowhere", "").await;
    http(&running.admin, "GET /v1/queues", "origin: http://evil.example\r\n", "").await;
    let missing = "AWS.SimpleQueueService.NonExistentQueue";
    let seen = running.scrape("").await;
    for (protocol, code) in [
        ("sqs", missing),
        ("sqs", "InvalidAction"),
        ("sqs", "ReceiptHandleIsInvalid"),
        ("beanstalkd", "UNKNOWN_COMMAND"),
        ("beanstalkd", "NOT_FOUND"),
        ("beanstalkd", "NOT_IGNORED"),
        ("admin", "queue_not_found"),
        ("admin", "not_found"),
        ("admin", "forbidden"),
    ] {
        let series = format!("slipring_errors_total{{protocol=\"{protocol}\",code=\"{code}\"}}");
        assert_eq!(seen.value(&series), Some(1.0), "{series}\n{}", seen.0);
    }
    for protocol in ["sqs", "beanstalkd", "admin"] {
        let other = format!("slipring_errors_total{{protocol=\"{protocol}\",code=\"other\"}}");
        assert_eq!(seen.value(&other), Some(0.0));
    }
}

#[tokio::test]
async fn connections_that_find_no_place_are_counted() {
    let running = start_with(sqs::Settings { connections_max: 0, ..Default::default() }).await;
    for _ in 0..2 {
        let mut told = String::new();
        let mut stream = TcpStream::connect(&running.sqs).await.unwrap();
        stream.read_to_string(&mut told).await.unwrap();
        assert!(told.starts_with("HTTP/1.1 503 "), "{told}");
    }
    let seen = running.scrape("").await;
    for (protocol, refused) in [("sqs", 2.0), ("beanstalkd", 0.0), ("admin", 0.0)] {
        let series = format!("slipring_connections_refused_total{{protocol=\"{protocol}\"}}");
        assert_eq!(seen.value(&series), Some(refused), "{series}");
    }
}

#[tokio::test]
async fn receives_that_may_wait_are_no_latencies_of_work() {
    let running = start().await;
    let queue = running.engine.create_queue("q", QueueSettings::default()).await.unwrap();
    let of_queue = "\"QueueUrl\":\"http://localhost/000000000000/q\"";
    let poll = format!("{{{of_queue},\"WaitTimeSeconds\":20}}");
    let sent = async {
        while queue.waiting() == 0 {
            tokio::task::yield_now().await;
        }
        queue.send(NewMessage::new("x")).await.unwrap();
    };
    let both = async { tokio::join!(running.sqs("ReceiveMessage", &poll), sent) };
    let (received, ()) = tokio::time::timeout(PATIENCE, both).await.unwrap();
    assert!(received.contains("ReceiptHandle"), "{received}");
    running.sqs("ReceiveMessage", &format!("{{{of_queue}}}")).await;
    running.admin("POST /v1/queues/q/receive", "{\"wait_ms\":1}").await;
    running.admin("POST /v1/queues/q/receive", "{}").await;
    let commands = "use q\r\nput 0 0 60 1\r\nx\r\nput 0 0 60 1\r\ny\r\nwatch q\r\nreserve\r\n\
                    reserve-with-timeout 5\r\nreserve-with-timeout 0\r\n";
    assert_eq!(running.beanstalkd(commands, 9).await[8], "TIMED_OUT");
    let of = |protocol: &str, command: &str| {
        format!("_count{{protocol=\"{protocol}\",command=\"{command}\"}}")
    };
    let reserve = of("beanstalkd", "reserve-with-timeout");
    // A command is noted when it has been answered.
    let last = format!("slipring_command_seconds{reserve}");
    let seen = running.scrape_until(|seen| seen.value(&last).is_some()).await;
    for (series, polls, works) in [
        (of("sqs", "ReceiveMessage"), Some(1.0), Some(1.0)),
        (of("admin", "receive_messages"), Some(1.0), Some(1.0)),
        (reserve, Some(1.0), Some(1.0)),
        (of("beanstalkd", "reserve"), Some(1.0), None),
        (of("beanstalkd", "put"), None, Some(2.0)),
        (of("sqs", "ReceiveMessageBatch"), None, None),
    ] {
        let counts = (
            seen.value(&format!("slipring_poll_seconds{series}")),
            seen.value(&format!("slipring_command_seconds{series}")),
        );
        assert_eq!(counts, (polls, works), "{series}\n{}", seen.0);
    }
    let bucket = "slipring_command_seconds_bucket{protocol=\"beanstalkd\",command=\"put\",le=";
    seen.expect(&[&format!("{bucket}\"60\"}} 2"), &format!("{bucket}\"+Inf\"}} 2")]);
}

#[tokio::test]
async fn queues_beyond_a_thousand_are_counted_together_and_a_filter_shows_them() {
    let running = start().await;
    for number in 0..1003 {
        let name = format!("q-{number:04}");
        let queue = running.engine.create_queue(&name, QueueSettings::default()).await.unwrap();
        queue.send(NewMessage::new("x")).await.unwrap();
    }
    let all = running.scrape("").await;
    all.expect(&[
        "slipring_queues 1003",
        "slipring_queues_without_lines 3",
        "slipring_messages_sent_total{queue=\"q-0999\"} 1",
        "slipring_messages_sent_total{queue=\"\"} 3",
    ]);
    assert_eq!(all.count("slipring_messages_sent_total"), 1001);
    assert_eq!(all.count("slipring_queue_bytes"), 1000);
    let some = running.scrape("?queue=q-100*").await;
    some.expect(&[
        "slipring_queues 1003",
        "slipring_queues_without_lines 0",
        "slipring_queue_bytes{queue=\"q-1002\"} 1",
    ]);
    assert_eq!(some.count("slipring_messages_sent_total"), 3, "{}", some.0);
    let one = running.scrape("?queue=q-0001").await;
    assert_eq!(one.count("slipring_queue_bytes"), 1);
    let most = running.scrape("?queue=q*").await;
    assert_eq!(most.count("slipring_queue_bytes"), 1000);
    most.expect(&["slipring_queues_without_lines 3"]);
    assert!(!most.0.contains("queue=\"\""));
}

#[tokio::test]
async fn a_queue_whose_statistics_fail_takes_no_other_with_it() {
    let store = FaultyStore::new(MemoryStore::shared());
    let running = start_over(store.clone(), Waits::new(), sqs::Settings::default()).await;
    for name in ["bad", "good"] {
        let queue = running.engine.create_queue(name, QueueSettings::default()).await.unwrap();
        queue.send(NewMessage::new("a")).await.unwrap();
    }
    store.plan(Verb::Stats, 1, Fault::Before);
    let scraped = running.scrape("").await;
    let good = r#"slipring_queue_bytes{queue="good"} 1"#;
    scraped.expect(&["slipring_store_up 1", "slipring_queues_without_figures 1", good]);
    assert_eq!(scraped.value(r#"slipring_queue_bytes{queue="bad"}"#), None);
    store.plan(Verb::Stats, 1, Fault::Before);
    let list: Value = serde_json::from_str(&running.admin("GET /v1/queues", "").await).unwrap();
    assert_eq!(list["queues"][0]["stats"], Value::Null);
    assert_eq!(list["queues"][1]["stats"]["ready"], 1);
}

#[tokio::test]
async fn parameters_that_are_not_known_are_refused() {
    let running = start().await;
    for query in ["?names=q", "?queue=q&queue=r", "?queue=", "?queue=a*b", "?queue=q&x=1"] {
        let (head, body) = http(&running.admin, &format!("GET /metrics{query}"), "", "").await;
        assert!(head.starts_with("HTTP/1.1 400"), "{query} {head}");
        assert!(String::from_utf8(body).unwrap().contains("\"invalid\""), "{query}");
    }
    running.scrape("?").await.expect(&["slipring_store_up 1"]);
}

#[tokio::test]
async fn a_client_that_takes_gzip_gets_it() {
    let running = start().await;
    running.engine.create_queue("q", QueueSettings::default()).await.unwrap();
    let (head, body) = http(&running.admin, "GET /metrics", "accept-encoding: gzip\r\n", "").await;
    let head = head.to_lowercase();
    assert!(head.contains("\r\ncontent-encoding: gzip\r\n"), "{head}");
    assert!(head.contains("\r\ncontent-type: text/plain; version=0.0.4"), "{head}");
    let mut text = String::new();
    GzDecoder::new(body.as_slice()).read_to_string(&mut text).unwrap();
    Scraped(text).expect(&["slipring_queue_bytes{queue=\"q\"} 0"]);
    let refuses = "accept-encoding: gzip;q=0, identity\r\n";
    let (head, body) = http(&running.admin, "GET /metrics", refuses, "").await;
    assert!(!head.to_lowercase().contains("content-encoding"), "{head}");
    assert!(body.starts_with(b"# HELP "));
}

#[tokio::test]
async fn a_store_in_a_file_tells_its_room_and_its_own_looks_are_no_waits_of_calls() {
    let folder = tempfile::tempdir().unwrap();
    let running = start_in(&folder.path().join("a.db")).await;
    let queue = running.engine.create_queue("q", QueueSettings::default()).await.unwrap();
    queue.send(NewMessage::new("x".repeat(100_000))).await.unwrap();
    let seen = running.scrape("").await;
    for name in ["file_bytes", "log_bytes", "disk_free_bytes"] {
        let value = seen.value(&format!("slipring_store_{name}"));
        assert!(value.is_some_and(|bytes| bytes > 0.0), "{name}\n{}", seen.0);
    }
    assert!(seen.value("slipring_store_file_free_bytes").is_some(), "{}", seen.0);
    let taken = |seen: &Scraped, class: &str| {
        let series = format!("slipring_wait_acquisitions_total{{class=\"{class}\"}}");
        seen.value(&series).unwrap()
    };
    let (looks, calls) = (taken(&seen, "sqlite.poll"), taken(&seen, "sqlite.writer_inbox"));
    let later = running.scrape_until(|later| taken(later, "sqlite.poll") >= looks + 50.0).await;
    // Probes of scrapes, at most one a second, and passes of the engine.
    assert!(taken(&later, "sqlite.writer_inbox") < calls + 40.0, "{}", later.0);
    let memory = start().await.scrape("").await;
    assert!(!memory.0.contains("slipring_store_file"), "{}", memory.0);
}
