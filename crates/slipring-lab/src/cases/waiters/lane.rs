//! A queue with messages on it: who sends, who receives, and what became of each message.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use super::contender::{Contender, Place};
use super::load::Tally;
use crate::body::{self, Content};
use crate::ledger::{Ledger, MESSAGES_MAX};
use crate::time::monotonic_ns;

/// Senders pause while so many messages are on their way, so that the queue does not grow.
const ON_THEIR_WAY_MAX: u64 = 1_000;
/// What was sent comes within so long.
const ARRIVE_WITHIN: Duration = Duration::from_secs(60);
const MOMENT: Duration = Duration::from_millis(1);

/// One queue with its messages.
#[derive(Clone)]
pub struct Lane {
    contender: Arc<Contender>,
    place: Place,
    /// Which messages were sent and received.
    pub ledger: Arc<Ledger>,
    /// From the send to the return of the receive.
    pub tally: Arc<Tally>,
    /// No more is to be sent.
    pub sent: Arc<AtomicBool>,
    /// No more is to be received.
    pub end: Arc<AtomicBool>,
}

impl Lane {
    /// A queue without messages.
    ///
    /// # Errors
    /// As [`Tally::new`].
    pub fn new(contender: &Arc<Contender>, place: Place) -> Result<Lane> {
        Ok(Lane {
            contender: Arc::clone(contender),
            place,
            ledger: Arc::new(Ledger::new(0, MESSAGES_MAX / 16)),
            tally: Arc::new(Tally::new()?),
            sent: Arc::default(),
            end: Arc::default(),
        })
    }

    async fn send_one(&self) -> Result<()> {
        let content = Content { number: self.ledger.take(1)?, due_ns: monotonic_ns() };
        self.contender.send(self.place, &body::write(content)).await
    }

    /// Sends `rate` messages a second. The schedule only spaces them: each counts from its own
    /// send.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn send_at(self, rate: f64) -> Result<()> {
        let began = tokio::time::Instant::now();
        for index in 1_u64.. {
            tokio::time::sleep_until(began + Duration::from_secs_f64(index as f64 / rate)).await;
            if self.sent.load(Ordering::Relaxed) {
                break;
            }
            self.send_one().await?;
        }
        Ok(())
    }

    /// Sends as fast as it is answered.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn send_all(self) -> Result<()> {
        while !self.sent.load(Ordering::Relaxed) {
            if self.ledger.outstanding() > ON_THEIR_WAY_MAX {
                tokio::time::sleep(MOMENT).await;
            } else {
                self.send_one().await?;
            }
        }
        Ok(())
    }

    /// Receives and acks one message after the other; each receive waits for `wait`.
    ///
    /// # Errors
    /// Those of the engine; when a body is damaged.
    pub async fn receive(self, wait: Duration) -> Result<()> {
        let stripe = self.tally.stripe();
        while !self.end.load(Ordering::Relaxed) {
            let Some(held) = self.contender.receive(self.place, wait).await? else { continue };
            let now_ns = monotonic_ns();
            let content = body::read(held.body())?;
            self.tally.add(stripe, now_ns.saturating_sub(content.due_ns));
            self.contender.ack(self.place, held).await?;
            self.ledger.note(content.number)?;
        }
        Ok(())
    }

    /// Waits until all that was sent has been received.
    ///
    /// # Errors
    /// When that takes too long.
    pub fn arrived(&self) -> Result<()> {
        let deadline = Instant::now() + ARRIVE_WITHIN;
        while self.ledger.outstanding() > 0 {
            if Instant::now() > deadline {
                let missing = self.ledger.outstanding();
                bail!("{missing} messages of queue {:?} did not come", self.place);
            }
            std::thread::sleep(MOMENT);
        }
        Ok(())
    }
}
