//! The JSON shapes of what goes through a whole queue: redrive, kick, and how far they are.

use serde::{Deserialize, Serialize};

use super::Failure;

/// A redrive.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Redrive {
    /// Where the messages go; without it each goes back to the queue it was dead-lettered from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// At most so many; default all that are there now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Only these messages, 1 to 1,000; answered one by one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ids: Option<Vec<u64>>,
}

/// What became of a chosen message.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MovedView {
    /// Its number.
    pub id: u64,
    /// The queue it is in now; `None` when it was not moved.
    pub queue: Option<String>,
    /// Why it was not moved; `None` when it was.
    pub error: Option<Failure>,
}

/// One line of a long operation's answer.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Progress {
    /// Messages done so far.
    pub messages: u64,
    /// Of a redrive of all: how many of the messages that were free when it began are not moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<u64>,
    /// Of a redrive of chosen messages, in its last line: message by message, in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub results: Option<Vec<MovedView>>,
    /// The last line of an operation that went well.
    pub done: bool,
    /// The last line of one that did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
}

/// A kick.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Kick {
    /// At most so many, 1 to 10,000; default 10,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// The answer to a kick.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kicked {
    /// How many messages are ready now.
    pub kicked: u64,
}
