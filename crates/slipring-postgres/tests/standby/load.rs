//! Producers and consumers that go on whatever becomes of the servers: by two engines, as two
//! servers of Slipring have them, and by SQL in transactions.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use slipring::{
    Delivery, Engine, EngineOptions, ErrorKind, NewMessage, Queue, QueueSettings, ReceiveRequest,
};
use slipring_postgres::{Address, PostgresOptions, PostgresStore};
use slipring_testbed::run;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_postgres::{Client, NoTls};

use super::ledger::{Ledger, Outcome};

/// How long anything may take.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// The lease of consumers that settle at once.
const LEASE: Duration = Duration::from_secs(2);
/// How long a client that was refused waits for others to get on.
const RETRY: Duration = Duration::from_millis(50);
const GROUPS: u64 = 3;
/// With more messages than this to come, senders wait.
const BACKLOG_MAX: usize = 60;

/// What the clients share.
#[derive(Debug, Default)]
pub struct Signs {
    pub ledger: Ledger,
    /// No more is sent.
    pub ending: AtomicBool,
    /// Nothing more is received.
    over: AtomicBool,
    /// Something was received and settled.
    news: Notify,
}

impl Signs {
    fn set(sign: &AtomicBool) -> bool {
        sign.load(Ordering::Relaxed)
    }

    /// Waits until others get on, not for long: then it may be worth another try.
    async fn refused(&self) {
        // Nobody gets on while there is no server.
        let _ = tokio::time::timeout(RETRY, self.news.notified()).await;
    }

    /// Waits until there is something to do for a sender; false when there will be nothing.
    async fn room(&self) -> bool {
        while !Signs::set(&self.ending) && self.ledger.backlog() > BACKLOG_MAX {
            self.refused().await;
        }
        !Signs::set(&self.ending)
    }

    /// Waits until so many more sends and acks were answered.
    pub async fn progress(&self, more: usize) {
        let done = || self.ledger.sends(Outcome::Done).min(self.ledger.acks());
        let wanted = done() + more;
        let reached = async {
            while done() < wanted {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, reached).await.expect("sends and acks go on");
    }
}

/// Waits until something succeeds, and answers it.
pub async fn until<T>(what: &str, mut tried: impl AsyncFnMut() -> Option<T>) -> T {
    let done = async {
        loop {
            if let Some(done) = tried().await {
                return done;
            }
        }
    };
    let in_time = tokio::time::timeout(PATIENCE, done).await;
    in_time.unwrap_or_else(|_| panic!("{what}: not within {PATIENCE:?}"))
}

/// An engine over the servers of an address.
pub async fn engine(address: &Address) -> Engine {
    let options = PostgresOptions {
        connections: 6,
        connect_timeout: Duration::from_secs(2),
        ..PostgresOptions::default()
    };
    let store = PostgresStore::open(address, options).await.expect("the store opens");
    Engine::open(store, EngineOptions::default()).await.expect("the engine opens")
}

/// The clients at work.
pub struct Load {
    pub signs: Arc<Signs>,
    url: String,
    /// Of the consumers.
    pub engine: Engine,
    senders: Vec<JoinHandle<()>>,
    receivers: Vec<JoinHandle<()>>,
}

impl Load {
    /// Makes the queues and the table of business, and begins.
    pub async fn begin(address: &Address, url: &str) -> Load {
        let signs = Arc::new(Signs::default());
        let (one, two) = (engine(address).await, engine(address).await);
        let fifo = QueueSettings { fifo: true, ..QueueSettings::default() };
        one.create_queue("fifo", fifo).await.unwrap();
        one.create_queue("plain", QueueSettings::default()).await.unwrap();
        let client = reached(url).await.expect("a server takes writes");
        run(&client, "CREATE TABLE business (body text PRIMARY KEY)").await;
        let mut senders = Vec::new();
        for name in ["e1", "e2"] {
            let queue = one.queue("plain").await.unwrap();
            senders.push(tokio::spawn(send(Arc::clone(&signs), queue, name)));
        }
        let queue = one.queue("fifo").await.unwrap();
        senders.push(tokio::spawn(send(Arc::clone(&signs), queue, "f")));
        senders.push(tokio::spawn(send_by_sql(Arc::clone(&signs), url.to_owned())));
        let mut receivers = Vec::new();
        for name in ["plain", "plain", "fifo", "fifo"] {
            let queue = two.queue(name).await.unwrap();
            receivers.push(tokio::spawn(receive(Arc::clone(&signs), queue)));
        }
        receivers.push(tokio::spawn(receive_by_sql(Arc::clone(&signs), url.to_owned())));
        Load { signs, url: url.to_owned(), engine: two, senders, receivers }
    }

