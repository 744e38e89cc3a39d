//! One session: it never has two operations open, and takes a new process number when it does
//! not know how one ended.

mod operations;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Result, bail};

use super::{Client, Log, Options, Places};
use crate::crash::dice::Dice;
use crate::crash::history::{Delivery, Entry, Kind, Operation, Sending};
use crate::crash::payload;
use crate::crash::queues::{DELAY_MS, LEASE_MS, ONCE, POISON, Rules};

const RECONNECT_EVERY: Duration = Duration::from_millis(5);
/// Between two operations of a session, at most; a longer run is better than a longer history.
const PAUSE_MS: u64 = 20;
/// Longer than any name of a body.
const NAME_BYTES_MAX: usize = 64;
/// Groups of a session: few, so that messages wait for each other.
const GROUPS: u64 = 2;
const BATCH_MAX: u64 = 10;
/// Bytes of a batch; SQS takes 1 MiB, names beside the bodies included.
const BATCH_BYTES_MAX: usize = 1_000_000;

/// A session with its choices.
pub struct Session {
    log: Log,
    process: u64,
    number: u64,
    next_body: u64,
    seed: u64,
    outages: bool,
    body_bytes_max: usize,
    /// Whether a body may be too small to hold its name.
    tiny: bool,
    dice: Dice,
    places: Places,
    stop: Arc<AtomicBool>,
    /// What it has set aside and not brought back.
    buried: Vec<(Rules, Entry)>,
}

impl Session {
    pub fn new(log: Log, options: &Options, number: u64, stop: &Arc<AtomicBool>) -> Session {
        let (seed, outages) = (options.seed, options.outages);
        let (process, dice) = (log.number(), Dice::new(seed, number));
        Session {
            log,
            process,
            number,
            next_body: 0,
            seed,
            outages,
            body_bytes_max: options.body_bytes_max,
            // Users of SQL do not see what travels beside a body.
            tiny: options.places.database.is_none(),
            dice,
            places: options.places.clone(),
            stop: Arc::clone(stop),
            buried: Vec::new(),
        }
    }

    /// Sends, receives and settles until it is told to stop.
    pub async fn run<C: Client>(mut self) -> Result<()> {
        while !self.stopped() {
            let Ok(mut client) = C::open(&self.places).await else {
                tokio::time::sleep(RECONNECT_EVERY).await;
                continue;
            };
            self.use_connection(&mut client).await?;
            if C::SESSION {
                // Written even after a break: it is never earlier than the true end.
                self.done(Kind::Invoke, Operation::Leave)?;
                drop(client);
                self.done(Kind::Ok, Operation::Leave)?;
            }
        }
        Ok(())
    }

