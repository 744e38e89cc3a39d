//! The table of jobs on each database, with the statements of its dialect.

pub mod mariadb;
pub mod postgres;
pub mod sqlite;

use std::time::SystemTime;

use super::method::EXPIRY_SECONDS;

/// The queue that the jobs of a table belong to.
const QUEUE: &str = "default";

/// Now as the framework counts it, in seconds since 1970.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
}

/// What was reserved at this second or before may be claimed again.
fn expired(now: i64) -> i64 {
    now - EXPIRY_SECONDS
}
