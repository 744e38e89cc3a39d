//! What threads count, and the figures of a step. Latencies are held by histograms, so the memory
//! of a run does not grow with its length.

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::schedule::Schedule;
use super::sweep::Seen;
use crate::stats::{Latencies, Percentiles};

/// A start so much after its due time counts as late.
pub const LATE_NS: u64 = 1_000_000;
/// Operations that never started are entered in so many groups at most.
const GROUPS: u64 = 1000;

/// One operation that was answered.
#[derive(Debug, Clone, Copy)]
pub struct Done {
    /// When it was due; its start in a closed loop.
    pub due_ns: u64,
    /// When it started.
    pub begun_ns: u64,
    /// When it was answered.
    pub ended_ns: u64,
    /// Messages or rows.
    pub items: u64,
}

/// What one thread counts, or all of them.
#[derive(Debug)]
pub struct Tally {
    /// From the due time, where there is one.
    from_due: Latencies,
    /// From the actual start.
    from_start: Latencies,
    /// Operations that were answered in the measured time.
    operations: u64,
    /// Those of them that were answered before its end.
    in_time: u64,
    items: u64,
    empty: u64,
    late: u64,
    /// Time from start to answer, of all operations together.
    busy_ns: u64,
    last_ns: u64,
    /// Operations that were started, warm-up included.
    pub started: u64,
    /// Operations that were refused, warm-up included.
    pub failed: u64,
    /// The first that was refused.
    pub first_failure: Option<String>,
    /// Operations that were cut off before their answer.
    pub unanswered: u64,
    /// Processor time of the thread.
    pub cpu_ns: u64,
}

impl Tally {
    /// Nothing yet.
    ///
    /// # Errors
    /// None in practice; the histogram checks its precision.
    pub fn new() -> Result<Tally> {
        Ok(Tally {
            from_due: Latencies::new()?,
            from_start: Latencies::new()?,
            operations: 0,
            in_time: 0,
            items: 0,
            empty: 0,
            late: 0,
            busy_ns: 0,
            last_ns: 0,
            started: 0,
            failed: 0,
            first_failure: None,
            unanswered: 0,
            cpu_ns: 0,
        })
    }

    /// Counts an operation that was answered, unless it was due in the warm-up.
    pub fn note(&mut self, schedule: &Schedule, done: Done) {
        if done.due_ns < schedule.measure_ns {
            return;
        }
        let took_ns = done.ended_ns.saturating_sub(done.begun_ns);
        self.operations += 1;
        self.in_time += u64::from(schedule.end_ns.is_none_or(|end_ns| done.ended_ns <= end_ns));
        self.items += done.items;
        self.empty += u64::from(done.items == 0);
        self.busy_ns += took_ns;
        self.last_ns = self.last_ns.max(done.ended_ns);
        self.from_start.add(took_ns);
        if schedule.rate.is_some() {
            self.late += u64::from(done.begun_ns > done.due_ns + LATE_NS);
            self.from_due.add(done.ended_ns.saturating_sub(done.due_ns));
        }
    }

    /// Counts an operation that was refused.
    pub fn fail(&mut self, why: String) {
        self.failed += 1;
        self.first_failure.get_or_insert(why);
    }

    /// Adds what another thread counted.
    ///
    /// # Errors
    /// None in practice; the histogram checks that it may grow.
    pub fn merge(&mut self, other: Tally) -> Result<()> {
        self.from_due.merge(&other.from_due)?;
        self.from_start.merge(&other.from_start)?;
        self.operations += other.operations;
        self.in_time += other.in_time;
        self.items += other.items;
        self.empty += other.empty;
        self.late += other.late;
        self.busy_ns += other.busy_ns;
        self.last_ns = self.last_ns.max(other.last_ns);
        self.started += other.started;
        self.failed += other.failed;
        self.first_failure = self.first_failure.take().or(other.first_failure);
        self.unanswered += other.unanswered;
        self.cpu_ns += other.cpu_ns;
        Ok(())
    }

