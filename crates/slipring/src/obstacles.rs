//! What others do to a store at this moment that holds Slipring up: facts, of which
//! `slipring doctor` makes sentences.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::queue::QueueName;

/// How a store is held up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ObstacleKind {
    /// Another transaction has the lock of a queue: calls of that queue wait.
    QueueHeld,
    /// A transaction that has written is open for long: no table is emptied that it may have
    /// written to.
    OpenWriter,
    /// A prepared transaction waits for its end, and does what an open one does.
    PreparedTransaction,
    /// A replication slot keeps old row versions.
    ReplicationSlot,
    /// Delays or leases of a queue have ended, and no process has handled them.
    UpkeepOverdue,
    /// Another process reads a state of the file and keeps its log from beginning anew.
    LogHeldBack,
}

/// One thing that holds a store up. What is not known, or does not go with the kind, is `None`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Obstacle {
    /// What it is.
    pub kind: ObstacleKind,
    /// The queue that is held up, where it is one.
    pub queue: Option<QueueName>,
    /// The process: of a session of PostgreSQL as the database numbers it, of a file as the system
    /// does.
    pub pid: Option<u32>,
    /// The identifier of a prepared transaction, the name of a slot or of a process.
    pub name: Option<String>,
    /// The role of the database.
    pub role: Option<String>,
    /// What the client calls itself.
    pub application: Option<String>,
    /// The database in which it is, where that is another one than the store's.
    pub database: Option<String>,
    /// What it does at the moment.
    pub state: Option<String>,
    /// For how many milliseconds: a transaction since its beginning, upkeep since its time.
    pub for_ms: Option<u64>,
    /// The last statement, at most 200 characters of it.
    pub statement: Option<String>,
    /// Which transaction it is: the same in two looks has not ended in between.
    pub transaction: Option<String>,
    /// How many transactions have begun since those that a slot holds back.
    pub behind: Option<u64>,
    /// The size of the log in bytes.
    pub bytes: Option<u64>,
}

impl Obstacle {
    /// One of which nothing is known yet but its kind.
    pub fn new(kind: ObstacleKind) -> Obstacle {
        Obstacle {
            kind,
            queue: None,
            pid: None,
            name: None,
            role: None,
            application: None,
            database: None,
            state: None,
            for_ms: None,
            statement: None,
            transaction: None,
            behind: None,
            bytes: None,
        }
    }
}

/// What was looked at, and what was found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Obstacles {
    /// Sessions of others in the database.
    pub sessions: u64,
    /// How many of them are of roles whose sessions this one may not look into.
    pub hidden: u64,
    /// What could not be looked at, and why.
    pub gaps: Vec<String>,
    /// At most some hundred, in no order.
    pub found: Vec<Obstacle>,
}

/// From which age on something is an obstacle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObstacleAges {
    /// Of a transaction that has the lock of a queue. Default 1 s.
    pub held: Duration,
    /// Of a transaction that has written, or is prepared. Default 60 s.
    pub open: Duration,
    /// The same in another database of the server. Default 60 s.
    pub elsewhere: Duration,
    /// Of upkeep since its time. Default 10 s.
    pub overdue: Duration,
}

impl Default for ObstacleAges {
    fn default() -> ObstacleAges {
        ObstacleAges {
            held: Duration::from_secs(1),
            open: Duration::from_secs(60),
            elsewhere: Duration::from_secs(60),
            overdue: Duration::from_secs(10),
        }
    }
}
