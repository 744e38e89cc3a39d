//! The JSON shapes of the admin API. `openapi.json` describes the same.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use slipring::{
    Delivery, FailedAttempt, Headers, Message, MessageState, NewMessage, Peeked, Priority,
    QueueCounts, QueueSettings, QueueStats,
};

use super::failure::Failure;

mod passes;

pub use passes::{Kick, Kicked, MovedView, Progress, Redrive};

/// A queue. Times are milliseconds since 1970-01-01 UTC.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueView {
    /// Its name.
    pub name: String,
    /// Its number in the store.
    pub id: u64,
    /// When it was made.
    pub created_at_ms: u64,
    /// When its settings last changed.
    pub modified_at_ms: u64,
    /// Receives that wait on it in this server.
    pub waiting: u64,
    /// Its settings.
    pub settings: QueueSettings,
    /// What it holds; `None` in a list where the store could not say.
    pub stats: Option<QueueStats>,
    /// What went through it in this server since it got to know the queue; `None` from a server
    /// that does not say.
    pub counts: Option<QueueCounts>,
}

/// A page of queues.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuePage {
    /// The queues, by name.
    pub queues: Vec<QueueView>,
    /// Ask for the queues after this name; `None` on the last page.
    pub next: Option<String>,
}

/// A queue to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewQueue {
    /// Its name.
    pub name: String,
    /// Its settings; what is left out, or null, takes the default. Without any, a queue that is
    /// there is accepted as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<Map<String, Value>>,
}

/// A pause.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pause {
    /// How long in milliseconds; without it the queue is paused until it is resumed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub for_ms: Option<u64>,
}

/// A body: text where it is text, base64 otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Content {
    /// UTF-8.
    #[serde(rename = "body")]
    Text(String),
    /// Base64 of bytes that are not UTF-8.
    #[serde(rename = "body_base64")]
    Base64(String),
}

impl Content {
    /// The content for bytes.
    pub fn of(bytes: &[u8]) -> Content {
        match std::str::from_utf8(bytes) {
            Ok(text) => Content::Text(text.to_owned()),
            Err(_) => Content::Base64(STANDARD.encode(bytes)),
        }
    }

    /// The bytes.
    ///
    /// # Errors
    /// Text that is no base64.
    pub fn into_bytes(self) -> Result<Vec<u8>, String> {
        match self {
            Content::Text(text) => Ok(text.into_bytes()),
            Content::Base64(text) => {
                STANDARD.decode(text).map_err(|error| format!("body_base64: {error}"))
            }
        }
    }
}

/// A message to be sent. It has a `body` or a `body_base64`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outgoing {
    /// The body as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// The body as base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_base64: Option<String>,
    /// 0 is the most urgent; default 1024.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u32>,
    /// How long it stays invisible; default the queue's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
    /// Its own visibility timeout; default the queue's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u64>,
    /// Its group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Its deduplication id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dedup_id: Option<String>,
    /// Named texts that travel along.
    #[serde(default, skip_serializing_if = "Headers::is_empty")]
    pub headers: Headers,
}

impl Outgoing {
    pub(super) fn into_message(self) -> Result<NewMessage, Failure> {
        self.message().map_err(Failure::invalid)
    }

    /// The message that it describes.
    ///
    /// # Errors
    /// What is wrong with its body, for people.
    pub fn message(self) -> Result<NewMessage, String> {
        let body = match (self.body, self.body_base64) {
            (Some(text), None) => text.into_bytes(),
            (None, Some(text)) => {
                STANDARD.decode(text).map_err(|error| format!("body_base64: {error}"))?
            }
            _ => return Err("a message has either body or body_base64".to_owned()),
        };
        let mut message = NewMessage::new(body);
        message.priority = self.priority.map_or_else(Priority::default, Priority);
        message.delay = self.delay_ms.map(Duration::from_millis);
        message.lease = self.lease_ms.map(Duration::from_millis);
        message.group = self.group.map(Arc::from);
        message.dedup_id = self.dedup_id.map(Arc::from);
        message.headers = Some(self.headers).filter(|headers| !headers.is_empty()).map(Arc::new);
        Ok(message)
    }
}

/// Messages to be sent, all or none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Send {
    /// The messages, in order.
    pub messages: Vec<Outgoing>,
}

/// A message that was accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentView {
    /// Its number.
    pub id: u64,
    /// Nothing was stored: the deduplication id was seen before.
    pub duplicate: bool,
    /// When it becomes ready; `None` when it is ready now.
    pub due_ms: Option<u64>,
}

/// The answer to a send.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SendAnswer {
    /// Message by message.
    pub sent: Vec<SentView>,
}

