//! Giving space back to the disk while no call wants the writer, in small steps.
//!
//! What left its queue leaves free pages that are used again. A file that once was large would stay
//! so, so an idle one gives back the most of what it does not need: not a share that the next
//! messages will want, and not for a little.

use std::sync::Arc;
use std::time::Duration;

use slipring::clock::monotonic_ns;

use crate::checkpoint::LogSize;
use crate::fault::Outcome;
use crate::flush::Log;
use crate::open::PAGE_BYTES;
use crate::position::from_sql;
use crate::statements::Query;
use crate::writer::{Core, Writer};

/// It begins when so many pages are free,
const BEGIN_PAGES: u64 = (4 << 20) / PAGE_BYTES;
/// and they are such a part of those in use.
const BEGIN_PART: u64 = 4;
/// It ends when so many are left,
const KEEP_PAGES: u64 = (1 << 20) / PAGE_BYTES;
/// or such a part of those in use.
const KEEP_PART: u64 = 16;
/// A step holds the writer for so long, its commit aside.
const STEP_NS: u64 = 3_000_000;
/// Between two steps.
const STEP_EVERY: Duration = Duration::from_millis(100);
/// So many transactions a second leave the file idle.
const IDLE_PER_S: u64 = 20;
const NS_PER_S: u64 = 1_000_000_000;
/// What `PRAGMA auto_vacuum` says of a file whose pages can be moved.
const INCREMENTAL: u64 = 2;

const NOT_GIVEN: &str = "space that is not needed is not given back yet";

/// How far it is.
#[derive(Debug)]
pub(crate) struct Reclaim {
    size: Arc<LogSize>,
    every: Duration,
    on: bool,
    /// The file has become smaller, which the next checkpoint makes true of the disk.
    shrunk: bool,
    told: bool,
    commits: u64,
    looked_ns: u64,
}

/// Pages of the file.
#[derive(Debug, Clone, Copy)]
struct Space {
    free: u64,
    used: u64,
}

impl Space {
    /// How many pages are to be given back, for one who is at it or not.
    fn spare(self, on: bool) -> u64 {
        let begin = BEGIN_PAGES.max(self.used / BEGIN_PART);
        let keep = KEEP_PAGES.max(self.used / KEEP_PART);
        if on || self.free >= begin { self.free.saturating_sub(keep) } else { 0 }
    }
}

impl Reclaim {
    pub(crate) fn new(size: Arc<LogSize>, every: Duration) -> Reclaim {
        let (commits, looked_ns) = (size.commits(), monotonic_ns());
        Reclaim { size, every, on: false, shrunk: false, told: false, commits, looked_ns }
    }

    /// A call wants the writer: when to look again.
    pub(crate) fn not_now(&mut self) -> Duration {
        self.every
    }

    /// Whether the file has become smaller since this was asked last, and no step is left.
    pub(crate) fn take_shrunk(&mut self) -> bool {
        !self.on && std::mem::take(&mut self.shrunk)
    }

    /// Takes one step where the file is idle; answers when to take the next.
    pub(crate) fn step(&mut self, core: &mut Core, log: &Log) -> Duration {
        if !self.is_idle() {
            return self.not_now();
        }
        let done = self.try_step(core);
        // The step itself is no sign of work.
        self.commits = self.size.commits();
        done.unwrap_or_else(|fault| {
            self.on = false;
            log.report(fault, NOT_GIVEN);
        });
        if self.on { STEP_EVERY.min(self.every) } else { self.every }
    }

    fn is_idle(&mut self) -> bool {
        let (commits, now_ns) = (self.size.commits(), monotonic_ns());
        let new = commits.saturating_sub(std::mem::replace(&mut self.commits, commits));
        let past_ns = now_ns.saturating_sub(std::mem::replace(&mut self.looked_ns, now_ns));
        new.saturating_sub(1).saturating_mul(NS_PER_S) <= past_ns.saturating_mul(IDLE_PER_S)
    }

    fn try_step(&mut self, core: &mut Core) -> Outcome<()> {
        let (space, mode) = core.look(|writer| Ok((writer.space()?, writer.vacuum_mode()?)))?;
        let spare = space.spare(self.on);
        if spare > 0 && mode != INCREMENTAL {
            if !std::mem::replace(&mut self.told, true) {
                let free_bytes = space.free * PAGE_BYTES;
                tracing::info!(
                    free_bytes,
                    "the file was made by an older version and cannot give space back by itself: \
                     stop the program and run `slipring compact --store sqlite:FILE` once"
                );
            }
            return Ok(());
        }
        self.on = spare > 0;
        if self.on && core.alone_if_free(|writer| writer.give_back(spare))?.is_some() {
            self.shrunk = true;
        }
        Ok(())
    }
}

impl Writer<'_> {
    fn space(&self) -> Outcome<Space> {
        let pages = |query| self.db.first(query, (), |row| row.get::<_, i64>(0).map(from_sql));
        let free = pages(Query::FreePages)?.unwrap_or(0);
        Ok(Space { free, used: pages(Query::PageCount)?.unwrap_or(0).saturating_sub(free) })
    }

    fn vacuum_mode(&self) -> Outcome<u64> {
        let mode = self.db.first(Query::VacuumMode, (), |row| row.get::<_, i64>(0))?;
        Ok(mode.map_or(0, from_sql))
    }

    /// Gives back free pages, so many at most, until a step is over.
    fn give_back(&mut self, most: u64) -> Outcome<()> {
        let since_ns = monotonic_ns();
        let mut statement = self.db.get(Query::GiveBack)?;
        let mut rows = statement.query(())?;
        let mut given = 0;
        // Each row is one page; a statement that is left half way has given what it gave.
        while given < most && rows.next()?.is_some() {
            given += 1;
            if monotonic_ns().saturating_sub(since_ns) >= STEP_NS {
                break;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_begins_to_give_back_when_much_is_free_and_keeps_a_share() {
        let spare = |free, used, on| Space { free, used }.spare(on);
        assert_eq!(spare(BEGIN_PAGES - 1, 10, false), 0);
        assert_eq!(spare(BEGIN_PAGES, 10, false), BEGIN_PAGES - KEEP_PAGES);
        // A quarter of what is in use has to be free, and a sixteenth is kept.
        assert_eq!(spare(24_999, 100_000, false), 0);
        assert_eq!(spare(25_000, 100_000, false), 25_000 - 6_250);
        assert_eq!(spare(7_000, 100_000, true), 750);
        assert_eq!(spare(6_250, 100_000, true), 0);
    }
}
