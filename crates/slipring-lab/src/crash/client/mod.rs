//! A client process of the crash test: several sessions that send, receive and settle over one
//! protocol each, and write down what they see. The server dies under them again and again.

mod log;
mod session;
mod sql;
mod sqs;
mod tube;

use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use tokio::task::JoinSet;

use super::Protocol;
use super::history::{Delivery, Entry, Sending};
use super::queues::Rules;

use log::Log;
use session::Session;
use sql::SqlClient;
use sqs::SqsClient;
use tube::TubeClient;

/// What a client process is told.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Where everything is.
    #[command(flatten)]
    pub places: Places,
    /// Number of this client, from 1.
    #[arg(long)]
    pub client: u64,
    /// Seed of its choices.
    #[arg(long)]
    pub seed: u64,
    /// Sessions of each protocol.
    #[arg(long, default_value_t = 3)]
    pub sessions: u64,
    /// The file for its history.
    #[arg(long)]
    pub history: PathBuf,
    /// The largest body of a message.
    #[arg(long)]
    pub body_bytes_max: usize,
    /// Sessions of this protocol only.
    #[arg(long, value_enum)]
    pub only: Option<Protocol>,
    /// The store under the server goes away at times: the server may answer that it cannot tell.
    #[arg(long)]
    pub outages: bool,
    /// Receive and ack what is left instead, until there is twice nothing.
    #[arg(long)]
    pub drain: bool,
}

/// Where a client process finds what it uses.
#[derive(Debug, Clone, clap::Args)]
pub struct Places {
    /// Address of the SQS protocol.
    #[arg(long)]
    pub sqs: String,
    /// Address of the beanstalkd protocol.
    #[arg(long)]
    pub beanstalkd: String,
    /// Address of the PostgreSQL database under the servers; without it nobody uses SQL.
    #[arg(long)]
    pub database: Option<String>,
}

/// Why an operation was not done.
pub enum Failure {
    /// The server said no: it surely did not happen.
    Refused(String),
    /// The session has rolled it back: it surely did not happen.
    Withdrawn,
    /// The server says that its store is away: nobody knows.
    Away(String),
    /// The connection broke, or the answer makes no sense: nobody knows.
    Broken(anyhow::Error),
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Failure {
        Failure::Broken(error)
    }
}

/// What every protocol can do.
trait Client: Sized {
    /// Whether an answered ack proves that the message is gone.
    const STRICT: bool;
    /// Whether leases end with the connection.
    const SESSION: bool;
    /// Whether messages can be set aside.
    const PARKS: bool = false;
    /// The largest body.
    const BODY_BYTES_MAX: usize = 256 << 10;
    /// How long a prolonged lease lasts.
    const EXTENDED_MS: u64;

    /// Connects.
    async fn open(places: &Places) -> Result<Self>;
    /// From now on it takes nothing back.
    fn stay(&mut self) {}
    /// The queues it uses.
    fn queues() -> Vec<&'static Rules>;
    /// Sends in order; notes the id of each message that was taken.
    async fn send(&mut self, queue: &Rules, messages: &mut [Sending]) -> Result<(), Failure>;
    /// Receives up to ten, waiting up to `wait_seconds`.
    async fn receive(&mut self, queue: &Rules, wait_seconds: u32)
    -> Result<Vec<Delivery>, Failure>;
    /// Acks up to ten; notes which were done.
    async fn ack(&mut self, queue: &Rules, entries: &mut [Entry]) -> Result<(), Failure>;
    /// Gives one back, in whole seconds.
    async fn nack(&mut self, queue: &Rules, entry: &Entry, delay_ms: u64) -> Result<(), Failure>;
    /// Prolongs a lease by [`Client::EXTENDED_MS`] from now.
    async fn extend(&mut self, queue: &Rules, entry: &Entry) -> Result<(), Failure>;
    /// Sets one aside, where [`Client::PARKS`].
    async fn bury(&mut self, _queue: &Rules, _entry: &Entry) -> Result<(), Failure> {
        Err(Failure::Refused("the protocol sets nothing aside".to_owned()))
    }
    /// Brings back one message, or all of the queue that were set aside, where
    /// [`Client::PARKS`].
    async fn kick(&mut self, _queue: &Rules, _entry: Option<&Entry>) -> Result<(), Failure> {
        Err(Failure::Refused("the protocol sets nothing aside".to_owned()))
    }
}

/// Runs a client process until its stdin is closed, or until the drain is done.
///
/// # Errors
/// When the server answers what it must not, or does not answer.
pub fn run(options: &Options) -> Result<()> {
    let stop = Arc::new(AtomicBool::new(false));
    if !options.drain {
        let stop = Arc::clone(&stop);
        std::thread::spawn(move || {
            // The end of stdin is the signal; there is nothing to read.
            let _ = std::io::stdin().read(&mut [0]);
            stop.store(true, Ordering::Relaxed);
        });
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.context("starting the runtime")?.block_on(all_sessions(options, stop))
}

async fn all_sessions(options: &Options, stop: Arc<AtomicBool>) -> Result<()> {
    let log = Log::create(&options.history, options.client)?;
    let places = &options.places;
    let uses = |protocol| match (options.only, protocol) {
        (Some(only), protocol) => only == protocol,
        (None, Protocol::Sql) => places.database.is_some(),
        (None, Protocol::Sqs | Protocol::Beanstalkd) => true,
    };
    let own = |number| Session::new(log.clone(), options, number, &stop);
    if options.drain {
        // One protocol after the other: what a beanstalkd connection holds, SQS cannot see. What
        // SQL has sent, SQS can receive.
        if uses(Protocol::Beanstalkd) {
            own(0).drain::<TubeClient>().await?;
        }
        if uses(Protocol::Sqs) {
            own(1).drain::<SqsClient>().await?;
        } else if uses(Protocol::Sql) {
            own(2).drain::<SqlClient>().await?;
        }
        return log.flush();
    }
    let mut sessions = JoinSet::new();
    for number in 0..options.sessions {
        let number = options.client * 1000 + number * 3;
        if uses(Protocol::Sqs) {
            sessions.spawn(own(number).run::<SqsClient>());
        }
        if uses(Protocol::Beanstalkd) {
            sessions.spawn(own(number + 1).run::<TubeClient>());
        }
        if uses(Protocol::Sql) {
            sessions.spawn(own(number + 2).run::<SqlClient>());
        }
    }
    while let Some(ended) = sessions.join_next().await {
        ended.context("a session panicked")??;
    }
    log.flush()
}