/// A stored message. Times are milliseconds since 1970-01-01 UTC.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageView {
    /// Its number.
    pub id: u64,
    /// Its queue.
    pub queue: String,
    /// Where it stands.
    pub state: MessageState,
    /// When the delay ends or the lease lapses.
    pub until_ms: Option<u64>,
    /// The body.
    #[serde(flatten)]
    pub content: Content,
    /// 0 is the most urgent.
    pub priority: u32,
    /// When it was sent.
    pub sent_at_ms: u64,
    /// Deliveries so far.
    pub attempts: u32,
    /// When it was first handed out.
    pub first_received_at_ms: Option<u64>,
    /// Its group.
    pub group: Option<String>,
    /// Its deduplication id.
    pub dedup_id: Option<String>,
    /// Named texts as sent.
    pub headers: Headers,
    /// The queue it was dead-lettered from.
    pub dead_letter_source: Option<String>,
    /// Of a message that is looked at: its last failures, the oldest first, from the first one with
    /// a reason on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<FailedAttempt>,
}

impl MessageView {
    fn of(message: &Message, queue: String, state: MessageState, until: Option<u64>) -> Self {
        MessageView {
            id: message.id.0,
            queue,
            state,
            until_ms: until,
            content: Content::of(&message.body),
            priority: message.priority.0,
            sent_at_ms: message.sent_at.as_millis(),
            attempts: message.attempts,
            first_received_at_ms: message.first_received_at.map(|at| at.as_millis()),
            group: message.group.as_deref().map(str::to_owned),
            dedup_id: message.dedup_id.as_deref().map(str::to_owned),
            headers: message.headers.as_deref().cloned().unwrap_or_default(),
            dead_letter_source: message.dead_letter_source.as_ref().map(ToString::to_string),
            failures: Vec::new(),
        }
    }

    pub(super) fn peeked(peeked: &Peeked, queue: String) -> MessageView {
        let until = peeked.until.map(|until| until.as_millis());
        let view = MessageView::of(&peeked.message, queue, peeked.state, until);
        MessageView { failures: peeked.failures.clone(), ..view }
    }
}

/// Messages looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageList {
    /// The messages, in hand-out order.
    pub messages: Vec<MessageView>,
    /// Ask for the messages after so many; `None` on the last page.
    #[serde(default)]
    pub next: Option<u32>,
    /// Of a look by group or text: among how many of the first messages it has looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub searched: Option<u32>,
}

/// What a receive asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Receive {
    /// At most so many messages, 1 to 100; default 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub up_to: Option<u32>,
    /// How long to wait for a first message, up to 10 minutes; default 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
    /// How long the lease lasts; default the message's or the queue's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u64>,
}

/// A message in the caller's hands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryView {
    /// The message.
    #[serde(flatten)]
    pub message: MessageView,
    /// What acks it.
    pub receipt: String,
}

impl DeliveryView {
    pub(super) fn of(delivery: &Delivery, queue: String, receipt: String) -> DeliveryView {
        let until = Some(delivery.deadline.as_millis());
        let state = MessageState::Leased;
        DeliveryView { message: MessageView::of(&delivery.message, queue, state, until), receipt }
    }
}

/// The answer to a receive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiveAnswer {
    /// The messages; none when the wait was over.
    pub deliveries: Vec<DeliveryView>,
}

/// Leases to end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settle {
    /// The receipts, 1 to 1,000.
    pub receipts: Vec<String>,
    /// For a nack: how long the messages wait; default the queue's backoff.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
    /// For a nack: why they failed, which is kept with the messages; a text of more than 4 KiB is
    /// cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Leases to prolong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Extend {
    /// The receipts, 1 to 1,000.
    pub receipts: Vec<String>,
    /// How long the leases last from now on; default the message's or the queue's. 0 ends them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u64>,
}

/// The answer for one receipt.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SettledView {
    /// The receipt.
    pub receipt: String,
    /// Why it was not settled or prolonged; `None` when it was.
    pub error: Option<Failure>,
}

/// The answer to an ack, a nack or an extend.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SettleAnswer {
    /// Receipt by receipt, in order.
    pub results: Vec<SettledView>,
}

/// A wait class's figures; see `docs/operating/metrics.md`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitView {
    /// The class.
    pub name: String,
    /// How often the thing was taken.
    pub acquisitions: u64,
    /// How often it had to be waited for.
    pub contended: u64,
    /// Time waited in all, in nanoseconds.
    pub total_ns: u64,
    /// The longest wait.
    pub max_ns: u64,
    /// Half of the contended waits were at most so long.
    pub p50_ns: u64,
    /// 95 of 100 contended waits were at most so long.
    pub p95_ns: u64,
    /// 99 of 100 contended waits were at most so long.
    pub p99_ns: u64,
}

/// The wait table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitTable {
    /// The classes, by name.
    pub waits: Vec<WaitView>,
}
