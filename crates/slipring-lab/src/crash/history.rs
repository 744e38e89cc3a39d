//! What clients saw, one JSON event per line: an operation is invoked, and later it is known to
//! have happened (`ok`), not to have happened (`fail`), or nothing is known (`info`).
//!
//! Server-side facts stay out. The kills are there, for they are a fault and not a fact.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::time::monotonic_ns;

/// One line of a history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Its place in the file, from 0.
    pub index: u64,
    /// When, in nanoseconds of the machine's monotonic clock.
    pub time: u64,
    /// Who: one session of one client. It never has two operations open, and after an `info` a
    /// new number is used.
    pub process: u64,
    /// Beginning or outcome.
    #[serde(rename = "type")]
    pub kind: Kind,
    /// What.
    #[serde(flatten)]
    pub operation: Operation,
}

/// Beginning or outcome of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// It begins.
    Invoke,
    /// It happened; the value says what was answered.
    Ok,
    /// It surely did not happen.
    Fail,
    /// Nobody knows: the connection was cut before the answer.
    Info,
}

/// An operation with what was asked, or in an `ok` with what was answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "f", content = "value", rename_all = "snake_case")]
pub enum Operation {
    /// Sends to one queue, in this order.
    Send {
        /// The queue.
        queue: String,
        /// The messages.
        messages: Vec<Sending>,
    },
    /// One receive.
    Receive {
        /// The queue that was asked.
        queue: String,
        /// What was handed out, in this order; empty when invoked.
        deliveries: Vec<Delivery>,
    },
    /// Acks of messages received before.
    Ack {
        /// The queue.
        queue: String,
        /// Whether an `ok` proves that the message is gone even if its lease had lapsed. SQS lets
        /// the delete of a stale receipt pass without an effect.
        strict: bool,
        /// What is acked.
        entries: Vec<Entry>,
    },
    /// Gives one message back.
    Nack {
        /// The queue.
        queue: String,
        /// The message.
        entry: Entry,
        /// How long it is to stay away, in milliseconds.
        delay_ms: u64,
    },
    /// Prolongs the lease of one message, counted from now.
    Extend {
        /// The queue.
        queue: String,
        /// The message.
        entry: Entry,
        /// How long the lease lasts from now, in milliseconds.
        lease_ms: u64,
    },
    /// Sets one message aside until it is kicked.
    Bury {
        /// The queue.
        queue: String,
        /// The message.
        entry: Entry,
    },
    /// Brings back what was set aside; a message that is delayed instead becomes ready.
    Kick {
        /// The queue.
        queue: String,
        /// One message; without it all that were set aside, or all delayed ones when none was.
        body: Option<String>,
    },
    /// Closes a connection that may hold reservations.
    Leave,
    /// A server is killed or made to stand still.
    Kill,
    /// The database under the servers is killed.
    KillDatabase,
    /// Sessions of the database are ended, one after the other, as an administrator would.
    EndSessions {
        /// How many.
        count: u64,
    },
    /// What was killed is started again.
    Start,
}

/// One message of a send.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Sending {
    /// The body, never used twice.
    pub body: String,
    /// Message group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Deduplication id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dedup: Option<String>,
    /// Delay in milliseconds.
    #[serde(default)]
    pub delay_ms: u64,
    /// What the server calls it; in an `ok`, nothing means that this one was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// One message of a receive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// The body.
    pub body: String,
    /// What settles this hand-out and no other.
    pub receipt: String,
    /// How often it has been handed out, where the protocol says.
    pub count: Option<u32>,
    /// How long the lease lasts, in milliseconds.
    pub lease_ms: u64,
    /// Whether the lease ends with the connection (beanstalkd).
    pub session: bool,
    /// When its own answer was read, on the clock of events, where one operation has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_ns: Option<u64>,
}

/// One message to be settled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The body.
    pub body: String,
    /// The receipt of the hand-out.
    pub receipt: String,
    /// In an `ok`: whether this one was done.
    pub done: bool,
}

/// Writes the events of one client.
pub struct Recorder {
    file: BufWriter<File>,
    next: u64,
}

impl Recorder {
    /// A new file.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn create(path: &Path) -> Result<Recorder> {
        let file = File::create(path).with_context(|| format!("making {}", path.display()))?;
        Ok(Recorder { file: BufWriter::new(file), next: 0 })
    }

    /// Writes an event that happens now. An invocation is written before anything is sent, an
    /// outcome after the answer was read, so that the interval is never too short.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&mut self, process: u64, kind: Kind, operation: Operation) -> Result<()> {
        let event = Event { index: self.next, time: monotonic_ns(), process, kind, operation };
        self.next += 1;
        serde_json::to_writer(&mut self.file, &event).context("writing the history")?;
        self.file.write_all(b"\n").context("writing the history")
    }

    /// Writes what is still in memory.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn flush(&mut self) -> Result<()> {
        self.file.flush().context("writing the history")
    }
}

/// Reads the histories of several clients and orders their events by time.
///
/// # Errors
/// When a file is missing or a line is no event: a client that crashed proves nothing.
pub fn read(paths: &[impl AsRef<Path>]) -> Result<Vec<Event>> {
    let mut events = Vec::new();
    for path in paths {
        let path = path.as_ref();
        let file = File::open(path).with_context(|| format!("opening {}", path.display()))?;
        for (number, line) in BufReader::new(file).lines().enumerate() {
            let place = || format!("{}, line {}", path.display(), number + 1);
            let event: Event =
                serde_json::from_str(&line.with_context(place)?).with_context(place)?;
            events.push(event);
        }
    }
    // Stable, so that events of one client in the same nanosecond keep their order.
    events.sort_by_key(|event| event.time);
    for (index, event) in events.iter_mut().enumerate() {
        event.index = index as u64;
    }
    Ok(events)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_read_back_in_the_order_of_time() {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["a", "b"].map(|name| folder.path().join(name));
        let mut clients = paths.clone().map(|path| Recorder::create(&path).unwrap());
        let sending = Sending { body: "x".into(), delay_ms: 5, ..Sending::default() };
        let send = Operation::Send { queue: "q".into(), messages: vec![sending] };
        clients[0].write(1, Kind::Invoke, send.clone()).unwrap();
        clients[1].write(2, Kind::Invoke, Operation::Leave).unwrap();
        clients[0].write(1, Kind::Ok, send.clone()).unwrap();
        for client in &mut clients {
            client.flush().unwrap();
        }
        let events = read(&paths).unwrap();
        let seen: Vec<_> = events.iter().map(|e| (e.index, e.process, e.kind)).collect();
        assert_eq!(seen, [(0, 1, Kind::Invoke), (1, 2, Kind::Invoke), (2, 1, Kind::Ok)]);
        assert_eq!(events[2].operation, send);
    }

    #[test]
    fn a_torn_line_is_an_error_that_names_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("torn");
        std::fs::write(&path, "{\"index\":0,\"ti").unwrap();
        assert!(format!("{:#}", read(&[path]).unwrap_err()).contains("torn, line 1"));
    }
}
