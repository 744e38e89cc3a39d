//! The SQS listener: HTTP requests of both protocols over the engine.
//!
//! A queue is a queue of the same name, a message a message. What the protocol knows and the
//! engine does not is kept with the queue's settings (attributes, tags, policies) or with the
//! message's headers (message attributes); what lasts a minute (purges, deletions, repeated
//! receives) and the list of move tasks live here, in memory, and are gone after a restart.
//! `docs/protocols/sqs.md` says what is supported and what differs.
//!
//! A request is answered by the task of its connection; move tasks, purges, and acts from their
//! call of the engine on have tasks of their own.
//! Lock order: the mutex of changes to queues is held across awaits and taken before all others;
//! the other locks are never held across an await, and only that of the move tasks while another
//! (a task's, the engine's registry) is taken.

mod attributes;
mod call;
mod failure;
mod messages;
mod move_task;
mod moves;
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
mod sizes;
mod tags;

pub use server::Server;

use slipring_wire::sqs::Limits;

use crate::deadlines::Deadlines;
use crate::names::{HostNames, PublicUrl};
use crate::proxies::Proxies;

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
    /// The part of them, in percent, that one address may have which is not of this machine.
    /// Default 50.
    pub peer_share_percent: u8,
    /// Most bytes of bodies that have come so far, over all connections; a request beyond it gets
    /// status 503. The first 4 KiB of each are not counted; one body of the largest size always
    /// fits. Default 128 MiB.
    pub arriving_bytes_max: usize,
    /// How long clients may take.
    pub deadlines: Deadlines,
    /// Names beside those of this machine under which the server may be called; pages of these
    /// hosts may use it. A listener that others can reach takes every name from programs while
    /// there is none here. Default none.
    pub names: HostNames,
    /// What queue URLs begin with; by default what the client called the server. Its host is to
    /// be among `names`.
    pub public_url: Option<PublicUrl>,
    /// Proxies whose word is taken for who their clients are and what these called. Default none.
    pub proxies: Proxies,
    /// Whether a queue is purged at most once in 60 seconds, and a deleted queue's name is taken
    /// for as long, as AWS has it. Default on.
    pub minute_rules: bool,
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
            peer_share_percent: 50,
            arriving_bytes_max: 128 << 20,
            deadlines: Deadlines::default(),
            names: HostNames::default(),
            public_url: None,
            proxies: Proxies::default(),
            minute_rules: true,
            test_mode: false,
        }
    }
}