    /// The figures of a step that ended at `ended_ns`: at its planned end, or when it was stopped.
    pub fn figures(mut self, schedule: &Schedule, threads: usize, ended_ns: u64) -> Figures {
        let unstarted = self.enter_unstarted(schedule, ended_ns);
        let planned = schedule.end_ns.is_some_and(|end_ns| end_ns <= ended_ns);
        let (counted, until_ns) = match planned {
            true => (self.in_time, ended_ns),
            false => (self.operations, self.last_ns),
        };
        let seconds = until_ns.saturating_sub(schedule.measure_ns) as f64 / 1e9;
        let per_second = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
        let operations = self.operations.max(1) as f64;
        Figures {
            threads,
            offered: schedule.rate,
            seconds,
            operations: self.operations,
            rate: per_second(counted),
            items: self.items,
            items_rate: per_second(counted) * self.items as f64 / operations,
            empty: self.empty,
            late: self.late,
            unstarted,
            failed: self.failed,
            first_failure: self.first_failure,
            unanswered: self.unanswered,
            mean_us: self.busy_ns as f64 / operations / 1000.0,
            cpu_us: self.cpu_ns as f64 / self.started.max(1) as f64 / 1000.0,
            corrected: schedule.rate.map(|_| self.from_due.percentiles()),
            uncorrected: self.from_start.percentiles(),
            histogram_us: match schedule.rate {
                Some(_) => self.from_due.buckets(),
                None => self.from_start.buckets(),
            },
        }
    }

    /// Enters the operations that were due and that no thread was free for. Each is at least as
    /// late as the end; leaving them out would show the few that got through as all there were.
    fn enter_unstarted(&mut self, schedule: &Schedule, ended_ns: u64) -> u64 {
        let due = schedule.due_before(ended_ns);
        let first = self.started.max(schedule.due_before(schedule.measure_ns)).min(due);
        let unstarted = due - first;
        let group = unstarted.div_ceil(GROUPS).max(1);
        let mut index = first;
        while index < due {
            let count = group.min(due - index);
            if let Some(due_ns) = schedule.due_ns(index + count / 2) {
                self.from_due.add_many(ended_ns.saturating_sub(due_ns), count);
            }
            index += count;
        }
        unstarted
    }
}

/// The figures of one step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Threads, each with at most one operation at a time.
    pub threads: usize,
    /// Operations per second that were due; nothing for a closed loop.
    pub offered: Option<f64>,
    /// The measured time in seconds.
    pub seconds: f64,
    /// Operations that were answered.
    pub operations: u64,
    /// Operations answered per second of the measured time.
    pub rate: f64,
    /// Messages or rows of these operations.
    pub items: u64,
    /// Messages or rows per second.
    pub items_rate: f64,
    /// Operations that were answered with nothing.
    pub empty: u64,
    /// Operations that started more than 1 ms after their due time.
    pub late: u64,
    /// Operations that were due and never started, for no thread was free until the end.
    pub unstarted: u64,
    /// Operations that were refused.
    pub failed: u64,
    /// The first that was refused.
    pub first_failure: Option<String>,
    /// Operations that were cut off before their answer.
    pub unanswered: u64,
    /// Mean time from start to answer in microseconds.
    pub mean_us: f64,
    /// Processor time of the driving threads for each operation, in microseconds.
    pub cpu_us: f64,
    /// Latency from the due time; nothing for a closed loop, which has none.
    pub corrected: Option<Percentiles>,
    /// Latency from the actual start.
    pub uncorrected: Percentiles,
    /// Latencies in microseconds, each with how often: from the due time where there is one.
    pub histogram_us: Vec<(f64, u64)>,
}

impl Figures {
    /// Share of the operations due that started late or never, from 0 to 1.
    pub fn late_share(&self) -> f64 {
        let due = self.operations + self.unstarted;
        if due == 0 { 0.0 } else { (self.late + self.unstarted) as f64 / due as f64 }
    }

