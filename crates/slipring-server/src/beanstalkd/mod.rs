//! The beanstalkd listener: sessions over the engine.
//!
//! A tube is a queue of the same name; a job is a message. What the protocol knows and the engine
//! does not (who uses and watches a tube, counters since the start, which connection holds which
//! reservation) lives here, in memory, and is gone after a restart, as it is in the original.
//! `docs/protocols/beanstalkd.md` says what is supported and what differs.
//!
//! A connection is one task. It reads what has come, takes *runs* of commands of one kind, gives
//! each run to the engine as one call, and writes all replies at once, in the order of the
//! commands. Lock order: the tube registry, then a tube's queue; a tube's histories are locked
//! alone. None is held across an await.

mod counters;
mod failure;
mod flow;
mod give_back;
mod host;
mod kicks;
mod listener;
mod lists;
mod measures;
mod patience;
mod peeks;
mod puts;
mod reservations;
mod reserves;
mod retire;
mod server;
mod session;
mod settles;
mod statistics;
mod tube;
mod tubes;
mod turns;
mod watched;

pub use listener::Listener;
pub use server::Server;

use std::time::Duration;

use slipring::Durability;
use slipring_wire::beanstalkd::JOB_BYTES_DEFAULT;

use crate::deadlines::Deadlines;

/// How a [`Server`] is set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The largest job body in bytes, at most what the engine allows (999,000,000 by
    /// default). Default 65,535.
    pub job_bytes_max: u32,
    /// Most connections at a time; a further one gets `OUT_OF_MEMORY` and is closed. Default
    /// 10,000.
    pub connections_max: usize,
    /// The part of them, in percent, that one address may have which is not of this machine.
    /// Default 50.
    pub peer_share_percent: u8,
    /// Most bytes of job bodies that have come so far, over all connections; a `put` beyond it
    /// gets `OUT_OF_MEMORY`. The first 4 KiB of each are not counted; one body of `job_bytes_max`
    /// always fits. Default 128 MiB.
    pub arriving_bytes_max: usize,
    /// How long clients may take. A connection that waits for a job or holds one is not idle.
    pub deadlines: Deadlines,
    /// Most tubes that one connection may watch. Default 1,000.
    pub watched_max: usize,
    /// Most tubes that are known at a time because they are used, watched, or were; beyond them a
    /// connection gets no further one that holds no jobs, except for its first ten. Default
    /// 100,000.
    pub tubes_max: usize,
    /// The durability of queues made for tubes. Default full.
    pub durability: Durability,
    /// What `stats` says as `version`. Default: the version of this crate.
    pub version: String,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            job_bytes_max: JOB_BYTES_DEFAULT,
            connections_max: 10_000,
            peer_share_percent: 50,
            arriving_bytes_max: 128 << 20,
            deadlines: Deadlines { idle: Duration::from_secs(3600), ..Deadlines::default() },
            watched_max: 1_000,
            tubes_max: 100_000,
            durability: Durability::Full,
            version: env!("CARGO_PKG_VERSION").to_string(),
        }
    }
}
