//! The audit of a run: which job was executed when, how often each, and how far from its place.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use crate::body;

/// So many executions of each job are kept, on average.
const EXECUTIONS_MAX: usize = 4;

/// The order in which jobs are executed. Each worker appends the index of a job as it executes it.
#[derive(Debug)]
pub struct Order {
    jobs: u32,
    next: AtomicUsize,
    indices: Vec<AtomicU32>,
}

impl Order {
    /// Nothing is executed yet, of jobs with the indices below `jobs`.
    pub fn new(jobs: u32) -> Order {
        let places = jobs as usize * EXECUTIONS_MAX;
        let indices = std::iter::repeat_with(AtomicU32::default).take(places).collect();
        Order { jobs, next: AtomicUsize::new(0), indices }
    }

    /// Appends the job that `body` says.
    ///
    /// # Errors
    /// When it is none of the jobs, or jobs were executed far too often.
    pub fn executed(&self, body: &[u8]) -> Result<()> {
        let number = body::read(body)?.number;
        let index = u32::try_from(number).ok().filter(|index| *index < self.jobs);
        let index = index.with_context(|| format!("job {number} is none of {}", self.jobs))?;
        let place = self.next.fetch_add(1, Ordering::Relaxed);
        let cell = self.indices.get(place);
        let cell = cell.with_context(|| {
            format!("each of {} jobs was executed {EXECUTIONS_MAX} times on average", self.jobs)
        })?;
        cell.store(index, Ordering::Relaxed);
        Ok(())
    }

    /// What the order comes to, once all workers have ended.
    ///
    /// # Errors
    /// As [`Audit::of`].
    pub fn audit(&self) -> Result<Audit> {
        let executed = self.next.load(Ordering::Relaxed).min(self.indices.len());
        let indices = self.indices.iter().take(executed);
        Audit::of(self.jobs, indices.map(|index| index.load(Ordering::Relaxed)))
    }
}

/// What an order of executions comes to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Audit {
    /// Jobs there were.
    pub jobs: u64,
    /// Jobs that were never executed.
    pub missing: u64,
    /// All executions.
    pub executions: u64,
    /// Jobs that were executed more than once.
    pub repeated: u64,
    /// Executions by displacement: |i − index of the job executed i-th|, where i counts the first
    /// executions of jobs, so that one repetition does not displace all that follow.
    pub displacements: BTreeMap<u32, u64>,
}

impl Audit {
    /// Of `jobs` jobs that were executed in this order.
    ///
    /// # Errors
    /// When an index is none of the jobs.
    pub fn of(jobs: u32, order: impl Iterator<Item = u32>) -> Result<Audit> {
        let mut times = vec![0u32; jobs as usize];
        let mut audit = Audit { jobs: u64::from(jobs), ..Audit::default() };
        let mut place = 0u32;
        for index in order {
            let Some(seen) = times.get_mut(index as usize) else {
                bail!("job {index} was executed, and is none of {jobs}");
            };
            *seen += 1;
            audit.executions += 1;
            match *seen {
                1 => {
                    *audit.displacements.entry(place.abs_diff(index)).or_default() += 1;
                    place += 1;
                }
                2 => audit.repeated += 1,
                _ => {}
            }
        }
        audit.missing = times.iter().filter(|times| **times == 0).count() as u64;
        Ok(audit)
    }

    /// Adds another run of as many jobs.
    pub fn add(&mut self, other: &Audit) {
        self.jobs += other.jobs;
        self.missing += other.missing;
        self.executions += other.executions;
        self.repeated += other.repeated;
        for (displacement, count) in &other.displacements {
            *self.displacements.entry(*displacement).or_default() += count;
        }
    }

    /// Executions per job: 1 where each was executed once.
    pub fn executions_per_job(&self) -> f64 {
        self.executions as f64 / self.jobs.max(1) as f64
    }

    /// The largest displacement, in places.
    pub fn displacement_max(&self) -> u32 {
        self.displacements.keys().next_back().copied().unwrap_or(0)
    }

    /// So many of a hundred jobs are displaced by at most this, in places.
    pub fn displacement_percentile(&self, percent: u64) -> u32 {
        let all: u64 = self.displacements.values().sum();
        let wanted = (all * percent).div_ceil(100);
        let mut before = 0;
        for (displacement, count) in &self.displacements {
            before += count;
            if before >= wanted {
                return *displacement;
            }
        }
        0
    }

    /// The outline of the histogram: across, displacement + 1 in steps that double; upwards, the
    /// share of jobs in percent.
    pub fn outline(&self) -> Vec<(f64, f64)> {
        let all: u64 = self.displacements.values().sum();
        let mut points = Vec::new();
        let mut low = 1u64;
        while low <= u64::from(self.displacement_max()) + 1 {
            let high = low * 2;
            let within = |displacement: u32| {
                let place = u64::from(displacement) + 1;
                place >= low && place < high
            };
            let counts = self.displacements.iter().filter(|(at, _)| within(**at));
            let share = counts.map(|(_, count)| count).sum::<u64>() as f64 * 100.0 / all as f64;
            points.extend([(low as f64, share), (high as f64, share)]);
            low = high;
        }
        points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_in_order_are_not_displaced() {
        let audit = Audit::of(4, [0, 1, 2, 3].into_iter()).unwrap();
        assert_eq!((audit.executions, audit.missing, audit.repeated), (4, 0, 0));
        assert_eq!(audit.displacements, BTreeMap::from([(0, 4)]));
        assert_eq!(audit.outline(), [(1.0, 100.0), (2.0, 100.0)]);
    }

    #[test]
    fn a_job_that_runs_again_counts_as_repeated_and_displaces_no_other() {
        let audit = Audit::of(5, [1, 0, 0, 2, 4].into_iter()).unwrap();
        assert_eq!((audit.executions, audit.missing, audit.repeated), (5, 1, 1));
        assert_eq!(audit.displacements, BTreeMap::from([(0, 1), (1, 3)]));
        assert_eq!((audit.displacement_max(), audit.displacement_percentile(25)), (1, 0));
        assert_eq!(audit.displacement_percentile(99), 1);
        assert!(Audit::of(2, [2].into_iter()).is_err());
    }

    #[test]
    fn an_order_is_read_back_and_refuses_what_is_none_of_its_jobs() {
        let order = Order::new(2);
        let body = |number| body::write(body::Content { number, due_ns: 7 });
        for number in [1, 0, 1] {
            order.executed(&body(number)).unwrap();
        }
        assert!(order.executed(&body(2)).is_err());
        assert!(order.executed(b"x").is_err());
        let audit = order.audit().unwrap();
        assert_eq!((audit.executions, audit.repeated, audit.executions_per_job()), (3, 1, 1.5));
    }
}
