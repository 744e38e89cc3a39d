//! How long a scrape of `/metrics` takes with many queues, over a socket:
//! `cargo run --release -p slipring-server --example scrape [memory|sqlite] [queues]`.

#![allow(clippy::print_stdout, clippy::unwrap_used)] // It prints and ends.

use std::sync::Arc;

use slipring::clock::monotonic_ns;
use slipring::stores::MemoryStore;
use slipring::{Engine, EngineOptions, NewMessage, QueueSettings, Store};
use slipring_server::{AdminOptions, Server, ServerOptions, admin};
use slipring_sqlite::{SqliteOptions, SqliteStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const SCRAPES: usize = 51;

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
    (answer.len(), (monotonic_ns() - since_ns) as f64 / 1e6)
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
    for number in 0..queues {
        let name = format!("a-queue-with-a-name-{number:06}");
        let queue = engine.create_queue(&name, QueueSettings::default()).await.unwrap();
        queue.send_batch(vec![NewMessage::new("x"), NewMessage::new("y")]).await.unwrap();
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let settings = admin::Settings::default();
    let server = Server::start(ServerOptions {
        engine,
        sqs: None,
        beanstalkd: None,
        admin: Some(AdminOptions { listener, settings }),
        leaving_bytes_max: None,
    });
    for (title, query, headers) in [
        ("plain", "", ""),
        ("gzip", "", "accept-encoding: gzip\r\n"),
        ("gzip, a filter that takes all", "?queue=*", "accept-encoding: gzip\r\n"),
    ] {
        let mut times = Vec::new();
        let mut bytes = 0;
        for _ in 0..SCRAPES {
            let took;
            (bytes, took) = scrape(&address, query, headers).await;
            times.push(took);
        }
        times.sort_by(f64::total_cmp);
        let (half, most) = (times[SCRAPES / 2], times[SCRAPES - 1]);
        println!("{kind}, {queues} queues, {title}: {bytes} bytes");
        println!("  median {half:.1} ms, longest {most:.1} ms");
    }
    server.stop().await;
}