    /// What a sweep needs to know.
    pub fn seen(&self) -> Seen {
        Seen {
            offered: self.offered.unwrap_or(self.rate),
            late_share: self.late_share(),
            answered: self.failed == 0 && self.unanswered == 0 && self.operations > 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::schedule::{Pace, Until};
    use super::*;

    const MS: u64 = 1_000_000;

    /// One thread at 1,000 operations/s for a second, each of 100 µs but one that stalls.
    fn stalled_once(stall_ns: u64) -> Figures {
        let until = Until::Over { warmup_ns: 0, measured_ns: 1000 * MS };
        let schedule = Schedule::new(0, Pace::Open(1000.0), until, 1);
        let mut tally = Tally::new().unwrap();
        let mut free_ns = 0;
        for index in 0.. {
            let Some(due_ns) = schedule.due_ns(index) else { break };
            let begun_ns = due_ns.max(free_ns);
            if begun_ns >= 1000 * MS {
                break;
            }
            let took_ns = if index == 500 { stall_ns } else { MS / 10 };
            free_ns = begun_ns + took_ns;
            tally.started += 1;
            tally.note(&schedule, Done { due_ns, begun_ns, ended_ns: free_ns, items: 1 });
        }
        tally.figures(&schedule, 1, 1000 * MS)
    }

    #[test]
    fn an_operation_that_stalls_once_shows_in_the_corrected_percentiles_only() {
        let figures = stalled_once(200 * MS);
        let corrected = figures.corrected.unwrap();
        assert!(figures.uncorrected.p99_us < 110.0, "{figures:?}");
        assert!(corrected.p99_us > 180_000.0, "{figures:?}");
        assert!(figures.late > 150 && figures.unstarted == 0, "{figures:?}");
        assert_eq!(figures.operations, 1000);
    }

    #[test]
    fn without_a_stall_both_agree_and_nothing_is_late() {
        let figures = stalled_once(MS / 10);
        let corrected = figures.corrected.unwrap();
        assert_eq!(corrected.p99_us, figures.uncorrected.p99_us);
        assert_eq!((figures.late, figures.unstarted), (0, 0));
        assert_eq!(figures.seen(), Seen { offered: 1000.0, late_share: 0.0, answered: true });
    }

    #[test]
    fn what_never_started_is_in_the_corrected_percentiles_and_in_the_late_share() {
        // The stall lasts until the end: half of all that was due never starts.
        let figures = stalled_once(600 * MS);
        assert_eq!((figures.operations, figures.unstarted), (501, 499));
        let corrected = figures.corrected.unwrap();
        assert_eq!(corrected.count, 1000);
        assert!(corrected.p95_us > 400_000.0, "{corrected:?}");
        assert!(figures.uncorrected.p95_us < 110.0);
        assert!(figures.late_share() > 0.49);
    }

    #[test]
    fn the_warm_up_is_not_counted_and_failures_are() {
        let until = Until::Over { warmup_ns: 10 * MS, measured_ns: 10 * MS };
        let schedule = Schedule::new(0, Pace::Closed, until, 1);
        let mut tally = Tally::new().unwrap();
        for begun_ns in [0, 5 * MS, 10 * MS, 15 * MS] {
            let ended_ns = begun_ns + 2 * MS;
            tally.note(&schedule, Done { due_ns: begun_ns, begun_ns, ended_ns, items: 0 });
        }
        tally.fail("first".into());
        tally.fail("second".into());
        let figures = tally.figures(&schedule, 1, 20 * MS);
        assert_eq!((figures.operations, figures.empty, figures.failed), (2, 2, 2));
        assert_eq!(figures.rate, 200.0);
        assert_eq!(figures.first_failure.as_deref(), Some("first"));
        assert!(figures.corrected.is_none() && !figures.seen().answered);
    }

    #[test]
    fn memory_is_that_of_the_histograms_however_many_latencies_there_are() {
        let schedule = Schedule::new(0, Pace::Closed, Until::Repetitions(u64::MAX), 1);
        let mut tally = Tally::new().unwrap();
        for index in 0..200_000 {
            let done = Done { due_ns: 0, begun_ns: 0, ended_ns: 1 + index % 5000, items: 1 };
            tally.note(&schedule, done);
        }
        assert!(tally.from_start.memory_bytes() < 128 << 10);
        assert!(tally.figures(&schedule, 1, 5000).histogram_us.len() < 1000);
    }
}
