//! How long a scrape of `/metrics` takes with many queues, over a socket, and what it does to sends
//! meanwhile: `cargo run --release -p slipring-server --example scrape [memory|sqlite] [queues]`.

#![allow(clippy::print_stdout, clippy::unwrap_used)] // It prints and ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use slipring::clock::monotonic_ns;
use slipring::stores::MemoryStore;
use slipring::{Engine, EngineOptions, NewMessage, Queue, QueueSettings, Store};
use slipring_server::{AdminOptions, Server, ServerOptions, admin};
use slipring_sqlite::{SqliteOptions, SqliteStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const SCRAPES: usize = 51;
const GZIP: &str = "accept-encoding: gzip\r\n";

/// Milliseconds since a moment.
fn ms_since(since_ns: u64) -> f64 {
    (monotonic_ns() - since_ns) as f64 / 1e6
}

fn summary(mut times: Vec<f64>) -> String {
    times.sort_by(f64::total_cmp);
    let part = |percent: usize| times[(times.len() - 1) * percent / 100];
    let (half, most, longest) = (part(50), part(99), part(100));
    format!("median {half:.2} ms, 99 of 100 in {most:.2} ms, longest {longest:.2} ms")
}

/// Scrapes once; answers the bytes that came and the milliseconds it took.
async fn scrape(address: &str, query: &str, headers: &str) -> (usize, f64) {
    let since_ns = monotonic_ns();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!(
        "GET /metrics{query} HTTP/1.1\r\nhost: localhost\r\n{headers}connection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 200"));
    (answer.len(), ms_since(since_ns))
}

async fn scrapes(address: &str, query: &str, headers: &str) -> (usize, Vec<f64>) {
    let (mut bytes, mut times) = (0, Vec::new());
    for _ in 0..SCRAPES {
        let took;
        (bytes, took) = scrape(address, query, headers).await;
        times.push(took);
    }
    (bytes, times)
}

/// Sends one message after another until it is told to end; answers how long each took.
async fn sends(queue: Queue, end: Arc<AtomicBool>) -> Vec<f64> {
    let mut times = Vec::new();
    while !end.load(Ordering::Relaxed) {
        let since_ns = monotonic_ns();
        queue.send(NewMessage::new("x")).await.unwrap();
        times.push(ms_since(since_ns));
        tokio::task::yield_now().await;
    }
    times
}

async fn fill(engine: &Engine, queues: usize) -> Queue {
    for number in 0..queues {
        let name = format!("a-queue-with-a-name-{number:06}");
        let queue = engine.create_queue(&name, QueueSettings::default()).await.unwrap();
        queue.send_batch(vec![NewMessage::new("x"), NewMessage::new("y")]).await.unwrap();
    }
    engine.create_queue("busy", QueueSettings::default()).await.unwrap()
}

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let kind = arguments.next().unwrap_or_else(|| "sqlite".to_owned());
    let queues: usize = arguments.next().map_or(10_000, |text| text.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let store: Arc<dyn Store> = match kind.as_str() {
        "memory" => MemoryStore::shared(),
        _ => SqliteStore::open(folder.path().join("a.db"), SqliteOptions::default()).unwrap(),
    };
    let engine = Engine::open(store, EngineOptions::default()).await.unwrap();
    let busy = fill(&engine, queues).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let settings = admin::Settings::default();
    let server = Server::start(ServerOptions {
        engine,
        sqs: None,
        beanstalkd: None,
        admin: Some(AdminOptions { listener, settings }),
        audit: None,
        leaving_bytes_max: None,
    });
    for (title, query, headers) in
        [("plain", "", ""), ("gzip", "", GZIP), ("gzip, of all names", "?queue=*", GZIP)]
    {
        let (bytes, times) = scrapes(&address, query, headers).await;
        println!("{kind}, {queues} queues, {title}, {bytes} bytes: {}", summary(times));
    }
    for scraped in [false, true] {
        let end = Arc::new(AtomicBool::new(false));
        let sending = tokio::spawn(sends(busy.clone(), Arc::clone(&end)));
        let since_ns = monotonic_ns();
        while ms_since(since_ns) < 2000.0 {
            match scraped {
                true => drop(scrape(&address, "", GZIP).await),
                false => tokio::task::yield_now().await,
            }
        }
        end.store(true, Ordering::Relaxed);
        let title = if scraped { "while one scrapes all the time" } else { "without scrapes" };
        println!("{kind}, a send {title}: {}", summary(sending.await.unwrap()));
    }
    server.stop().await;
}
