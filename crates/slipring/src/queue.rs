//! Queues: names, settings and statistics.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::error::{Error, ErrorKind};

/// A queue's number in its store; never used again after the queue was deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct QueueId(pub u64);

impl fmt::Display for QueueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A queue's name, checked (S14.1): 1 to 200 of `a-z`, `A-Z`, `0-9` and `- + / ; . $ _ ( )`, not
/// beginning with `-`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct QueueName(Arc<str>);

impl QueueName {
    /// Longest name in bytes.
    pub const BYTES_MAX: usize = 200;

    /// Checks and makes a name.
    ///
    /// # Errors
    /// `Invalid` when the name is empty, too long, begins with `-` or has another character.
    pub fn new(name: &str) -> Result<QueueName, Error> {
        let refuse = |why: &str| {
            let shown: String = name.chars().take(64).collect();
            Err(Error::new(ErrorKind::Invalid, format!("queue name {shown:?} {why}")))
        };
        if name.is_empty() {
            return refuse("is empty; use 1 to 200 characters");
        }
        if name.len() > QueueName::BYTES_MAX {
            return refuse(&format!("has {} bytes; the limit is 200", name.len()));
        }
        if name.starts_with('-') {
            return refuse("begins with '-'; begin with a letter, digit or one of + / ; . $ _ ( )");
        }
        let allowed = |b: u8| b.is_ascii_alphanumeric() || b"-+/;.$_()".contains(&b);
        if let Some(bad) = name.chars().find(|c| !c.is_ascii() || !allowed(*c as u8)) {
            return refuse(&format!(
                "has the character {bad:?}; allowed are a-z, A-Z, 0-9 and - + / ; . $ _ ( )"
            ));
        }
        Ok(QueueName(name.into()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for QueueName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for QueueName {
    type Error = Error;
    fn try_from(name: String) -> Result<QueueName, Error> {
        QueueName::new(&name)
    }
}

impl From<QueueName> for String {
    fn from(name: QueueName) -> String {
        name.0.to_string()
    }
}

/// How long a failed message waits when the nack names no delay (S6.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Backoff {
    /// Not at all.
    #[default]
    None,
    /// The same time after every failure.
    Fixed {
        /// The wait.
        #[serde(rename = "delay_ms", with = "duration_ms")]
        delay: Duration,
    },
    /// `base · 2^(attempts−1)`, at most `max`, of which a random part between half and all is
    /// waited.
    Exponential {
        /// The wait after the first failure, before jitter.
        #[serde(rename = "base_ms", with = "duration_ms")]
        base: Duration,
        /// The longest wait, before jitter.
        #[serde(rename = "max_ms", with = "duration_ms")]
        max: Duration,
    },
}

/// What an acknowledged send has survived (S1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// Flushed to stable storage: survives loss of power.
    #[default]
    Full,
    /// Written, not flushed: survives kill -9; loss of power may take the last moments.
    Relaxed,
}

/// Within what a deduplication id is unique (S8.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum DedupScope {
    /// The queue.
    #[default]
    Queue,
    /// The message group.
    Group,
}

/// Everything that can be set on a queue. Ranges are checked by [`crate::Limits::check_settings`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct QueueSettings {
    /// How long a lease lasts when neither receive nor message says otherwise. 0 to 2³² s;
    /// default 30 s.
    #[serde(rename = "visibility_timeout_ms", with = "duration_ms")]
    pub visibility_timeout: Duration,
    /// Deliveries before a failing message is dead-lettered or parked; `None` for no end. 1 to
    /// 1,000,000.
    pub max_attempts: Option<u32>,
    /// The wait after a failure.
    pub backoff: Backoff,
    /// Where messages go whose attempts are used up; `None` parks them in place. It must exist
    /// when needed, otherwise the message is parked.
    pub dead_letter: Option<QueueName>,
    /// How long a message may stay, counted from its send; `None` for ever (default).
    #[serde(rename = "retention_ms", with = "option_duration_ms")]
    pub retention: Option<Duration>,
    /// The delay of messages sent without one. Default 0.
    #[serde(rename = "delay_ms", with = "duration_ms")]
    pub delay: Duration,
    /// What an acknowledged send has survived.
    pub durability: Durability,
    /// Strict order within message groups (S7.3). Fixed at creation.
    pub fifo: bool,
    /// How long a deduplication id is remembered. Default 5 min.
    #[serde(rename = "dedup_window_ms", with = "duration_ms")]
    pub dedup_window: Duration,
    /// Within what a deduplication id is unique.
    pub dedup_scope: DedupScope,
    /// Hands out nothing while true (S14.3).
    pub paused: bool,
    /// A pause that ends by itself at this moment; independent of `paused`.
    pub paused_until: Option<Timestamp>,
    /// Most messages the queue may hold in any state; `None` for no limit.
    pub messages_max: Option<u64>,
    /// Most bytes the queue may hold; `None` for no limit.
    pub bytes_max: Option<u64>,
    /// Largest message in bytes ([`crate::NewMessage::size_bytes`]). Default 1 MiB.
    pub message_bytes_max: u64,
    /// Most messages under lease at a time. Default 120,000.
    pub in_flight_max: u64,
    /// Texts that protocols keep with a queue (attributes, tags); opaque to engine and stores.
    pub attributes: BTreeMap<String, String>,
}

