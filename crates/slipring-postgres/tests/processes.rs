//! Several processes on one database: FIFO groups stay strict across them, and one that is stopped
//! for longer than its leases delays nothing but these.
//!
//! The processes are this program itself, which takes the part of a consumer when it is told to.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a failed step fails the test, and a consumer tells what it does"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use libtest_mimic::{Arguments, Trial};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use slipring::clock::monotonic_ns;
use slipring::{
    Clock, Engine, EngineOptions, ManualClock, NewMessage, Queue, QueueSettings, ReceiveRequest,
    SystemClock,
};
use slipring_postgres::{Address, PostgresOptions, PostgresStore};
use slipring_testbed::{Cluster, Database};

/// Tells this program to be a consumer of the queue `q` of a database.
const PART: &str = "SLIPRING_TEST_CONSUMER_OF";
const PATIENCE: Duration = Duration::from_secs(90);
/// Long enough for a slow machine, short enough to be waited for.
const LEASE: Duration = Duration::from_secs(2);

fn main() -> ExitCode {
    if let Ok(url) = std::env::var(PART) {
        runtime().block_on(consume(&url));
        return ExitCode::SUCCESS;
    }
    let trial = |name, test: fn()| {
        let caught = move || {
            test();
            Ok(())
        };
        Trial::test(name, caught)
    };
    let trials = vec![
        trial("groups_stay_strict_across_processes_that_are_stopped_now_and_then", groups),
        trial("a_process_stopped_for_longer_than_its_leases_delays_only_these", stopped),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

async fn engine(address: &Address, clock: Arc<dyn Clock>) -> Engine {
    let options = PostgresOptions { connections: 4, ..PostgresOptions::default() };
    let store = PostgresStore::open(address, options).await.expect("the store opens");
    let options = EngineOptions { clock: Some(clock), ..EngineOptions::default() };
    Engine::open(store, options).await.expect("the engine opens")
}

fn say(what: &str, body: &[u8]) {
    let body = String::from_utf8_lossy(body);
    let mut out = std::io::stdout().lock();
    // One write for each line, so that a stop does not tear it.
    out.write_all(format!("{what} {} {body}\n", monotonic_ns()).as_bytes()).unwrap();
    out.flush().unwrap();
}

/// Receives and acks one by one until stdin ends, and says so before and after each step; nacks
/// every message whose number ends in 7 the first time.
async fn consume(url: &str) {
    let engine = engine(&url.parse().unwrap(), Arc::new(SystemClock::new())).await;
    let q = engine.queue("q").await.unwrap();
    let ended = tokio::task::spawn_blocking(|| {
        std::io::stdin().lock().lines().map_while(Result::ok).for_each(drop);
    });
    tokio::pin!(ended);
    say("ready", b"-");
    loop {
        let receive = q.receive(ReceiveRequest::up_to(1).wait(Duration::from_secs(3600)));
        let list = tokio::select! {
            _ = &mut ended => break,
            list = receive => list.unwrap(),
        };
        for delivery in &list {
            say("got", &delivery.message.body);
        }
        for delivery in list {
            let body = &delivery.message.body;
            if body.ends_with(b"7") && delivery.message.attempts == 1 {
                say("nack", body);
                // A lease that is lost is as good as given back.
                let _ = q.nack(&delivery.receipt, Some(Duration::ZERO)).await;
                continue;
            }
            say("ack", body);
            match q.ack(&delivery.receipt).await {
                Ok(()) => say("acked", body),
                Err(_) => say("lost", body),
            }
        }
    }
    engine.shutdown().await;
}

/// What a consumer said.
#[derive(Debug, Clone)]
struct Line {
    what: String,
    at_ns: u64,
    body: String,
}

/// A consumer in a process of its own.
struct Consumer {
    process: Child,
    stdin: Option<ChildStdin>,
}

impl Consumer {
    fn start(address: &str, lines: &mpsc::Sender<Line>) -> Consumer {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.env(PART, address).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let stdout = BufReader::new(process.stdout.take().unwrap());
        let lines = lines.clone();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let mut words = line.split(' ').map(str::to_owned);
                let mut next = || words.next().unwrap_or_default();
                let (what, at_ns, body) = (next(), next(), next());
                // Nobody listens any more when the test is over.
                let _ = lines.send(Line { what, at_ns: at_ns.parse().unwrap(), body });
            }
        });
        let stdin = process.stdin.take();
        Consumer { process, stdin }
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.process.id().try_into().unwrap()), signal).unwrap();
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        self.signal(Signal::SIGCONT);
        self.stdin = None;
        self.process.wait().expect("a consumer can be waited for");
    }
}

