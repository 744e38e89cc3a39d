//! The days, one file each.

pub mod backlog;
pub mod clock_step;
pub mod delays_at_once;
pub mod full_disk;
pub mod herd;
pub mod idle_consumer;
pub mod killed_database;
pub mod killed_server;
pub mod killed_worker;
pub mod open_deduplication_id;
pub mod open_limited_send;
pub mod open_load;
pub mod open_nack;
pub mod pinned_snapshot;
pub mod poison;
pub mod pool_exhausted;
pub mod purge;
pub mod slow_consumer;
pub mod stopped_server;
pub mod stopped_worker;
pub mod unread_answers;
pub mod waiters;
