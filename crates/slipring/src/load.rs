//! Bulk loads: messages that many callers append in parts, all of which become ready at one
//! moment or not at all (S15).
//!
//! Not for sends of ordinary size: those are batches, see [`crate::store::Store::append`].

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::error::{Error, ErrorKind};
use crate::message::NewMessage;
use crate::queue::{QueueId, QueueSettings};

/// Most messages of one part of a load.
pub const PART_MESSAGES_MAX: usize = 10_000;
/// Most bytes of one part of a load.
pub const PART_BYTES_MAX: u64 = 64 << 20;
/// Most priorities of one load.
pub const PRIORITIES_MAX: usize = 16;
/// Most loads of a queue that may be open at the same time.
pub const OPEN_MAX: usize = 16;
/// An open load to which nothing was appended for so long is abandoned, and a published one is
/// forgotten.
pub const KEPT: Duration = Duration::from_secs(24 * 3600);

/// A load's number in its store; never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LoadId(pub u64);

impl fmt::Display for LoadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// How far a load is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadState {
    /// Parts may be appended; none of its messages is in its queue.
    Open,
    /// All of its messages have become ready.
    Published,
}

/// A load, as it was when it was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadInfo {
    /// Its number.
    pub id: LoadId,
    /// The queue that its messages are for.
    pub queue: QueueId,
    /// How far it is.
    pub state: LoadState,
    /// Parts that were appended.
    pub parts: u64,
    /// Their messages.
    pub messages: u64,
    /// Bytes of these messages that count against limits.
    pub bytes: u64,
    /// When it was begun.
    pub begun_at: Timestamp,
    /// When a part was appended last, or it was published.
    pub touched_at: Timestamp,
}

/// Messages to append to a load.
#[derive(Debug, Clone)]
pub struct LoadPart {
    /// The load.
    pub load: LoadId,
    /// The part's number; each is stored once.
    pub part: u32,
    /// A number that the caller makes of the part's content, so that one who goes on with a load
    /// knows whether a part is the one it was.
    pub checksum: u64,
    /// The present moment.
    pub now: Timestamp,
    /// At most [`PART_MESSAGES_MAX`], in their order.
    pub messages: Vec<NewMessage>,
}

/// A part that was appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartInfo {
    /// Its number.
    pub part: u32,
    /// How many messages it has.
    pub messages: u64,
    /// What the caller gave.
    pub checksum: u64,
}

/// Bulk loads of a store. Every change but those of [`LoadStore::append_load`] is durable when it
/// returns; a part may be missing after a loss of power until its load is published.
#[async_trait]
pub trait LoadStore: Send + Sync + 'static {
    /// Begins a load for a standard queue without a delay.
    ///
    /// # Errors
    /// `QueueNotFound`; `Invalid` for a FIFO queue and one with a delay; `LimitExceeded` when
    /// [`OPEN_MAX`] loads of the queue are open; storage errors.
    async fn begin_load(&self, queue: QueueId, now: Timestamp) -> Result<LoadInfo, Error>;

    /// Appends a part, whole or not at all; may be called by many at the same time. A part that is
    /// there already with the same number of messages and checksum is left as it is. Answers
    /// whether it was stored now.
    ///
    /// # Errors
    /// `LoadGone` when there is no such load (any more), `WrongState` when it is published;
    /// `Invalid` or `LimitExceeded` for a message that may not be loaded, with its index, and for
    /// a part that is there with other messages; storage errors. Nothing is stored then.
    async fn append_load(&self, part: LoadPart) -> Result<bool, Error>;

    /// Makes all messages of a load ready at one moment. A load that is published already stays as
    /// it is. `messages` is how many there have to be.
    ///
    /// # Errors
    /// `LoadGone`; `Invalid` when there are more or fewer messages; `LimitExceeded` when the queue
    /// has no room for them; storage errors. Nothing is ready then, and the load is as it was.
    async fn publish_load(
        &self,
        load: LoadId,
        messages: u64,
        now: Timestamp,
    ) -> Result<LoadInfo, Error>;

    /// Ends an open load, of which nothing is left.
    ///
    /// # Errors
    /// `LoadGone`; `WrongState` when it is published; storage errors.
    async fn abandon_load(&self, load: LoadId) -> Result<(), Error>;

    /// Open loads, and those published in the last 24 hours, by number.
    ///
    /// # Errors
    /// Storage errors.
    async fn loads(&self) -> Result<Vec<LoadInfo>, Error>;

    /// The parts of an open load from a number on, at most `limit`, in their order.
    ///
    /// # Errors
    /// `LoadGone`; `WrongState` when it is published; storage errors.
    async fn load_parts(&self, load: LoadId, from: u32, limit: u32)
    -> Result<Vec<PartInfo>, Error>;
}

