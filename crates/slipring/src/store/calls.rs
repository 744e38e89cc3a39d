//! What the verbs of a store are asked, and what they answer.

use std::time::Duration;

use crate::clock::Timestamp;
use crate::error::Error;
use crate::lease::Receipt;
use crate::lifecycle::Settlement;
use crate::message::{Delivery, MessageId, NewMessage, Priority};
use crate::queue::QueueId;

#[cfg(doc)]
use super::Store;

/// Messages for one queue.
#[derive(Debug)]
pub struct AppendBatch {
    /// The queue.
    pub queue: QueueId,
    /// The present moment.
    pub now: Timestamp,
    /// All messages, unit after unit.
    pub messages: Vec<NewMessage>,
    /// How many messages each unit has; a unit is stored whole or not at all (S9.1).
    pub units: Vec<u32>,
}

/// A message that was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// Its number; the first message's number when it is a duplicate.
    pub id: MessageId,
    /// Nothing was stored, for the id was seen within the window (S8.1).
    pub duplicate: bool,
    /// When a pass has to look at it: when it becomes ready, or before that where the store has
    /// something to prepare. `None` when it is ready now.
    pub due: Option<Timestamp>,
}

/// What one receive wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Demand {
    /// At most so many messages; at least 1.
    pub up_to: u32,
    /// How long the lease lasts; `None` takes the message's or queue's.
    pub lease: Option<Duration>,
    /// The lease belongs to a connection of this process: it ends when the process does (see
    /// failure table).
    pub session: bool,
}

/// Receives of one queue that wait at the same time, first come first.
#[derive(Debug)]
pub struct ClaimBatch {
    /// The queue.
    pub queue: QueueId,
    /// The present moment.
    pub now: Timestamp,
    /// The receives in order of arrival.
    pub demands: Vec<Demand>,
}

/// Why a claim gave no more than it gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimEnd {
    /// Every demand was served in full, or there may be more messages.
    More,
    /// No message is ready any more, also where every demand was served in full: a store that says
    /// so saves the next receive that waits a look.
    Drained,
    /// The queue's `in_flight_max` is reached.
    InFlightLimit,
    /// The queue is paused.
    Paused,
    /// Others keep the queue to themselves for longer than a claim waits. It may have messages.
    Held,
}

/// The answer to a claim.
#[derive(Debug)]
pub struct Claimed {
    /// One list for each demand, possibly empty.
    pub deliveries: Vec<Vec<Delivery>>,
    /// Why there was no more.
    pub end: ClaimEnd,
}

/// The answer to [`Store::append_and_claim`].
#[derive(Debug)]
pub struct Appended {
    /// As [`Store::append`] answers.
    pub sent: Vec<Result<Sent, Error>>,
    /// As [`Store::claim`] answers, after the messages were stored. Where it failed nothing was
    /// handed out, and the messages are stored all the same.
    pub claimed: Result<Claimed, Error>,
}

/// A receive over several queues.
#[derive(Debug, Clone)]
pub struct ClaimAny {
    /// The queues, each once.
    pub queues: Vec<QueueId>,
    /// The present moment.
    pub now: Timestamp,
    /// What the receive wants.
    pub demand: Demand,
}

/// The answer to a claim over several queues.
#[derive(Debug)]
pub struct ClaimedAny {
    /// The messages, in order.
    pub deliveries: Vec<Delivery>,
    /// Why each queue gave no more. A queue that is unknown is drained.
    pub ends: Vec<ClaimEnd>,
}

/// Settlements of one queue.
#[derive(Debug)]
pub struct SettleBatch {
    /// The queue.
    pub queue: QueueId,
    /// The present moment.
    pub now: Timestamp,
    /// What is settled and how.
    pub entries: Vec<(Receipt, Settlement)>,
}

/// What became of a settled message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// It is gone.
    Done,
    /// It is ready again.
    Ready,
    /// It is ready again at the moment.
    Delayed(Timestamp),
    /// It is parked.
    Parked,
    /// It is ready in another queue.
    DeadLettered(QueueId),
}

/// Lease prolongations of one queue.
#[derive(Debug)]
pub struct ExtendBatch {
    /// The queue.
    pub queue: QueueId,
    /// The present moment.
    pub now: Timestamp,
    /// Which lease, and how it is prolonged.
    pub entries: Vec<(Receipt, Prolong)>,
}

/// How a lease is prolonged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Prolong {
    /// How long from now; `None` takes the message's or queue's own duration.
    pub lease: Option<Duration>,
    /// Whether the lease may be over, if no other receive got the message since (S3.7).
    pub take_up: bool,
}

impl From<Option<Duration>> for Prolong {
    fn from(lease: Option<Duration>) -> Prolong {
        Prolong { lease, take_up: false }
    }
}

/// The first ready message of a queue, for receives over several queues (S7.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Head {
    /// Whether there are only failing messages (S11.1): such a queue comes after others.
    pub failing: bool,
    /// Its priority.
    pub priority: Priority,
    /// When it was sent.
    pub sent_at: Timestamp,
    /// Its number.
    pub id: MessageId,
}

/// What a pass over deadlines did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pass {
    /// Queues in which a receive may find what it did not find before, with how many messages were
    /// concerned: they became ready; or they left otherwise, which frees the next one of a FIFO
    /// group and makes room below the queue's `in_flight_max`.
    ///
    /// Of a pass over the leases of one queue, the number of that queue is how many leases have
    /// ended, and that of another one how many dead letters it got. Of one over retention they are
    /// the messages that were removed.
    pub ready: Vec<(QueueId, u64)>,
    /// How many messages left for good or were parked.
    pub removed: u64,
    /// When the next pass has something to do; not later than now when the pass was cut short.
    pub next: Option<Timestamp>,
}

/// When a queue has something to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadline {
    /// The queue.
    pub queue: QueueId,
    /// When its next message is due, or [`Store::due_in`] has something to prepare.
    pub due: Option<Timestamp>,
    /// When its next lease lapses.
    pub lapse: Option<Timestamp>,
}

/// A part of the deadlines of all queues.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Deadlines {
    /// Queues that have something to do at some time. One may come several times, in one part or
    /// in several; then the earliest of its moments counts.
    pub queues: Vec<Deadline>,
    /// Where the next part begins; `None` when this was the last one.
    pub next: Option<u64>,
}
