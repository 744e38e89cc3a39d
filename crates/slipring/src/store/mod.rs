//! The contract of a store: queue verbs only, all batch-shaped. Administration is
//! [`crate::AdminStore`].
//!
//! Every verb takes the time from its caller (S13.1) and leaves nothing behind when it fails. A
//! store is correct when `slipring-conformance` passes over it.

mod calls;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use crate::admin::AdminStore;
use crate::clock::{Clock, Timestamp};
use crate::deal::FAILING_SHARE;
use crate::error::{Error, ErrorKind};
use crate::message::{Delivery, MessageId};
use crate::queue::QueueId;

pub use crate::capabilities::Capabilities;
pub use calls::{
    AppendBatch, Appended, ClaimAny, ClaimBatch, ClaimEnd, Claimed, ClaimedAny, Deadline,
    Deadlines, Demand, ExtendBatch, Head, Pass, Prolong, Sent, SettleBatch, Settled,
};

/// The storage of messages. All verbs are safe to call from many tasks at once; dropping the
/// returned future does not undo what the store already took on.
#[async_trait]
pub trait Store: AdminStore + crate::load::LoadStore {
    /// What this store can do.
    fn capabilities(&self) -> Capabilities;

    /// The clock that all processes share that have this store open (S13.2). `None` (the default)
    /// where there is no such clock: then each engine has its own. Verbs take the moment as an
    /// argument and never ask this clock.
    fn clock(&self) -> Option<Arc<dyn Clock>> {
        None
    }

    /// Stores messages; durable when it returns (S1). Answers message by message; the messages of
    /// a refused unit all carry the unit's error.
    ///
    /// # Errors
    /// For the call as a whole: `QueueNotFound` and storage errors; nothing is stored then.
    async fn append(&self, batch: AppendBatch) -> Result<Vec<Result<Sent, Error>>, Error>;

    /// Hands out ready messages to demands in order. Not flushed before it returns (S1.4).
    ///
    /// # Errors
    /// `QueueNotFound` and storage errors; nothing is handed out then.
    async fn claim(&self, batch: ClaimBatch) -> Result<Claimed, Error>;

    /// As [`Store::claim`], for demands that other queues could serve meanwhile: where others keep
    /// the queue to themselves, it ends as [`ClaimEnd::Held`] as early as the store can.
    ///
    /// # Errors
    /// As [`Store::claim`].
    async fn claim_briefly(&self, batch: ClaimBatch) -> Result<Claimed, Error> {
        self.claim(batch).await
    }

    /// Stores messages, then hands out ready ones of the same queue to demands in order, these
    /// among them. Durable as [`Store::append`] when it returns, the hand-out as little as that of
    /// [`Store::claim`]. Called only with [`Capabilities::appends_and_claims`].
    ///
    /// # Errors
    /// As [`Store::append`]; nothing is stored and nothing is handed out then.
    async fn append_and_claim(
        &self,
        batch: AppendBatch,
        demands: Vec<Demand>,
    ) -> Result<Appended, Error> {
        let (queue, now) = (batch.queue, batch.now);
        let sent = self.append(batch).await?;
        let claimed = self.claim(ClaimBatch { queue, now, demands }).await;
        Ok(Appended { sent, claimed })
    }

    /// Hands out ready messages of several queues: the best priority first, then the oldest send
    /// (S7.6). It may give fewer than are wanted and ready, but gives one if there is one. Not
    /// flushed before it returns (S1.4).
    ///
    /// A store that has no call of its own for it looks at the heads and claims from the best
    /// queue: one message, or all that are wanted where no other queue has any.
    ///
    /// # Errors
    /// Storage errors; nothing is handed out then.
    async fn claim_any(&self, claim: ClaimAny) -> Result<ClaimedAny, Error> {
        let ClaimAny { queues, now, demand } = claim;
        let mut heads = self.heads(&queues, now).await?;
        // Nothing is counted here: one moment of a hundred is that of failing messages (S11.1).
        if now.as_millis().is_multiple_of(u64::from(FAILING_SHARE)) {
            for head in heads.iter_mut().flatten().filter(|head| head.failing) {
                (head.failing, head.sent_at) = (false, Timestamp::from_millis(0));
            }
        }
        let mut ends: Vec<ClaimEnd> = heads
            .iter()
            .map(|head| if head.is_some() { ClaimEnd::More } else { ClaimEnd::Drained })
            .collect();
        let mut open: Vec<usize> =
            (0..queues.len()).filter(|at| ends[*at] == ClaimEnd::More).collect();
        open.sort_by_key(|at| heads[*at]);
        let mut open = open.into_iter().peekable();
        // One that promised more and gave nothing is passed over; another call sees what there is.
        while let Some(best) = open.next() {
            let up_to = if open.peek().is_some() { 1 } else { demand.up_to };
            let demands = vec![Demand { up_to, ..demand }];
            let batch = ClaimBatch { queue: queues[best], now, demands };
            let claimed = self.claim_briefly(batch).await;
            let Claimed { deliveries, end } = match claimed {
                // It was deleted since its head was seen.
                Err(error) if error.kind() == ErrorKind::QueueNotFound => {
                    ends[best] = ClaimEnd::Drained;
                    continue;
                }
                claimed => claimed?,
            };
            ends[best] = end;
            let deliveries: Vec<Delivery> = deliveries.into_iter().flatten().collect();
            if !deliveries.is_empty() {
                return Ok(ClaimedAny { deliveries, ends });
            }
        }
        Ok(ClaimedAny { deliveries: Vec::new(), ends })
    }

