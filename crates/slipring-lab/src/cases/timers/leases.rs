//! Beside the load: a real engine whose leases are renewed by the contender's timers. A renewal
//! that comes late finds its lease lapsed.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use slipring::stores::MemoryStore;
use slipring::{
    Delivery, Engine, EngineOptions, ErrorKind, NewMessage, Queue, QueueSettings, ReceiveRequest,
};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio_util::sync::CancellationToken;

use super::contender::{Alarm, Contender, Sink};
use super::engine_wheel::MonotonicClock;
use crate::time::monotonic_ns;

/// So many messages are leased at any time.
pub const LEASES: usize = 64;
/// How long a lease is. It is renewed when a third has passed, as a worker does.
pub const LEASE: Duration = Duration::from_millis(600);
/// The longest wait for a message whose lease lapsed.
const WAIT: Duration = Duration::from_secs(10);

/// What became of the leases.
#[derive(Debug, Clone, Copy, Default)]
pub struct Kept {
    /// Leases that were renewed in time.
    pub renewed: u64,
    /// Leases that had lapsed when their renewal came.
    pub lapsed: u64,
}

/// Messages that are leased.
pub struct Leases<C: Contender> {
    contender: Arc<C>,
    /// The thread that sets the timers of the renewals is one more beside those of the load.
    caller: usize,
    engine: Engine,
    queue: Queue,
    held: Vec<Delivery>,
    slots: Vec<C::Slot>,
    sink: Arc<Sink>,
    rung: UnboundedReceiver<usize>,
}

impl<C: Contender> Leases<C> {
    /// Leases [`LEASES`] messages; their timers are not set yet.
    ///
    /// # Errors
    /// The engine's.
    pub async fn take(contender: &Arc<C>, caller: usize) -> Result<Leases<C>> {
        let options =
            EngineOptions { clock: Some(Arc::new(MonotonicClock)), ..EngineOptions::default() };
        let engine = Engine::open(MemoryStore::shared(), options).await?;
        let queue = engine.create_queue("leases", QueueSettings::default()).await?;
        let messages = (0..LEASES).map(|number| NewMessage::new(number.to_string()));
        queue.send_batch(messages.collect()).await?;
        let (to, rung) = unbounded_channel();
        Ok(Leases {
            contender: Arc::clone(contender),
            caller,
            engine,
            queue,
            held: Vec::new(),
            slots: Vec::new(),
            sink: Sink::of_leases(LEASES, to)?,
            rung,
        })
    }

    /// Where the renewals ring.
    pub fn sink(&self) -> Arc<Sink> {
        Arc::clone(&self.sink)
    }

    /// Keeps the leases until `stop`.
    ///
    /// # Errors
    /// The engine's, other than that a lease has lapsed.
    pub async fn keep(mut self, stop: CancellationToken) -> Result<Kept> {
        while self.held.len() < LEASES {
            let delivery = self.receive().await?;
            self.held.push(delivery);
            let lease = self.held.len() - 1;
            let slot = self.renewal(lease);
            self.slots.push(slot);
        }
        let mut kept = Kept::default();
        let mut rung = Vec::new();
        loop {
            tokio::select! {
                _ = self.rung.recv_many(&mut rung, LEASES) => {}
                () = stop.cancelled() => break,
            }
            for lease in self.renew(&rung, &mut kept).await? {
                self.held[lease] = self.receive().await?;
            }
            for lease in rung.drain(..) {
                self.slots[lease] = self.renewal(lease);
            }
        }
        // Those whose renewal is late even now have not been counted yet.
        let all: Vec<usize> = (0..LEASES).collect();
        self.renew(&all, &mut kept).await?;
        self.engine.shutdown().await;
        Ok(kept)
    }

    async fn receive(&self) -> Result<Delivery> {
        let request = ReceiveRequest::up_to(1).lease(LEASE).wait(WAIT);
        let deliveries = self.queue.receive(request).await?;
        deliveries.into_iter().next().context("a message did not come again after its lease")
    }

    /// Sets the timer of the next renewal.
    fn renewal(&self, lease: usize) -> C::Slot {
        let due_ns = monotonic_ns() + LEASE.as_nanos() as u64 / 3;
        self.sink.expect(lease, due_ns);
        self.contender.create(self.caller, due_ns, Alarm::of(&self.sink, lease as u64))
    }

    /// Renews leases; answers which of them had lapsed.
    async fn renew(&self, leases: &[usize], kept: &mut Kept) -> Result<Vec<usize>> {
        let entries = leases.iter().map(|lease| (self.held[*lease].receipt, Some(LEASE)));
        let answers = self.queue.extend(entries.collect()).await?;
        let mut lapsed = Vec::new();
        for (lease, answer) in leases.iter().zip(answers) {
            match answer {
                Ok(_) => kept.renewed += 1,
                Err(error) if error.kind() == ErrorKind::LeaseLost => lapsed.push(*lease),
                Err(error) => bail!("lease {lease} was not renewed: {error}"),
            }
        }
        kept.lapsed += lapsed.len() as u64;
        Ok(lapsed)
    }
}
