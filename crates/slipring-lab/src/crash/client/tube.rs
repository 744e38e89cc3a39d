//! The crash test's operations by the beanstalkd protocol.

use anyhow::{Context, Result};
use bytes::Bytes;
use slipring_wire::beanstalkd::{Command, DEFAULT_TUBE, Put, Reply, TubeName};

use super::{Client, Failure, Places};
use crate::crash::history::{Delivery, Entry, Sending};
use crate::crash::payload;
use crate::crash::queues::{self, LEASE_MS, Rules};
use crate::time::monotonic_ns;
use crate::wire::beanstalkd::Connection;

/// A connection, with the tube it uses and the one it watches.
pub struct TubeClient {
    connection: Connection,
    used: String,
    watched: String,
}

/// Reservations asked for in one receive.
const PIPELINED: usize = 3;
/// More than are ever set aside.
const KICK_BOUND: u32 = 1_000_000;

fn name(text: &str) -> Result<TubeName> {
    TubeName::from_bytes(text.as_bytes()).context("not the name of a tube")
}

fn unexpected(reply: &Reply) -> Failure {
    match reply {
        Reply::InternalError | Reply::OutOfMemory => Failure::Away(format!("{reply:?}")),
        other => Failure::Refused(format!("{other:?}")),
    }
}

/// The job id within a receipt.
fn job(entry: &Entry) -> Result<u64, Failure> {
    let id = entry.receipt.split('/').next().and_then(|id| id.parse().ok());
    Ok(id.context("not a receipt of this client")?)
}

impl TubeClient {
    async fn use_tube(&mut self, queue: &Rules) -> Result<(), Failure> {
        if self.used != queue.name {
            match self.connection.call(&Command::Use(name(queue.name)?)).await? {
                Reply::Using(_) => {}
                other => return Err(unexpected(&other)),
            }
            self.used = queue.name.to_owned();
        }
        Ok(())
    }

    /// Says one thing and wants one answer.
    async fn expect(&mut self, command: &Command, wanted: Reply) -> Result<(), Failure> {
        match self.connection.call(command).await? {
            reply if reply == wanted => Ok(()),
            other => Err(unexpected(&other)),
        }
    }
}

impl Client for TubeClient {
    const STRICT: bool = true;
    const SESSION: bool = true;
    const PARKS: bool = true;
    const EXTENDED_MS: u64 = LEASE_MS;
    const BODY_BYTES_MAX: usize = 65_535;

    async fn open(places: &Places) -> Result<TubeClient> {
        let connection = Connection::open(&places.beanstalkd).await?;
        let (used, watched) = (DEFAULT_TUBE.to_owned(), DEFAULT_TUBE.to_owned());
        Ok(TubeClient { connection, used, watched })
    }

    fn queues() -> Vec<&'static Rules> {
        queues::ALL.iter().filter(|rules| rules.by_beanstalkd).collect()
    }

    async fn send(&mut self, queue: &Rules, messages: &mut [Sending]) -> Result<(), Failure> {
        self.use_tube(queue).await?;
        for message in messages.iter() {
            self.connection.add(&Command::Put(Put {
                priority: 1024,
                delay: (message.delay_ms / 1000) as u32,
                time_to_run: (LEASE_MS / 1000) as u32,
                body: Bytes::from(payload::written(&message.body)),
            }));
        }
        self.connection.flush().await?;
        let mut refused = None;
        for message in messages.iter_mut() {
            match self.connection.reply().await? {
                Reply::Inserted { id } => message.id = Some(id.to_string()),
                other => refused = Some(unexpected(&other)),
            }
        }
        refused.map_or(Ok(()), Err)
    }

    async fn receive(
        &mut self,
        queue: &Rules,
        wait_seconds: u32,
    ) -> Result<Vec<Delivery>, Failure> {
        if self.watched != queue.name {
            for command in
                [Command::Watch(name(queue.name)?), Command::Ignore(name(&self.watched)?)]
            {
                match self.connection.call(&command).await? {
                    Reply::Watching(_) => {}
                    other => return Err(unexpected(&other)),
                }
            }
            self.watched = queue.name.to_owned();
        }
        for place in 0..PIPELINED {
            let seconds = if place == 0 { wait_seconds } else { 0 };
            self.connection.add(&Command::ReserveWithTimeout { seconds });
        }
        self.connection.flush().await?;
        let mut deliveries = Vec::new();
        let mut failed = None;
        for _ in 0..PIPELINED {
            match self.connection.reply().await? {
                Reply::Reserved { id, body } => {
                    let answered_ns = monotonic_ns();
                    deliveries.push(Delivery {
                        body: payload::read(&body, None)?,
                        // A job id alone would not tell hand-outs apart, of which there may be
                        // one on each connection.
                        receipt: format!("{id}/{answered_ns}"),
                        count: None,
                        lease_ms: LEASE_MS,
                        session: true,
                        answered_ns: Some(answered_ns),
                    });
                }
                Reply::TimedOut | Reply::DeadlineSoon => {}
                other => failed = Some(unexpected(&other)),
            }
        }
        failed.map_or(Ok(deliveries), Err)
    }

    async fn ack(&mut self, _: &Rules, entries: &mut [Entry]) -> Result<(), Failure> {
        for entry in entries.iter() {
            self.connection.add(&Command::Delete { id: job(entry)? });
        }
        self.connection.flush().await?;
        for entry in entries.iter_mut() {
            match self.connection.reply().await? {
                Reply::Deleted => entry.done = true,
                Reply::NotFound => {}
                other => return Err(unexpected(&other)),
            }
        }
        Ok(())
    }

    async fn nack(&mut self, _: &Rules, entry: &Entry, delay_ms: u64) -> Result<(), Failure> {
        let delay = (delay_ms / 1000) as u32;
        let release = Command::Release { id: job(entry)?, priority: 1024, delay };
        self.expect(&release, Reply::Released).await
    }

    async fn extend(&mut self, _: &Rules, entry: &Entry) -> Result<(), Failure> {
        self.expect(&Command::Touch { id: job(entry)? }, Reply::Touched).await
    }

    async fn bury(&mut self, _: &Rules, entry: &Entry) -> Result<(), Failure> {
        let bury = Command::Bury { id: job(entry)?, priority: 1024 };
        self.expect(&bury, Reply::Buried).await
    }

    async fn kick(&mut self, queue: &Rules, entry: Option<&Entry>) -> Result<(), Failure> {
        if let Some(entry) = entry {
            return self.expect(&Command::KickJob { id: job(entry)? }, Reply::Kicked).await;
        }
        self.use_tube(queue).await?;
        match self.connection.call(&Command::Kick { bound: KICK_BOUND }).await? {
            Reply::KickedCount(_) => Ok(()),
            other => Err(unexpected(&other)),
        }
    }
}