    /// Hands out one given message that is not leased, in whatever state it is (beanstalkd's
    /// reserve-job).
    ///
    /// # Errors
    /// `MessageGone` when there is no such message in the queue, `WrongState` when a lease holds
    /// it.
    async fn claim_message(
        &self,
        queue: QueueId,
        message: MessageId,
        demand: Demand,
        now: Timestamp,
    ) -> Result<Delivery, Error>;

    /// The first ready message of each queue; `None` for an empty, paused or unknown one.
    ///
    /// # Errors
    /// Storage errors.
    async fn heads(&self, queues: &[QueueId], now: Timestamp) -> Result<Vec<Option<Head>>, Error>;

    /// Ends leases; durable when it returns (S1.3). Answers entry by entry (S9.3): `LeaseLost` or
    /// `MessageGone`.
    ///
    /// # Errors
    /// For the call as a whole: storage errors; nothing is settled then.
    async fn settle(&self, batch: SettleBatch) -> Result<Vec<Result<Settled, Error>>, Error>;

    /// Prolongs leases to now + duration and answers the new deadlines, entry by entry.
    ///
    /// # Errors
    /// For the call as a whole: storage errors.
    async fn extend(&self, batch: ExtendBatch) -> Result<Vec<Result<Timestamp, Error>>, Error>;

    /// Makes ready what is due in any queue (delays, backoff, ends of pauses); bounded work per
    /// call. For stores without [`Capabilities::passes_by_queue`], and for tools.
    ///
    /// # Errors
    /// Storage errors.
    async fn due(&self, now: Timestamp) -> Result<Pass, Error>;

    /// Ends the leases of any queue whose deadline has passed (S5.2, S6.2); bounded work per call.
    /// For stores without [`Capabilities::passes_by_queue`], and for tools.
    ///
    /// # Errors
    /// Storage errors.
    async fn expire(&self, now: Timestamp) -> Result<Pass, Error>;

    /// As [`Store::due`], of one queue: a short turn, bounded by count, bytes and time, and
    /// independent of what the other queues hold (S5.6). A queue that is not there has nothing to
    /// do. Called only with [`Capabilities::passes_by_queue`].
    ///
    /// # Errors
    /// Storage errors.
    async fn due_in(&self, _queue: QueueId, now: Timestamp) -> Result<Pass, Error> {
        self.due(now).await
    }

    /// As [`Store::expire`], of one queue, within the bounds of [`Store::due_in`]. Dead letters
    /// become ready in another queue, which the answer names.
    ///
    /// # Errors
    /// Storage errors.
    async fn expire_in(&self, _queue: QueueId, now: Timestamp) -> Result<Pass, Error> {
        self.expire(now).await
    }

    /// A part of the deadlines of all queues, from a place on: 0, or where the part before says.
    /// Bounded work per call. The ends of pauses need not be among them: they are in the settings.
    /// Called only with [`Capabilities::passes_by_queue`].
    ///
    /// # Errors
    /// Storage errors.
    async fn deadlines(&self, _from: u64) -> Result<Deadlines, Error> {
        Ok(Deadlines::default())
    }

    /// Removes what retention and deduplication windows allow to forget; bounded work per call.
    ///
    /// # Errors
    /// Storage errors.
    async fn prune(&self, now: Timestamp) -> Result<Pass, Error>;

    /// A number that moves whenever another process has changed the data; cheap, called many
    /// times a second. A store that cannot tell its own changes from others' moves it for both.
    /// Constant for stores that are not shared.
    ///
    /// # Errors
    /// Storage errors.
    async fn foreign_changes(&self) -> Result<u64, Error>;

    /// Waits, at most for `within`, until [`Store::foreign_changes`] may answer another number than
    /// it did last; dropping the future ends the wait. For stores where a wait costs less than
    /// asking many times. Answers false at once where it does not, or where something is under way
    /// that only asking tells.
    ///
    /// # Errors
    /// Storage errors.
    async fn await_foreign_change(&self, _within: Duration) -> Result<bool, Error> {
        Ok(false)
    }

    /// A number that moves whenever another process has changed the list of queues or the settings
    /// of one; may also move for other reasons. A store whose [`Store::foreign_changes`] moves for
    /// its own work too answers here more exactly, so that the list is not read for nothing.
    ///
    /// # Errors
    /// Storage errors.
    async fn queue_changes(&self) -> Result<u64, Error> {
        self.foreign_changes().await
    }
}