/// Everything that consumers say, in the order in which it arrives.
struct Ears {
    lines: mpsc::Receiver<Line>,
    heard: Vec<Line>,
}

impl Ears {
    /// Listens until what was heard is enough.
    fn until(&mut self, what: &str, enough: impl Fn(&[Line]) -> bool) {
        let began = monotonic_ns();
        while !enough(&self.heard) {
            let spent = Duration::from_nanos(monotonic_ns() - began);
            let left = PATIENCE.checked_sub(spent).unwrap_or_default();
            match self.lines.recv_timeout(left) {
                Ok(line) => self.heard.push(line),
                Err(_) => panic!("waited in vain until {what}: {:#?}", self.heard),
            }
        }
    }
}

fn said<'a>(heard: &'a [Line], what: &'a str) -> impl Iterator<Item = &'a Line> {
    heard.iter().filter(move |line| line.what == what)
}

/// Two consumers of a queue, and the engine of this process.
struct Ground {
    runtime: tokio::runtime::Runtime,
    database: Database,
    engine: Engine,
    q: Queue,
    consumers: Vec<Consumer>,
    ears: Ears,
}

impl Ground {
    fn new(settings: QueueSettings, clock: Arc<dyn Clock>) -> Ground {
        let runtime = runtime();
        let (database, engine, q) = runtime.block_on(async {
            let database = Cluster::shared().database().await;
            let engine = engine(&database.address, clock).await;
            let q = engine.create_queue("q", settings).await.unwrap();
            (database, engine, q)
        });
        let url = Cluster::shared().url(slipring_testbed::OWNER, "test", &database.name);
        let (sender, lines) = mpsc::channel();
        let consumers = (0..2).map(|_| Consumer::start(&url, &sender)).collect();
        let mut ears = Ears { lines, heard: Vec::new() };
        ears.until("both are ready", |heard| said(heard, "ready").count() == 2);
        Ground { runtime, database, engine, q, consumers, ears }
    }

    fn send(&self, message: NewMessage) {
        self.runtime.block_on(self.q.send(message)).unwrap();
    }

    fn wait_until_empty(&self) {
        let empty = async { while self.q.stats().await.unwrap().total() > 0 {} };
        let empty = async { tokio::time::timeout(PATIENCE, empty).await };
        self.runtime.block_on(empty).expect("the queue becomes empty");
    }

    /// Stops a consumer wherever it is, and waits until the database has done what it was asked.
    fn stop(&self, which: usize) {
        self.consumers[which].signal(Signal::SIGSTOP);
        // One that sleeps only waits for changes.
        let active = "SELECT FROM pg_stat_activity WHERE datname = $1 AND state = 'active'
                      AND wait_event IS DISTINCT FROM 'PgSleep'";
        let quiet = async {
            let admin = Cluster::shared().superuser("postgres").await;
            while !admin.query(active, &[&self.database.name]).await.unwrap().is_empty() {}
        };
        let quiet = async { tokio::time::timeout(PATIENCE, quiet).await };
        self.runtime.block_on(quiet).expect("the database comes to rest");
    }

    /// Ends everything; answers all that was heard.
    fn end(mut self) -> Vec<Line> {
        self.consumers.clear();
        self.ears.heard.extend(self.ears.lines.iter());
        self.runtime.block_on(self.engine.shutdown());
        self.ears.heard
    }
}

