//! The second, wider contract of a store: queues, statistics, inspection, bulk moves.

use std::sync::Arc;

use async_trait::async_trait;

use crate::clock::Timestamp;
use crate::error::{Error, ErrorKind};
use crate::failures::FailedAttempt;
use crate::lease::ReceiptKey;
use crate::message::{Message, MessageId};
use crate::obstacles::{ObstacleAges, Obstacles};
use crate::queue::{QueueId, QueueInfo, QueueName, QueueSettings, QueueStats};

pub use crate::lifecycle::State as MessageState;

/// Which messages a peek shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeekFilter {
    /// Only this state; `None` for any.
    pub state: Option<MessageState>,
    /// At most so many, 1 to 1,000.
    pub limit: u32,
}

/// A message looked at without taking it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peeked {
    /// Its queue.
    pub queue: QueueId,
    /// The message; `attempts` counts deliveries so far.
    pub message: Message,
    /// Its state.
    pub state: MessageState,
    /// When the delay ends or the lease lapses.
    pub until: Option<Timestamp>,
    /// Its last failures, the oldest first, from the first one with a reason on (S6.8).
    pub failures: Vec<FailedAttempt>,
}

/// A bounded step of moving messages from one queue to another (redrive).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MoveRequest {
    /// Where ready and parked messages are taken from, in their order.
    pub source: QueueId,
    /// Where they go; `None` sends each back to the queue it was dead-lettered from, and leaves
    /// those without one.
    pub target: Option<QueueId>,
    /// At most so many in this step, 1 to 10,000.
    pub limit: u32,
}

/// Most messages of one [`ChosenMove`].
pub const CHOSEN_MAX: usize = 1_000;

/// Chosen messages to be moved from one queue to another (redrive).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenMove {
    /// Where the messages are, ready or parked.
    pub source: QueueId,
    /// Where they go; `None` sends each back to the queue it was dead-lettered from.
    pub target: Option<QueueId>,
    /// Which, at most [`CHOSEN_MAX`], in the order of the answers.
    pub messages: Vec<MessageId>,
}

impl ChosenMove {
    /// Checks the number of messages.
    ///
    /// # Errors
    /// `LimitExceeded` naming `redrive_ids_max`.
    pub fn check(&self) -> Result<(), Error> {
        let (most, asked) = (CHOSEN_MAX as u64, self.messages.len() as u64);
        if asked > most { Err(Error::limit("redrive_ids_max", most, asked)) } else { Ok(()) }
    }
}

/// The error for a message that no chosen move takes, because of its state.
pub fn not_free(message: MessageId, state: MessageState) -> Error {
    let text =
        format!("message {message} is {}; only ready and parked messages are moved", state.name());
    Error::new(ErrorKind::WrongState, text).with("message", message)
}

/// The error for a message that is to go back, and has nowhere to go back to.
pub fn no_way_back(message: MessageId, source: Option<&QueueName>) -> Error {
    let text = match source {
        Some(name) => format!(
            "message {message} was dead-lettered from {name}, which is not there any more; name \
             a target"
        ),
        None => format!("message {message} was not dead-lettered; name a target"),
    };
    Error::new(ErrorKind::QueueNotFound, text).with("message", message)
}

/// The room that a store takes and has, in bytes. `None` for what it has not or does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StoreSpace {
    /// The file of the data.
    pub file: Option<u64>,
    /// Of that, what is free to be used again.
    pub file_free: Option<u64>,
    /// The log beside it.
    pub log: Option<u64>,
    /// What is free on the disk for a process without special rights.
    pub disk_free: Option<u64>,
}

/// What became of a change of settings that were read before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reconfigured {
    /// They are the new ones now.
    Done(QueueInfo),
    /// They were changed meanwhile: nothing was done, and this is how they are.
    Others(QueueInfo),
}

