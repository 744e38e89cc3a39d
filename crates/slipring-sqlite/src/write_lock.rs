//! Waiting for the write lock while another process has it.
//!
//! A call fails when its own time is up, counted from the moment it was left, not from when its
//! transaction was tried. Those who share a try wait in slices, so that one whose time is up fails
//! alone. Once the lock was away for the whole time, calls that come wait only a little: who waits
//! behind them for a place in the next call of the store has waited long enough.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rusqlite::ErrorCode;
use slipring::clock::monotonic_ns;
use slipring::{Error, ErrorKind};

use crate::fault::{Fault, Outcome};
use crate::holders;
use crate::place::Place;
use crate::statements::Query;
use crate::writer::{Writer, WriterTask};

/// First and longest pause between two tries to get the write lock.
const PAUSE_MIN: Duration = Duration::from_micros(100);
const PAUSE_MAX: Duration = Duration::from_millis(5);
/// Those who share a try wait together for so long at most.
const SLICE_NS: u64 = 50_000_000;
/// So long a call waits that comes when the lock has been away for the whole time.
const LATE_NS: u64 = 100_000_000;
/// A lock that no call has asked for in so long may have been free meanwhile.
const FORGOTTEN_NS: u64 = 1_000_000_000;

/// Since when other processes keep the write lock.
pub(crate) struct Denied {
    pub(crate) place: Arc<Place>,
    wait_ns: u64,
    now: Mutex<Option<Episode>>,
}

#[derive(Debug, Clone)]
struct Episode {
    since_ns: u64,
    last_ns: u64,
    /// Who has it; looked for when the first call fails.
    holder: Option<String>,
}

impl Denied {
    /// Calls wait for as long as `wait`.
    pub(crate) fn new(place: Arc<Place>, wait: Duration) -> Denied {
        let wait_ns = u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX);
        Denied { place, wait_ns, now: Mutex::new(None) }
    }

    fn denied(&self, now_ns: u64) {
        let mut now = self.now.lock();
        match now.as_mut().filter(|seen| seen.last_ns.saturating_add(FORGOTTEN_NS) >= now_ns) {
            Some(seen) => seen.last_ns = now_ns,
            None => *now = Some(Episode { since_ns: now_ns, last_ns: now_ns, holder: None }),
        }
    }

    fn granted(&self) {
        *self.now.lock() = None;
    }

    /// Until when a call waits that was left at a moment.
    fn until_ns(&self, left_ns: u64) -> u64 {
        let own = left_ns.saturating_add(self.wait_ns);
        let Some(since_ns) = self.now.lock().as_ref().map(|seen| seen.since_ns) else { return own };
        let late = left_ns.saturating_add(LATE_NS);
        own.min(since_ns.saturating_add(self.wait_ns).max(late))
    }

    /// What a call is told whose time is up. The first in a row is told to the operator too.
    pub(crate) fn error(&self) -> Option<Error> {
        let mut now = self.now.lock();
        let seen = now.as_mut()?;
        let held = Duration::from_nanos(monotonic_ns().saturating_sub(seen.since_ns));
        let first = seen.holder.is_none();
        let holder = seen.holder.get_or_insert_with(|| holders::writer(self.place.index()));
        let text = format!(
            "{holder} has kept the write lock of the file for {:.1} s: end its transaction, or \
             try again",
            held.as_secs_f64()
        );
        let error = Error::new(ErrorKind::StorageUnavailable, text)
            .with("held_by", holder)
            .with("wait_ms_max", self.wait_ns / 1_000_000);
        if first {
            tracing::warn!(%error, "calls fail");
        }
        Some(error)
    }

    /// How long a try waits for the lock, before those whose time is up are told.
    pub(crate) fn slice(&self) -> Duration {
        Duration::from_nanos(SLICE_NS.min(self.wait_ns))
    }

    /// Tells the calls whose time is up; gives the others back.
    pub(crate) fn give_up(&self, tasks: Vec<WriterTask>, fault: Fault) -> Vec<WriterTask> {
        let now_ns = monotonic_ns();
        let over = |task: &WriterTask| self.until_ns(task.left_ns()) <= now_ns;
        let (over, rest): (Vec<_>, Vec<_>) = tasks.into_iter().partition(over);
        if !over.is_empty() {
            let error = self.error().unwrap_or_else(|| fault.into_error());
            over.into_iter().for_each(|task| task.fail(error.clone()));
        }
        rest
    }
}

/// Whether another process writes at the moment.
pub(crate) fn is_busy(fault: &Fault) -> bool {
    let Fault::Storage(error) = fault else { return false };
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

impl Writer<'_> {
    /// Begins a transaction, waiting for other processes as long as `memory.wait` says.
    pub(crate) fn begin(&mut self) -> Outcome<()> {
        let class = Arc::clone(&self.memory.classes.write_lock);
        let since_ns = monotonic_ns();
        let mut waited = false;
        let mut pause = PAUSE_MIN;
        loop {
            let fault = match self.db.execute(Query::Begin, ()) {
                Ok(_) if waited => {
                    self.memory.denied.granted();
                    class.waited(monotonic_ns().saturating_sub(since_ns));
                    return Ok(());
                }
                Ok(_) => {
                    self.memory.denied.granted();
                    class.passed();
                    return Ok(());
                }
                Err(error) => Fault::Storage(error),
            };
            let now_ns = monotonic_ns();
            if !is_busy(&fault) {
                return Err(fault);
            }
            self.memory.denied.denied(now_ns);
            if Duration::from_nanos(now_ns.saturating_sub(since_ns)) >= self.memory.wait {
                return Err(fault);
            }
            waited = true;
            std::thread::park_timeout(pause);
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn denied() -> Denied {
        let place = Arc::new(Place::of(std::path::Path::new("no such file")));
        Denied::new(place, Duration::from_nanos(1_000_000_000))
    }

    #[test]
    fn a_call_waits_its_own_time_and_one_that_comes_late_only_a_little() {
        let denied = denied();
        assert_eq!(denied.until_ns(5), 1_000_000_005);
        denied.denied(100);
        // Left just before the lock was found taken, and while it was away.
        assert_eq!(denied.until_ns(0), 1_000_000_000);
        assert_eq!(denied.until_ns(500_000_000), 1_000_000_100);
        // Left when it had been away for longer than a call waits.
        denied.denied(900_000_000);
        denied.denied(1_800_000_000);
        assert_eq!(denied.until_ns(1_800_000_000), 1_800_000_000 + LATE_NS);
    }

    #[test]
    fn a_lock_that_no_call_asked_for_meanwhile_is_away_anew() {
        let denied = denied();
        denied.denied(0);
        denied.denied(5_000_000_000);
        assert_eq!(denied.until_ns(5_000_000_000), 6_000_000_000);
        denied.granted();
        assert!(denied.error().is_none());
    }
}
