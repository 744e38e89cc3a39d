//! The real binary over a primary that is killed and a standby that takes over: what it says of
//! itself meanwhile, what clients are told, and how long it takes.

// Helpers of tests may fail like tests.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

mod binary;

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use binary::{Client, Folder, until};
use slipring::clock::monotonic_ns;
use slipring_testbed::pair::{Pair, Replication};

/// Looks while there is no primary.
const PROBES: usize = 5;
/// What `put` answers while there is no database.
const REFUSED: &str = "OUT_OF_MEMORY";

/// What the admin API answers: the status, and the body.
fn get(admin: &str, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(admin).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let head = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

/// A send by SQS: the status, and the code of the error.
fn send(sqs: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(sqs).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let action = format!(
        "Action=SendMessage&Version=2012-11-05&MessageBody={body}\
         &QueueUrl=http%3A%2F%2Flocalhost%2F000000000000%2Fjobs"
    );
    let head = "POST / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
                content-type: application/x-www-form-urlencoded\r\ncontent-length:";
    write!(stream, "{head} {}\r\n\r\n{action}", action.len()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    let code = answer.split_once("<Code>").and_then(|(_, rest)| rest.split_once("</Code>"));
    (status, code.map(|(code, _)| code.to_owned()).unwrap_or_default())
}

/// One answer to a send, and when.
struct Answer {
    body: String,
    began_ns: u64,
    ended_ns: u64,
    status: u16,
    code: String,
}

/// Sends one message after the other until told to stop.
fn send_on(sqs: &str, stop: &AtomicBool) -> Vec<Answer> {
    let mut answers = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let body = format!("n{}", answers.len());
        let began_ns = monotonic_ns();
        let (status, code) = send(sqs, &body);
        answers.push(Answer { body, began_ns, ended_ns: monotonic_ns(), status, code });
    }
    answers
}

/// Takes everything out of the tube; answers how often each body came.
fn drain(client: &mut Client) -> BTreeMap<String, usize> {
    let mut came = BTreeMap::new();
    assert_eq!(client.ask("watch jobs\r\n"), "WATCHING 2");
    loop {
        let line = client.ask("reserve-with-timeout 1\r\n");
        let Some(rest) = line.strip_prefix("RESERVED ") else { break };
        let id = rest.split(' ').next().unwrap().to_owned();
        *came.entry(client.line()).or_insert(0) += 1;
        assert_eq!(client.ask(&format!("delete {id}\r\n")), "DELETED");
    }
    came
}

fn ms(from: u64, to: u64) -> u64 {
    to.saturating_sub(from) / 1_000_000
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_says_when_the_primary_is_gone_and_finds_the_new_one_by_itself() {
    // S1.1, S2.2
    let mut pair = Pair::start(Replication::Synchronous).await;
    let database = pair.cluster().database().await;
    let folder = Folder::new();
    let server = folder.serve(&["--store", &pair.url(&database)]);
    let (admin, sqs) = (server.admin(), server.address("SQS on "));
    let mut client = server.client();
    assert_eq!(client.ask("use jobs\r\n"), "USING jobs");
    assert!(client.ask("put 0 0 60 1\r\na\r\n").starts_with("INSERTED "));
    assert_eq!(get(&admin, "/readyz").0, 200);
    let stop = Arc::new(AtomicBool::new(false));
    let sender = {
        let (stop, sqs) = (Arc::clone(&stop), sqs.clone());
        std::thread::spawn(move || send_on(&sqs, &stop))
    };

    let killed = monotonic_ns();
    pair.kill_primary();
    let gone = monotonic_ns();
    until("it is not ready", || get(&admin, "/readyz").0 == 503);
    let unready = monotonic_ns();
    // A standby whose primary is gone still refuses writes, until it is promoted.
    for _ in 0..PROBES {
        let (status, told) = get(&admin, "/readyz");
        assert_eq!(status, 503);
        assert!(told.contains("storage_unavailable"), "{told}");
        assert_eq!(get(&admin, "/healthz").0, 200, "the process itself is well");
    }
    let began = monotonic_ns();
    assert_eq!(client.ask("put 0 0 60 1\r\nx\r\n"), REFUSED);
    let refused = monotonic_ns();
    pair.promote();
    let promoted = monotonic_ns();
    until("it is ready again", || get(&admin, "/readyz").0 == 200);
    let ready = monotonic_ns();
    // On the connection that it had.
    assert!(client.ask("put 0 0 60 1\r\nb\r\n").starts_with("INSERTED "));
    let put = monotonic_ns();
    stop.store(true, Ordering::Relaxed);
    let answers = sender.join().unwrap();

    let failed: Vec<&Answer> = answers.iter().filter(|answer| answer.status != 200).collect();
    let first = answers.iter().find(|a| a.status == 200 && a.began_ns > unready).unwrap();
    let longest = failed.iter().map(|a| ms(a.began_ns, a.ended_ns)).max().unwrap();
    println!(
        "killed within {} ms, 503 {} ms later, put refused in {} ms. From the order to promote: it \
         takes writes {} ms, 200 {} ms, put answered {} ms, SQS send answered {} ms. {} sends were \
         refused, each within {longest} ms",
        ms(killed, gone),
        ms(gone, unready),
        ms(began, refused),
        ms(refused, promoted),
        ms(refused, ready),
        ms(refused, put),
        ms(refused, first.ended_ns),
        failed.len(),
    );
    for answer in &failed {
        assert_eq!((answer.status, &*answer.code), (503, "ServiceUnavailable"));
    }
    let came = drain(&mut client);
    for answer in answers.iter().filter(|answer| answer.status == 200) {
        assert_eq!(came.get(&answer.body), Some(&1), "{} was answered", answer.body);
    }
    assert_eq!((came.get("a"), came.get("b"), came.get("x")), (Some(&1), Some(&1), None));
    server.stop();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_leaves_a_primary_behind_that_does_not_answer_any_more() {
    let mut pair = Pair::start(Replication::Synchronous).await;
    let database = pair.cluster().database().await;
    let folder = Folder::new();
    let store = format!("{}&statement_timeout=3", pair.url(&database));
    let server = folder.serve(&["--store", &store]);
    let admin = server.admin();
    let mut client = server.client();
    assert!(client.ask("put 0 0 60 1\r\na\r\n").starts_with("INSERTED "));
    pair.hang_primary();
    let hung = monotonic_ns();
    until("it is not ready", || get(&admin, "/readyz").0 == 503);
    let unready = monotonic_ns();
    pair.promote();
    let promoted = monotonic_ns();
    until("it is ready again", || get(&admin, "/readyz").0 == 200);
    println!(
        "503 after {} ms, 200 {} ms after the promotion",
        ms(hung, unready),
        ms(promoted, monotonic_ns())
    );
    // A put may still get a connection to the old one, which is given up.
    until("a put is answered", || client.ask("put 0 0 60 1\r\nb\r\n").starts_with("INSERTED "));
    assert!(client.ask("reserve-with-timeout 5\r\n").starts_with("RESERVED "));
    assert_eq!(client.line(), "a");
    pair.kill_other();
    server.stop();
}