    /// Receives and acks everything in all queues of a protocol, until there was twice nothing.
    pub async fn drain<C: Client>(mut self) -> Result<()> {
        let mut client = C::open(&self.places).await?;
        client.stay();
        let mut empty = 0;
        while empty < 2 {
            let mut received = 0;
            for queue in C::queues() {
                if C::PARKS && !self.kick(&mut client, queue, None).await? {
                    bail!("the server broke a connection of the drain");
                }
                loop {
                    let Some(deliveries) = self.receive(&mut client, queue, 0).await? else {
                        bail!("the server broke a connection of the drain");
                    };
                    if deliveries.is_empty() {
                        break;
                    }
                    received += deliveries.len();
                    if !self.ack(&mut client, queue, &deliveries).await? {
                        bail!("the server broke a connection of the drain");
                    }
                }
            }
            empty = if received == 0 { empty + 1 } else { 0 };
            // What somebody still held has lapsed by the next look.
            tokio::time::sleep(Duration::from_millis(LEASE_MS + 200)).await;
        }
        Ok(())
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Goes on until the connection breaks, the session chooses to leave, or it is told to stop.
    async fn use_connection<C: Client>(&mut self, client: &mut C) -> Result<()> {
        let queues = C::queues();
        while !self.stopped() {
            tokio::time::sleep(Duration::from_millis(self.dice.below(PAUSE_MS))).await;
            let Some(queue) = queues.get(self.dice.below(queues.len() as u64) as usize) else {
                bail!("a protocol without queues");
            };
            let whole = if C::PARKS && self.dice.chance(0.05) {
                self.kick_some(client, queue).await?
            } else if self.dice.chance(0.5) {
                self.send_some(client, queue).await?
            } else {
                self.receive_some(client, queue).await?
            };
            if !whole || C::SESSION && self.dice.chance(0.01) {
                break;
            }
        }
        Ok(())
    }

    /// Answers whether the connection is whole, as all below.
    async fn send_some<C: Client>(&mut self, client: &mut C, queue: &Rules) -> Result<bool> {
        if queue.name == ONCE.name {
            let (id, group) = (self.body::<C>(queue).0, format!("o{}", self.number));
            for _ in 0..2 {
                let (dedup, group) = (Some(id.clone()), Some(group.clone()));
                let (body, _) = self.body::<C>(queue);
                let message = Sending { body, group, dedup, ..Sending::default() };
                if !self.send(client, queue, vec![message]).await? {
                    return Ok(false);
                }
            }
            return Ok(true);
        }
        // A dead-letter queue gets its messages from elsewhere.
        if queue.name == crate::crash::queues::DEAD.name {
            return Ok(true);
        }
        let count = 1 + self.dice.below(BATCH_MAX);
        let (mut messages, mut bytes) = (Vec::new(), 0);
        while (messages.len() as u64) < count {
            let (body, body_bytes) = self.body::<C>(queue);
            bytes += body_bytes;
            if bytes > BATCH_BYTES_MAX {
                break;
            }
            let mut message = Sending { body, ..Sending::default() };
            if queue.fifo {
                message.group = Some(format!("g{}-{}", self.number, self.dice.below(GROUPS)));
                message.dedup = Some(message.body.clone());
            } else if self.dice.chance(0.2) {
                message.delay_ms = DELAY_MS;
            }
            messages.push(message);
        }
        self.send(client, queue, messages).await
    }

    async fn receive_some<C: Client>(&mut self, client: &mut C, queue: &Rules) -> Result<bool> {
        let wait_seconds = self.dice.below(2) as u32;
        let Some(deliveries) = self.receive(client, queue, wait_seconds).await? else {
            return Ok(false);
        };
        if deliveries.is_empty() {
            return Ok(true);
        }
        if self.dice.chance(0.1) && !self.keep_some(client, queue, &deliveries).await? {
            return Ok(false);
        }
        let fails = if queue.name == POISON.name { 0.9 } else { 0.1 };
        if self.dice.chance(fails) {
            if self.dice.chance(0.5) {
                return Ok(true); // left to lapse
            }
            for delivery in &deliveries {
                let whole = if C::PARKS && self.dice.chance(0.3) {
                    self.bury(client, queue, delivery).await?
                } else {
                    let delay_ms = self.dice.below(2) * DELAY_MS;
                    self.nack(client, queue, delivery, delay_ms).await?
                };
                if !whole {
                    return Ok(false);
                }
            }
            return Ok(true);
        }
        if self.dice.chance(0.01) {
            tokio::time::sleep(Duration::from_millis(LEASE_MS + 100)).await; // the receipt is stale
        }
        self.ack(client, queue, &deliveries).await
    }

    /// Prolongs leases, at times so late that they are held beyond their first deadlines.
    async fn keep_some<C: Client>(
        &mut self,
        client: &mut C,
        queue: &Rules,
        deliveries: &[Delivery],
    ) -> Result<bool> {
        let long = self.dice.chance(0.1);
        if long {
            tokio::time::sleep(Duration::from_millis(LEASE_MS / 2)).await;
        }
        for delivery in deliveries {
            if !self.extend(client, queue, delivery).await? {
                return Ok(false);
            }
        }
        if long {
            tokio::time::sleep(Duration::from_millis(LEASE_MS * 3 / 4)).await;
        }
        Ok(true)
    }

    /// Brings back a message that this session has set aside, or now and then all of a queue.
    async fn kick_some<C: Client>(&mut self, client: &mut C, queue: &Rules) -> Result<bool> {
        if self.dice.chance(0.02) {
            return self.kick(client, queue, None).await;
        }
        match self.buried.pop() {
            Some((queue, entry)) => self.kick(client, &queue, Some(&entry)).await,
            None => Ok(true),
        }
    }

    /// The name of a body nobody uses again, in this run or another, and its size: as often of few
    /// bytes as of many.
    fn body<C: Client>(&mut self, queue: &Rules) -> (String, usize) {
        self.next_body += 1;
        let most = self.body_bytes_max.min(C::BODY_BYTES_MAX);
        let mut bytes = (1 << self.dice.below(most.ilog2().into())) as usize;
        bytes += self.dice.below(bytes as u64 + 1) as usize;
        if self.dice.chance(0.02) {
            bytes = most;
        }
        if !self.tiny || queue.by_beanstalkd {
            bytes = bytes.max(NAME_BYTES_MAX);
        }
        (payload::name(self.seed, self.number, self.next_body, bytes), bytes)
    }
}