/// Refuses a queue that no load may be for.
///
/// # Errors
/// `Invalid` for a FIFO queue and one with a delay.
pub fn check_queue(settings: &QueueSettings) -> Result<(), Error> {
    let invalid = |text: &str| Err(Error::new(ErrorKind::Invalid, text));
    if settings.fifo {
        return invalid("a load is for standard queues; send to a FIFO queue in batches");
    }
    if !settings.delay.is_zero() {
        return invalid("a load is for queues without a delay; set it to zero, or send batches");
    }
    Ok(())
}

/// Refuses a part that is too large, or has a message that may not be loaded.
///
/// # Errors
/// `Invalid` or `LimitExceeded`, with the index of the message where it is about one.
pub fn check_part(messages: &[NewMessage], settings: &QueueSettings) -> Result<(), Error> {
    let over = |limit, value, asked| Err(Error::limit(limit, value, asked));
    if messages.len() > PART_MESSAGES_MAX {
        let (most, asked) = (PART_MESSAGES_MAX as u64, messages.len() as u64);
        return over("load_part_messages_max", most, asked);
    }
    let mut bytes = 0;
    for (index, message) in messages.iter().enumerate() {
        let size = message.size_bytes();
        bytes += size;
        if size > settings.message_bytes_max {
            let error = Error::limit("message_bytes_max", settings.message_bytes_max, size);
            return Err(error.with("index", index));
        }
        let refused = match message {
            NewMessage { delay: Some(delay), .. } if !delay.is_zero() => "delay",
            NewMessage { dedup_id: Some(_), .. } => "deduplication id",
            _ => continue,
        };
        let text = format!("a message of a load has no {refused}; leave it out, or send batches");
        return Err(Error::new(ErrorKind::Invalid, text).with("index", index));
    }
    match bytes > PART_BYTES_MAX && messages.len() > 1 {
        true => over("load_part_bytes_max", PART_BYTES_MAX, bytes),
        false => Ok(()),
    }
}

/// The error for a load that is not there.
pub fn gone(load: LoadId) -> Error {
    let text = format!(
        "load {load} is not there: it was abandoned, its queue was deleted, nothing was appended \
         for 24 hours, or it was published longer ago"
    );
    Error::new(ErrorKind::LoadGone, text).with("load", load)
}

/// The error for a load that is published when it has to be open.
pub fn published(load: LoadId) -> Error {
    let text = format!("load {load} is published: its messages are in the queue");
    Error::new(ErrorKind::WrongState, text).with("load", load)
}

/// The error for a part that is there with other messages.
pub fn other_part(load: LoadId, part: u32) -> Error {
    let text = format!(
        "part {part} of load {load} is there with other messages, group, priority or headers"
    );
    Error::new(ErrorKind::Invalid, text).with("load", load).with("part", part)
}

/// The error for a load that is to be published with another number of messages than it has.
pub fn other_count(load: LoadId, has: u64, asked: u64) -> Error {
    let text = format!("load {load} has {has} messages, but {asked} were to be published");
    Error::new(ErrorKind::Invalid, text).with("load", load)
}

/// The error for more priorities than a load may have.
pub fn too_many_priorities(index: usize) -> Error {
    let most = PRIORITIES_MAX as u64;
    Error::limit("load_priorities_max", most, most + 1).with("index", index)
}

/// The error for more open loads than a queue may have.
pub fn too_many(open: u64) -> Error {
    Error::limit("loads_open_max", OPEN_MAX as u64, open + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(messages: &[NewMessage]) -> String {
        check_part(messages, &QueueSettings::default()).expect_err("it is refused").to_string()
    }

    #[test]
    fn what_a_load_cannot_keep_is_refused_with_the_place_of_the_message() {
        // S15.2
        let plain = NewMessage::new("a");
        for (message, word) in [
            (plain.clone().delay(Duration::from_secs(1)), "no delay"),
            (plain.clone().dedup_id("x"), "no deduplication id"),
            (NewMessage::new(vec![0; 2 << 20]), "message_bytes_max"),
        ] {
            let error = refusal(&[plain.clone(), message]);
            assert!(error.contains(word) && error.contains("index=1"), "{error}");
        }
        let whole = [plain.clone().delay(Duration::ZERO), plain.priority(3).group("g")];
        check_part(&whole, &QueueSettings::default()).expect("these may be loaded");
    }

    #[test]
    fn a_part_has_at_most_ten_thousand_messages() {
        let many = vec![NewMessage::new("a"); PART_MESSAGES_MAX + 1];
        assert!(refusal(&many).contains("load_part_messages_max"));
    }

    #[test]
    fn queues_whose_order_or_delay_a_load_cannot_keep_are_refused() {
        let delay = Duration::from_secs(1);
        for settings in [
            QueueSettings { fifo: true, ..QueueSettings::default() },
            QueueSettings { delay, ..QueueSettings::default() },
        ] {
            assert_eq!(check_queue(&settings).expect_err("refused").kind(), ErrorKind::Invalid);
        }
    }
}
