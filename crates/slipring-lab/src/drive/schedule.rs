//! When operations are due. A closed loop has no due times; an open loop computes all of them
//! before the first one starts, and does not wait for answers.

/// How operations follow each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// Each thread starts the next operation when the last one is answered.
    Closed,
    /// Operations are due at this rate per second, by whichever thread is free.
    Open(f64),
}

/// When a step ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Until {
    /// After a warm-up that is not counted and a measured time, in nanoseconds.
    Over { warmup_ns: u64, measured_ns: u64 },
    /// When each thread has done so many operations; all are counted.
    Repetitions(u64),
}

/// The due times of one step, in nanoseconds of [`crate::time::monotonic_ns`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Schedule {
    /// When the first operation is due.
    pub begin_ns: u64,
    /// From when on operations are counted.
    pub measure_ns: u64,
    /// When the step ends, unless it ends by a number.
    pub end_ns: Option<u64>,
    /// How many operations there are in all, unless the step ends by time.
    pub operations: Option<u64>,
    /// Operations per second; nothing for a closed loop.
    pub rate: Option<f64>,
}

impl Schedule {
    /// Of a step that begins at a moment.
    pub fn new(begin_ns: u64, pace: Pace, until: Until, threads: u64) -> Schedule {
        let rate = match pace {
            Pace::Closed => None,
            Pace::Open(rate) => Some(rate),
        };
        match until {
            Until::Over { warmup_ns, measured_ns } => {
                let measure_ns = begin_ns + warmup_ns;
                let end_ns = Some(measure_ns + measured_ns);
                Schedule { begin_ns, measure_ns, end_ns, operations: None, rate }
            }
            Until::Repetitions(each) => {
                let operations = Some(each.saturating_mul(threads));
                Schedule { begin_ns, measure_ns: begin_ns, end_ns: None, operations, rate }
            }
        }
    }

    /// When an operation of an open loop is due; nothing for one after the end.
    pub fn due_ns(&self, index: u64) -> Option<u64> {
        let rate = self.rate?;
        let due_ns = self.begin_ns + (index as f64 / rate * 1e9) as u64;
        let in_time = self.end_ns.is_none_or(|end_ns| due_ns < end_ns);
        let in_number = self.operations.is_none_or(|operations| index < operations);
        (in_time && in_number).then_some(due_ns)
    }

    /// How many operations of an open loop are due before a moment.
    pub fn due_before(&self, moment_ns: u64) -> u64 {
        let Some(rate) = self.rate else { return 0 };
        let moment_ns = self.end_ns.map_or(moment_ns, |end_ns| moment_ns.min(end_ns));
        let span_ns = moment_ns.saturating_sub(self.begin_ns);
        let mut count = (span_ns as f64 / 1e9 * rate).ceil() as u64;
        // The product may be off by one either way; due times decide.
        while count > 0 && self.due_at(count - 1, rate) >= moment_ns {
            count -= 1;
        }
        while self.due_at(count, rate) < moment_ns {
            count += 1;
        }
        self.operations.map_or(count, |operations| count.min(operations))
    }

    fn due_at(&self, index: u64, rate: f64) -> u64 {
        self.begin_ns + (index as f64 / rate * 1e9) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn due_times_are_a_rate_apart_and_end_with_the_step() {
        let until = Until::Over { warmup_ns: SECOND, measured_ns: SECOND };
        let schedule = Schedule::new(500, Pace::Open(1000.0), until, 4);
        assert_eq!(schedule.due_ns(0), Some(500));
        assert_eq!(schedule.due_ns(1), Some(1_000_500));
        assert_eq!(schedule.due_ns(1999), Some(500 + 1_999_000_000));
        assert_eq!(schedule.due_ns(2000), None);
        assert_eq!(schedule.measure_ns, 500 + SECOND);
        assert_eq!(schedule.due_before(500 + SECOND), 1000);
        assert_eq!(schedule.due_before(u64::MAX), 2000);
    }

    #[test]
    fn a_number_of_operations_ends_a_step_for_all_threads_together() {
        let schedule = Schedule::new(0, Pace::Open(10.0), Until::Repetitions(3), 2);
        assert_eq!(schedule.due_ns(5), Some(500_000_000));
        assert_eq!(schedule.due_ns(6), None);
        assert_eq!(schedule.due_before(10 * SECOND), 6);
        assert_eq!(schedule.due_before(250_000_000), 3);
    }

    #[test]
    fn as_many_are_due_before_a_moment_as_have_due_times_before_it() {
        for rate in [0.3, 7.0, 999.9, 333_333.3] {
            let until = Until::Over { warmup_ns: 0, measured_ns: 2 * SECOND };
            let schedule = Schedule::new(77, Pace::Open(rate), until, 1);
            for moment in [77, 78, 3_333_410, SECOND + 77, 2 * SECOND] {
                let counted = (0..).map_while(|index| schedule.due_ns(index));
                let counted = counted.take_while(|due_ns| *due_ns < moment).count();
                assert_eq!(schedule.due_before(moment), counted as u64, "{rate} {moment}");
            }
        }
    }

    #[test]
    fn a_closed_loop_has_no_due_times() {
        let schedule = Schedule::new(0, Pace::Closed, Until::Repetitions(3), 2);
        assert_eq!((schedule.due_ns(0), schedule.due_before(SECOND)), (None, 0));
    }
}
