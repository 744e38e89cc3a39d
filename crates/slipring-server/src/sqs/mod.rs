//! The SQS listener: HTTP requests of both protocols over the engine.
//!
//! A queue is a queue of the same name, a message a message. What the protocol knows and the
//! engine does not is kept with the queue's settings (attributes, tags, policies) or with the
//! message's headers (message attributes); what lasts a minute (purges, deletions, repeated
//! receives) and the list of move tasks live here, in memory, and are gone after a restart.
//! `docs/protocols/sqs.md` says what is supported and what differs.
//!
//! A request is answered by the task of its connection; only move tasks have tasks of their own.
//! Lock order: the mutex of changes to queues is held across awaits and taken before all others;
//! the other locks are never held across an await, and only that of the move tasks while another
//! (a task's, the engine's registry) is taken.

mod attributes;
mod call;
mod failure;
mod messages;
mod move_task;
mod moves;
mod origin;
mod paging;
mod permissions;
mod purges;
mod queue_type;
mod queues;
mod receives;
mod recent;
mod redrive;
mod replays;
mod sends;
mod server;
mod service;
mod settles;
mod tags;

pub use server::Server;

use slipring_wire::sqs::Limits;

/// How a [`Server`] is set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The account in queue URLs and ARNs, 12 digits. Default `000000000000`.
    pub account: String,
    /// The region in ARNs. Default `us-east-1`.
    pub region: String,
    /// The limits of the protocol. Default: those of AWS.
    pub limits: Limits,
    /// Most connections at a time; a further one gets status 503 and is closed. Default 10,000.
    pub connections_max: usize,
    /// Most bytes of large bodies that may be on their way in, over all connections; a request
    /// beyond it gets status 503. One body of the largest size always fits. Default 256 MiB.
    pub arriving_bytes_max: usize,
    /// For test suites: `POST /moto-api/reset` deletes every queue, and a deleted queue's name
    /// is free at once. Default off.
    pub test_mode: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            account: "000000000000".to_string(),
            region: "us-east-1".to_string(),
            limits: Limits::default(),
            connections_max: 10_000,
            arriving_bytes_max: 256 << 20,
            test_mode: false,
        }
    }
}