/// Administration of a store. Every change is durable when it returns.
#[async_trait]
pub trait AdminStore: Send + Sync + 'static {
    /// The key that seals receipts; made once per store and kept.
    ///
    /// # Errors
    /// Storage errors.
    async fn receipt_key(&self) -> Result<ReceiptKey, Error>;

    /// Creates a queue, or returns the existing one with equal settings (S14.2). The flag says
    /// whether it is new.
    ///
    /// # Errors
    /// `QueueExists` when one exists with other settings; `LimitExceeded`; storage errors.
    async fn create_queue(
        &self,
        name: &QueueName,
        settings: &QueueSettings,
        now: Timestamp,
    ) -> Result<(QueueInfo, bool), Error>;

    /// Replaces a queue's settings.
    ///
    /// # Errors
    /// `QueueNotFound`; `Invalid` when `fifo` would change; storage errors.
    async fn configure(
        &self,
        queue: QueueId,
        settings: &QueueSettings,
        now: Timestamp,
    ) -> Result<QueueInfo, Error>;

    /// Replaces a queue's settings if they were not changed since `seen`, the
    /// [`QueueInfo::modified_at`] of what was read before: two who change different settings at the
    /// same time both get their way (S14.6).
    ///
    /// # Errors
    /// As [`AdminStore::configure`].
    async fn reconfigure(
        &self,
        queue: QueueId,
        seen: Timestamp,
        settings: &QueueSettings,
        now: Timestamp,
    ) -> Result<Reconfigured, Error>;

    /// Deletes a queue with all that is in it.
    ///
    /// # Errors
    /// `QueueNotFound`; storage errors.
    async fn delete_queue(&self, queue: QueueId) -> Result<(), Error>;

    /// Deletes a queue in which there is nothing: no message in any state, no open load, no
    /// deduplication id that is remembered; and whose settings were not changed since `seen`, the
    /// [`QueueInfo::modified_at`] of what was read before. Answers whether it did. A send that is
    /// answered before or meanwhile is not lost: either it is in the queue, which then stays, or
    /// it is refused with `QueueNotFound`. Called only with
    /// [`crate::Capabilities::deletes_if_empty`]; the default deletes nothing.
    ///
    /// # Errors
    /// `QueueNotFound`; storage errors.
    async fn delete_if_empty(&self, queue: QueueId, seen: Timestamp) -> Result<bool, Error> {
        let _ = (queue, seen);
        Ok(false)
    }

    /// All queues, by name.
    ///
    /// # Errors
    /// Storage errors.
    async fn queues(&self) -> Result<Vec<Arc<QueueInfo>>, Error>;

    /// What a queue holds; costs no walk over its messages.
    ///
    /// # Errors
    /// `QueueNotFound`; storage errors.
    async fn stats(&self, queue: QueueId, now: Timestamp) -> Result<QueueStats, Error>;

    /// What several queues hold, in the order asked, one by one as [`AdminStore::stats`] answers:
    /// a queue whose state is wrong takes no other with it. A store that can answer for many
    /// queues at once does so in bounded portions.
    ///
    /// # Errors
    /// Storage errors, when the store does not answer at all.
    async fn stats_of(
        &self,
        queues: &[QueueId],
        now: Timestamp,
    ) -> Result<Vec<Result<QueueStats, Error>>, Error> {
        let mut all = Vec::with_capacity(queues.len());
        for queue in queues {
            let stats = self.stats(*queue, now).await;
            if stats.as_ref().is_err_and(|e| e.kind() != ErrorKind::QueueNotFound) {
                self.check().await?;
            }
            all.push(stats);
        }
        Ok(all)
    }

    /// The room that the store takes and has; nothing (the default) where it is in no file.
    ///
    /// # Errors
    /// Storage errors.
    async fn space(&self) -> Result<StoreSpace, Error> {
        Ok(StoreSpace::default())
    }

    /// What others do to the store at this moment that holds Slipring up; nothing (the default)
    /// where nobody else can. Changes nothing and takes half a second at most, whatever others
    /// have locked: what could not be looked at by then is one of [`Obstacles::gaps`].
    ///
    /// # Errors
    /// Storage errors.
    async fn obstacles(&self, ages: &ObstacleAges, now: Timestamp) -> Result<Obstacles, Error> {
        let _ = (ages, now);
        Ok(Obstacles::default())
    }

    /// Looks at messages in hand-out order (delayed ones by due time) without taking them.
    ///
    /// # Errors
    /// `QueueNotFound`; storage errors.
    async fn peek(
        &self,
        queue: QueueId,
        filter: PeekFilter,
        now: Timestamp,
    ) -> Result<Vec<Peeked>, Error>;

    /// Looks at one message, wherever it is.
    ///
    /// # Errors
    /// Storage errors; `None` when there is no such message.
    async fn lookup(&self, message: MessageId, now: Timestamp) -> Result<Option<Peeked>, Error>;

    /// Removes one message that is not leased (S4.2); answers the queue it was in.
    ///
    /// # Errors
    /// `MessageGone`; `WrongState` when it is leased; storage errors.
    async fn cancel(&self, message: MessageId, now: Timestamp) -> Result<QueueId, Error>;

    /// Makes parked messages ready, or delayed ones when none is parked, in their order; answers
    /// how many.
    ///
    /// # Errors
    /// `QueueNotFound`; storage errors.
    async fn kick(&self, queue: QueueId, limit: u32, now: Timestamp) -> Result<u64, Error>;

    /// Makes one parked or delayed message ready.
    ///
    /// # Errors
    /// `MessageGone`; `WrongState` when it is ready or leased; storage errors.
    async fn kick_message(&self, message: MessageId, now: Timestamp) -> Result<QueueId, Error>;

    /// Removes up to `limit` messages in any state that were sent at or before `sent_until`
    /// (S14.5); answers how many. Call until it answers 0.
    ///
    /// # Errors
    /// `QueueNotFound`; storage errors.
    async fn purge(&self, queue: QueueId, limit: u32, sent_until: Timestamp) -> Result<u64, Error>;

    /// Moves messages between queues, atomically each; answers queues that got some, with how
    /// many. Empty when there is nothing left to move.
    ///
    /// # Errors
    /// `QueueNotFound`; storage errors.
    async fn move_messages(
        &self,
        request: MoveRequest,
        now: Timestamp,
    ) -> Result<Vec<(QueueId, u64)>, Error>;

    /// Moves chosen messages, atomically each, and answers one by one in which queue it is now. A
    /// message that is named twice is moved by its first entry.
    ///
    /// # Errors
    /// For the call as a whole: `QueueNotFound`, `Invalid` when source and target are the same,
    /// storage errors. For an entry: `MessageGone` when it is not in the source; `WrongState` when
    /// it is leased or delayed; `QueueNotFound` when it has no queue to go back to.
    async fn move_chosen(
        &self,
        request: &ChosenMove,
        now: Timestamp,
    ) -> Result<Vec<Result<QueueId, Error>>, Error>;

    /// Whether the store can serve at the moment; the error says why not.
    ///
    /// # Errors
    /// Storage errors.
    async fn check(&self) -> Result<(), Error>;

    /// Writes back what is cached (a checkpoint) and releases files. Calls after it fail with
    /// `Closed`.
    ///
    /// # Errors
    /// Storage errors; the data is as durable as before.
    async fn close(&self) -> Result<(), Error>;
}