impl Default for QueueSettings {
    fn default() -> QueueSettings {
        QueueSettings {
            visibility_timeout: Duration::from_secs(30),
            max_attempts: None,
            backoff: Backoff::None,
            dead_letter: None,
            retention: None,
            delay: Duration::ZERO,
            durability: Durability::Full,
            fifo: false,
            dedup_window: Duration::from_secs(300),
            dedup_scope: DedupScope::Queue,
            paused: false,
            paused_until: None,
            messages_max: None,
            bytes_max: None,
            message_bytes_max: 1 << 20,
            in_flight_max: 120_000,
            attributes: BTreeMap::new(),
        }
    }
}

impl QueueSettings {
    /// The attribute of a queue that nobody asked for: a protocol made it because a message was
    /// sent to its name. Its value is the name of the protocol, which deletes the queue when it is
    /// empty and nobody uses it. Who asks for the queue by creating it takes the attribute away.
    pub const MADE_BY_A_SEND: &str = "made_by_a_send";

    /// Whether the queue hands out nothing at `now`.
    pub fn is_paused(&self, now: Timestamp) -> bool {
        self.paused || self.paused_until.is_some_and(|until| now < until)
    }

    /// The names of the settings, as JSON has them, in which these differ from others, sorted.
    pub fn differences(&self, other: &QueueSettings) -> Vec<String> {
        let named = |settings: &QueueSettings| match serde_json::to_value(settings) {
            Ok(serde_json::Value::Object(named)) => named,
            // Settings are an object.
            _ => serde_json::Map::new(),
        };
        let others = named(other);
        let own = named(self).into_iter();
        let differ = own.filter(|(name, value)| others.get(name) != Some(value));
        let mut names: Vec<String> = differ.map(|(name, _)| name).collect();
        names.sort();
        names
    }
}

/// A queue as the store knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueInfo {
    /// Its number.
    pub id: QueueId,
    /// Its name.
    pub name: QueueName,
    /// Its settings.
    pub settings: QueueSettings,
    /// When it was created.
    pub created_at: Timestamp,
    /// When its settings last changed. Grows with every change, so that it tells one from the next.
    pub modified_at: Timestamp,
}

impl QueueInfo {
    /// What [`QueueInfo::modified_at`] becomes by a change at `now`: that, or a millisecond after
    /// the last one where the clock has not come so far.
    pub fn next_modified_at(&self, now: Timestamp) -> Timestamp {
        now.max(self.modified_at.after(Duration::from_millis(1)))
    }
}

/// What a queue holds at a moment. Exact within one process; costs no walk over messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct QueueStats {
    /// Messages that a receive would get.
    pub ready: u64,
    /// Ready messages with a priority below 1024.
    pub urgent: u64,
    /// Messages waiting for their delay or backoff.
    pub delayed: u64,
    /// Messages under lease.
    pub leased: u64,
    /// Messages parked.
    pub parked: u64,
    /// Bytes of all of them.
    pub bytes: u64,
    /// When the oldest ready message was sent.
    pub oldest_ready_sent_at: Option<Timestamp>,
    /// Rows of the store that could not be what it had written, and were set aside so that they
    /// stop nothing. They count for nothing else. Only the PostgreSQL store has any.
    pub set_aside: u64,
}

impl QueueStats {
    /// Messages in any state.
    pub fn total(&self) -> u64 {
        self.ready + self.delayed + self.leased + self.parked
    }
}

pub(crate) mod duration_ms {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(value: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(crate::clock::millis_ceil(*value))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_millis)
    }
}

pub(crate) mod option_duration_ms {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(value: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => to.serialize_some(&crate::clock::millis_ceil(*value)),
            None => to.serialize_none(),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<u64>::deserialize(from)?.map(Duration::from_millis))
    }
}