    /// Stops the senders, waits until the queues are empty, and stops the receivers. Every message
    /// of a transaction with business has to have come if and only if the business is there.
    pub async fn end(self) -> Vec<String> {
        self.signs.ending.store(true, Ordering::Relaxed);
        for sender in self.senders {
            tokio::time::timeout(PATIENCE, sender).await.expect("a sender ends").unwrap();
        }
        let mut faults = Vec::new();
        for name in ["plain", "fifo"] {
            let queue = self.engine.queue(name).await.unwrap();
            let emptied = async {
                loop {
                    let stats = queue.stats().await.unwrap();
                    if stats.ready + stats.leased + stats.delayed + stats.parked == 0 {
                        break;
                    }
                    self.signs.refused().await;
                }
            };
            let in_time = tokio::time::timeout(PATIENCE, emptied).await;
            faults.extend(in_time.is_err().then(|| format!("{name} does not become empty")));
        }
        self.signs.over.store(true, Ordering::Relaxed);
        for receiver in self.receivers {
            tokio::time::timeout(PATIENCE, receiver).await.expect("a receiver ends").unwrap();
        }
        let client = reached(&self.url).await.expect("a server takes writes");
        let rows = client.query("SELECT body FROM business", &[]).await.unwrap();
        let mut business: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
        let mut came = self.signs.ledger.came_of("s");
        business.sort_unstable();
        came.sort_unstable();
        if business != came {
            faults.push(format!("business {business:?}, but messages {came:?}"));
        }
        self.engine.shutdown().await;
        faults.extend(self.signs.ledger.faults());
        faults
    }
}

/// Connects to the server that takes writes, if there is one.
pub async fn reached(url: &str) -> Option<Client> {
    let connecting = tokio_postgres::connect(url, NoTls);
    let (client, connection) = tokio::time::timeout(PATIENCE, connecting).await.ok()?.ok()?;
    tokio::spawn(connection);
    Some(client)
}

/// Sends by an engine; to a FIFO queue in some groups by turns.
async fn send(signs: Arc<Signs>, queue: Queue, name: &str) {
    let fifo = queue.info().settings.fifo;
    let mut n = 0;
    while signs.room().await {
        n += 1;
        let group = if fifo { format!("{name}{}", n % GROUPS) } else { name.to_owned() };
        let body = format!("{group}:{n}");
        let message = NewMessage::new(body.clone());
        let message = if fifo { message.group(group) } else { message };
        signs.ledger.sending(&body);
        let answer = queue.send(message).await;
        signs.ledger.sent(&body, Outcome::of(&answer));
        if let Err(error) = answer {
            assert_eq!(error.kind(), ErrorKind::StorageUnavailable, "{error}");
            signs.refused().await;
        }
    }
}

/// Receives by an engine, and acks one by one.
async fn receive(signs: Arc<Signs>, queue: Queue) {
    let ordered = queue.info().settings.fifo;
    let request = ReceiveRequest::up_to(4).wait(Duration::from_millis(300)).lease(LEASE);
    while !Signs::set(&signs.over) {
        let since = signs.ledger.moment();
        let Ok(list) = queue.receive(request).await else {
            signs.refused().await;
            continue;
        };
        let bodies: Vec<String> = list.iter().map(text).collect();
        signs.ledger.received(since, &bodies, ordered);
        for (delivery, body) in list.iter().zip(&bodies) {
            signs.ledger.acking(body);
            let answer = queue.ack(&delivery.receipt).await;
            signs.ledger.acked(body, Outcome::of(&answer));
            if let Err(error) = answer {
                // A hand-out that was not flushed may be forgotten (S1.4); the ack may have been
                // done although its answer was lost.
                let told =
                    [ErrorKind::StorageUnavailable, ErrorKind::LeaseLost, ErrorKind::MessageGone];
                assert!(told.contains(&error.kind()), "{error}");
                if ordered {
                    // It comes again, and so have those after it to.
                    break;
                }
            }
        }
        signs.news.notify_waiters();
    }
}

/// The body of a message.
pub fn text(delivery: &Delivery) -> String {
    String::from_utf8(delivery.message.body.to_vec()).expect("bodies are texts")
}

/// What is known of a transaction whose COMMIT was asked for, or that failed before.
fn ended(work: Result<(), tokio_postgres::Error>, commit: bool) -> Outcome {
    match work {
        Ok(()) => Outcome::Done,
        // Without a code the connection is gone.
        Err(error) if commit && error.code().is_none_or(|code| code.code().starts_with("57P")) => {
            Outcome::Unknown
        }
        Err(_) => Outcome::Undone,
    }
}

/// Sends in transactions that write a row of business as well.
async fn send_by_sql(signs: Arc<Signs>, url: String) {
    let mut n = 0;
    let mut client = None;
    while signs.room().await {
        let Some(here) = client.take() else {
            client = reached(&url).await;
            if client.is_none() {
                signs.refused().await;
            }
            continue;
        };
        n += 1;
        let body = format!("s:{n}");
        signs.ledger.sending(&body);
        let work = format!(
            "BEGIN; INSERT INTO business VALUES ('{body}');
             SELECT slipring.send('plain', '{body}'::text)"
        );
        let outcome = match here.batch_execute(&work).await {
            Ok(()) => ended(here.batch_execute("COMMIT").await, true),
            failed => ended(failed, false),
        };
        signs.ledger.sent(&body, outcome);
        client = (outcome == Outcome::Done).then_some(here);
    }
}

/// Receives and acks in one transaction.
async fn receive_by_sql(signs: Arc<Signs>, url: String) {
    let mut client = None;
    while !Signs::set(&signs.over) {
        let Some(here) = client.take() else {
            client = reached(&url).await;
            if client.is_none() {
                signs.refused().await;
            }
            continue;
        };
        let Ok(bodies) = receive_one_by_sql(&signs, &here).await else { continue };
        let outcome = ended(here.batch_execute("COMMIT").await, true);
        bodies.iter().for_each(|body| signs.ledger.acked(body, outcome));
        if bodies.is_empty() {
            signs.refused().await;
        }
        client = (outcome == Outcome::Done).then_some(here);
    }
}

/// The transaction up to its end; answers what it acks.
async fn receive_one_by_sql(
    signs: &Signs,
    client: &Client,
) -> Result<Vec<String>, tokio_postgres::Error> {
    client.batch_execute("BEGIN").await?;
    let since = signs.ledger.moment();
    let receive = "SELECT receipt, convert_from(body, 'UTF8')
                   FROM slipring.receive('plain', 3, '2 s')";
    let rows = client.query(receive, &[]).await?;
    let handed: (Vec<String>, Vec<String>) =
        rows.iter().map(|row| (row.get(0), row.get(1))).unzip();
    let (receipts, bodies) = handed;
    signs.ledger.received(since, &bodies, false);
    if !receipts.is_empty() {
        client.execute("SELECT slipring.ack($1::text[])", &[&receipts]).await?;
    }
    bodies.iter().for_each(|body| signs.ledger.acking(body));
    Ok(bodies)
}
