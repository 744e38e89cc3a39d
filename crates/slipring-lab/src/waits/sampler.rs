//! Looks at a PostgreSQL server again and again: what its sessions do many times a second, the
//! oldest snapshot and the WAL once a second.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tokio::time::MissedTickBehavior;

use super::horizon::Horizon;
use super::profile::Profile;
use super::server::Server;
use super::session::{LockWait, Session};
use crate::drive::Stop;

const SLOW_EVERY: Duration = Duration::from_secs(1);

/// What was seen so far.
#[derive(Debug, Default)]
pub struct Seen {
    /// The sum of all samples.
    pub profile: Profile,
    /// What pinned the oldest snapshot.
    pub horizon: Horizon,
    /// Sessions on the average of a second by kind of wait, with the second.
    pub sessions: BTreeMap<String, Vec<(f64, f64)>>,
    /// Bytes of WAL per second, with the second.
    pub wal: Vec<(f64, f64)>,
    /// Time that the samples took.
    pub sampling: Duration,
    /// How long it was looked at.
    pub length: Duration,
}

/// Sums of the second that is going on.
#[derive(Default)]
struct Second {
    samples: u64,
    by_kind: BTreeMap<String, u64>,
}

/// Looks every `every` until `length` is over or `stop` says so. What was seen until an error is
/// in `seen`.
///
/// # Errors
/// When the server goes away.
pub async fn sample(
    server: &Server,
    (every, length): (Duration, Duration),
    stop: &Stop,
    seen: &mut Seen,
    mut show: impl FnMut(Duration),
) -> Result<()> {
    let started = Instant::now();
    let mut tick = tokio::time::interval(every);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut second = Second::default();
    let mut slow = started;
    let mut position = position(server).await?;
    seen.horizon.add(server).await?;
    while started.elapsed() < length && !stop.is_set() {
        tokio::select! {
            _ = tick.tick() => {}
            () = stop.told() => break,
        }
        let begun = Instant::now();
        let by_kind = look(server, &mut seen.profile).await?;
        seen.sampling += begun.elapsed();
        seen.length = started.elapsed();
        second.samples += 1;
        for (kind, count) in by_kind {
            *second.by_kind.entry(kind).or_default() += count;
        }
        let passed = slow.elapsed();
        if passed >= SLOW_EVERY {
            slow = Instant::now();
            let now = self::position(server).await?;
            let at = started.elapsed().as_secs_f64();
            seen.wal.push((at, (now - position).max(0.0) / passed.as_secs_f64()));
            position = now;
            seen.end_second(at, std::mem::take(&mut second));
            seen.horizon.add(server).await?;
        }
        show(started.elapsed());
    }
    Ok(())
}

impl Seen {
    /// Enters the means of a second. A kind that was not there before had none until then.
    fn end_second(&mut self, at: f64, second: Second) {
        let before: Vec<(f64, f64)> = match self.sessions.values().next() {
            Some(points) => points.iter().map(|(at, _)| (*at, 0.0)).collect(),
            None => self.wal.iter().rev().skip(1).rev().map(|(at, _)| (*at, 0.0)).collect(),
        };
        for kind in second.by_kind.keys() {
            self.sessions.entry(kind.clone()).or_insert_with(|| before.clone());
        }
        for (kind, points) in &mut self.sessions {
            let count = second.by_kind.get(kind).copied().unwrap_or(0);
            points.push((at, count as f64 / second.samples.max(1) as f64));
        }
    }
}

/// One look at all sessions. Locks are looked at when a session waits for one, or when this user
/// cannot see whether one does.
async fn look(server: &Server, profile: &mut Profile) -> Result<BTreeMap<String, u64>> {
    let client = &server.client;
    let activity = include_str!("../../queries/waits_activity.sql");
    let rows = client.query(activity, &[]).await.context("reading pg_stat_activity")?;
    let sessions = rows.iter().map(Session::of).collect::<Result<Vec<_>>>()?;
    let waits_for_lock = |session: &Session| session.wait_type.as_deref() == Some("Lock");
    let mut waits = Vec::new();
    if !server.rights.all_sessions || sessions.iter().any(waits_for_lock) {
        let locks = include_str!("../../queries/waits_locks.sql");
        let rows = client.query(locks, &[]).await.context("reading pg_locks")?;
        waits = rows.iter().map(LockWait::of).collect::<Result<Vec<_>>>()?;
    }
    Ok(profile.add(&sessions, &waits))
}

/// Where the WAL ends, in bytes since its begin.
async fn position(server: &Server) -> Result<f64> {
    let statement = include_str!("../../queries/counters_lsn.sql");
    let row =
        server.client.query_one(statement, &[]).await.context("reading the end of the WAL")?;
    Ok(row.try_get(1)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_that_comes_later_was_not_there_before() {
        let mut seen = Seen::default();
        let second = |kind: &str, count| Second {
            samples: 4,
            by_kind: BTreeMap::from([(kind.to_owned(), count)]),
        };
        for (at, kind) in [(1.0, "IO"), (2.0, "Lock")] {
            seen.wal.push((at, 0.0));
            seen.end_second(at, second(kind, 2));
        }
        assert_eq!(seen.sessions["IO"], [(1.0, 0.5), (2.0, 0.0)]);
        assert_eq!(seen.sessions["Lock"], [(1.0, 0.0), (2.0, 0.5)]);
    }
}