// S7.3
fn groups() {
    const GROUPS: usize = 8;
    const EACH: usize = 6;
    let settings =
        QueueSettings { fifo: true, visibility_timeout: LEASE, ..QueueSettings::default() };
    let ground = Ground::new(settings, Arc::new(SystemClock::new()));
    for round in 0..4 {
        for n in round * EACH..(round + 1) * EACH {
            for group in 0..GROUPS {
                let message = NewMessage::new(format!("{group}/{n}"));
                ground.send(message.group(group.to_string()));
            }
        }
        // Stopped in the middle of it, until the other one has got what was its, too.
        ground.consumers[round % 2].signal(Signal::SIGSTOP);
        ground.wait_until_empty();
        ground.consumers[round % 2].signal(Signal::SIGCONT);
    }
    let heard = ground.end();
    let done: BTreeSet<_> = said(&heard, "ack").map(|line| &line.body).collect();
    assert_eq!(done.len(), GROUPS * 4 * EACH);
    check_groups(&heard);
}

/// Nobody got a message before somebody had acked the one before it, and none was acked twice.
fn check_groups(heard: &[Line]) {
    let mut acked = BTreeMap::new();
    for line in said(heard, "acked") {
        // It took effect somewhere between the word before the call and this one.
        let begun = said(heard, "ack").filter(|ack| ack.body == line.body);
        let begun = begun.map(|ack| ack.at_ns).filter(|at_ns| *at_ns <= line.at_ns).max();
        let again = acked.insert(line.body.as_str(), begun.expect("an ack has a beginning"));
        assert_eq!(again, None, "{} was acked twice", line.body);
    }
    for line in said(heard, "got") {
        let (group, n) = line.body.split_once('/').unwrap();
        let Some(before) = n.parse::<usize>().unwrap().checked_sub(1) else { continue };
        let before = format!("{group}/{before}");
        let acked = acked.get(before.as_str());
        let strict = acked.is_some_and(|at_ns| *at_ns <= line.at_ns);
        assert!(strict, "{} came before {before} was acked", line.body);
    }
}

// S5.2
fn stopped() {
    let settings = QueueSettings { visibility_timeout: LEASE, ..QueueSettings::default() };
    // Nobody's lease ends before this clock moves: the only other one is a stopped process's.
    let clock = ManualClock::at(SystemClock::new().now());
    let mut ground = Ground::new(settings, Arc::new(clock.clone()));
    ground.consumers.truncate(1);
    let mut sent = 0..;
    let held = loop {
        for n in sent.by_ref().take(20) {
            ground.send(NewMessage::new(format!("held/{n}.")));
        }
        ground.stop(0);
        match ground.runtime.block_on(ground.q.stats()).unwrap().leased {
            0 => ground.consumers[0].signal(Signal::SIGCONT),
            held => break held,
        }
    };
    for n in 0..50 {
        ground.send(NewMessage::new(format!("free/{n}.")));
    }
    // The rest comes at once, what it holds when its leases are over.
    let rest = take_all(&ground, held);
    assert!(rest.iter().all(|(_, attempts)| *attempts == 1), "{rest:?}");
    assert_eq!(rest.iter().filter(|(body, _)| body.starts_with("free")).count(), 50);
    clock.advance(Duration::from_secs(3600));
    let again = take_all(&ground, 0);
    assert_eq!(again.len() as u64, held);
    assert!(again.iter().all(|(_, attempts)| *attempts == 2), "{again:?}");
    ground.consumers[0].signal(Signal::SIGCONT);
    // It goes on with what comes, and what it held is lost to it.
    ground.send(NewMessage::new("after."));
    let after = |heard: &[Line]| said(heard, "acked").any(|line| line.body == "after.");
    ground.ears.until("it goes on", after);
    let heard = ground.end();
    for (body, _) in rest.iter().chain(&again) {
        let twice = said(&heard, "acked").any(|line| line.body == *body);
        assert!(!twice, "{body} was acked twice");
    }
}

/// Receives and acks here until only so many messages are left; answers bodies and attempts.
fn take_all(ground: &Ground, left: u64) -> Vec<(String, u32)> {
    let mut taken = Vec::new();
    let taking = async {
        while ground.q.stats().await.unwrap().total() > left {
            for delivery in ground.q.receive(ReceiveRequest::up_to(10)).await.unwrap() {
                ground.q.ack(&delivery.receipt).await.unwrap();
                let body = String::from_utf8(delivery.message.body.to_vec()).unwrap();
                taken.push((body, delivery.message.attempts));
            }
        }
    };
    let taking = async { tokio::time::timeout(PATIENCE, taking).await };
    ground.runtime.block_on(taking).expect("everything comes");
    taken
}
