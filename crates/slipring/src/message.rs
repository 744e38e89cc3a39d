//! What is sent and what is delivered.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::lease::Receipt;
use crate::queue::QueueName;

/// A message's number: from 1, unique in its store for ever, growing within a queue and priority.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct MessageId(pub u64);

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// How urgent a message is: 0 is the most urgent, 2³²−1 the least. The default is 1024.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Priority(pub u32);

impl Priority {
    /// Messages with a priority below this count as urgent in the statistics (beanstalkd's rule).
    pub const URGENT_BELOW: Priority = Priority(1024);
}

impl Default for Priority {
    fn default() -> Priority {
        Priority(1024)
    }
}

/// Named texts that travel with a message; protocols keep their attributes here.
pub type Headers = BTreeMap<String, String>;

/// A message to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMessage {
    /// The content; its size is limited by the queue's `message_bytes_max`.
    pub body: Bytes,
    /// Hand-out order; ignored in FIFO queues (S7.4).
    pub priority: Priority,
    /// How long the message stays invisible; `None` takes the queue's delay.
    pub delay: Option<Duration>,
    /// This message's own visibility timeout (beanstalkd's TTR); `None` takes that of the receive
    /// or queue.
    pub lease: Option<Duration>,
    /// The message group; orders FIFO queues, is only carried along elsewhere.
    pub group: Option<Arc<str>>,
    /// Deduplication id (S8).
    pub dedup_id: Option<Arc<str>>,
    /// Named texts that travel along.
    pub headers: Option<Arc<Headers>>,
}

impl NewMessage {
    /// A message with this body and defaults for everything else.
    pub fn new(body: impl Into<Bytes>) -> NewMessage {
        NewMessage {
            body: body.into(),
            priority: Priority::default(),
            delay: None,
            lease: None,
            group: None,
            dedup_id: None,
            headers: None,
        }
    }

    /// The same message with a priority.
    #[must_use]
    pub fn priority(mut self, priority: u32) -> NewMessage {
        self.priority = Priority(priority);
        self
    }

    /// The same message with a delay.
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> NewMessage {
        self.delay = Some(delay);
        self
    }

    /// The same message in a group.
    #[must_use]
    pub fn group(mut self, group: impl Into<Arc<str>>) -> NewMessage {
        self.group = Some(group.into());
        self
    }

    /// The same message with a deduplication id.
    #[must_use]
    pub fn dedup_id(mut self, id: impl Into<Arc<str>>) -> NewMessage {
        self.dedup_id = Some(id.into());
        self
    }

    /// Bytes that count against limits: body, headers, group and deduplication id.
    pub fn size_bytes(&self) -> u64 {
        let headers: usize = match &self.headers {
            Some(headers) => headers.iter().map(|(k, v)| k.len() + v.len()).sum(),
            None => 0,
        };
        let names = self.group.as_ref().map_or(0, |g| g.len())
            + self.dedup_id.as_ref().map_or(0, |d| d.len());
        (self.body.len() + headers + names) as u64
    }
}

/// A stored message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its number.
    pub id: MessageId,
    /// The content as sent.
    pub body: Bytes,
    /// Hand-out order.
    pub priority: Priority,
    /// When the store accepted it.
    pub sent_at: Timestamp,
    /// Deliveries so far, the present one included; 0 before the first.
    pub attempts: u32,
    /// Deliveries in the queues it was dead-lettered from, which count for nothing here (S6.4).
    pub earlier_attempts: u32,
    /// When it was first handed out.
    pub first_received_at: Option<Timestamp>,
    /// The delay it was sent (or last nacked) with.
    pub delay: Duration,
    /// Its own visibility timeout, if it was sent with one.
    pub lease: Option<Duration>,
    /// The message group.
    pub group: Option<Arc<str>>,
    /// The deduplication id it was sent with.
    pub dedup_id: Option<Arc<str>>,
    /// Named texts as sent.
    pub headers: Option<Arc<Headers>>,
    /// The queue it was dead-lettered from, if it was.
    pub dead_letter_source: Option<QueueName>,
}

/// A message under a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The message; `attempts` includes this delivery.
    pub message: Message,
    /// What settles it.
    pub receipt: Receipt,
    /// When the lease lapses.
    pub deadline: Timestamp,
}
