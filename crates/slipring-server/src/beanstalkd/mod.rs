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
mod host;
mod kicks;
mod listener;
mod lists;
mod peeks;
mod puts;
mod reservations;
mod reserves;
mod server;
mod session;
mod settles;
mod statistics;
mod tube;
mod tubes;

pub use listener::Listener;
pub use server::Server;

use slipring::Durability;
use slipring_wire::beanstalkd::JOB_BYTES_DEFAULT;

/// How a [`Server`] is set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The largest job body in bytes, at most what the engine allows (999,000,000 by
    /// default). Default 65,535.
    pub job_bytes_max: u32,
    /// Most connections at a time; a further one gets `OUT_OF_MEMORY` and is closed. Default
    /// 10,000.
    pub connections_max: usize,
    /// Most bytes of large job bodies that may be on their way in, over all connections; a `put`
    /// beyond it gets `OUT_OF_MEMORY`. At least one body of `job_bytes_max` always fits. Default
    /// 256 MiB.
    pub arriving_bytes_max: usize,
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
            arriving_bytes_max: 256 << 20,
            durability: Durability::Full,
            version: env!("CARGO_PKG_VERSION").to_string(),
        }
    }
}
