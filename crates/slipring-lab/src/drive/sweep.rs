//! Which rates an open loop is driven at: a list, or a search for the highest that is sustained.

/// A search ends when the best rate and the lowest that failed are this close together.
const CLOSE_ENOUGH: f64 = 1.05;
/// No search takes more steps.
const STEPS_MAX: usize = 40;
/// Below this rate nothing is searched, operations per second.
const RATE_MIN: f64 = 0.1;

/// What one step at a rate showed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Seen {
    /// Operations per second that were due.
    pub offered: f64,
    /// Share of them that started late or never, from 0 to 1.
    pub late_share: f64,
    /// Whether all of those that started were answered without a failure.
    pub answered: bool,
}

/// The rates of one run, one after the other.
#[derive(Debug, Clone)]
pub enum Sweep {
    /// These rates.
    List(std::vec::IntoIter<f64>),
    /// Raise while the share of late starts is at most the limit, else back off.
    Search(Search),
}

/// A search for the highest rate with few late starts.
#[derive(Debug, Clone, PartialEq)]
pub struct Search {
    next: f64,
    late_share_max: f64,
    /// The highest rate that was sustained.
    best: Option<f64>,
    /// The lowest rate that was not.
    failed: Option<f64>,
    /// Whether the last rate failed once: it is tried again, for one hiccup of the machine must not
    /// halve the rate for good.
    doubted: bool,
    steps: usize,
}

impl Search {
    /// From a rate on, with a limit for the share of late starts.
    pub fn new(first: f64, late_share_max: f64) -> Search {
        Search { next: first, late_share_max, best: None, failed: None, doubted: false, steps: 0 }
    }

    /// The highest rate that was sustained so far.
    pub fn best(&self) -> Option<f64> {
        self.best
    }

    /// Whether a step was sustained.
    pub fn sustained(&self, seen: &Seen) -> bool {
        seen.answered && seen.late_share <= self.late_share_max
    }

    /// The rate after the step that `seen` tells of; nothing when the search is over.
    fn after(&mut self, seen: &Seen) -> Option<f64> {
        self.steps += 1;
        let sustained = self.sustained(seen);
        self.doubted = !sustained && !self.doubted;
        if self.doubted && self.steps < STEPS_MAX {
            return Some(self.next);
        }
        if sustained {
            self.best = Some(self.best.map_or(seen.offered, |best| best.max(seen.offered)));
        } else {
            let failed = self.failed.map_or(seen.offered, |failed| failed.min(seen.offered));
            self.failed = Some(failed);
        }
        let next = match (self.best, self.failed) {
            (Some(best), Some(failed)) if failed <= best * CLOSE_ENOUGH => return None,
            // Half way as a ratio: both sides are halved in as many steps.
            (Some(best), Some(failed)) => (best * failed).sqrt(),
            (Some(best), None) => best * 2.0,
            (None, Some(failed)) => failed / 2.0,
            (None, None) => return None,
        };
        self.next = next;
        (self.steps < STEPS_MAX && next >= RATE_MIN).then_some(next)
    }
}

impl Sweep {
    /// These rates, one after the other.
    pub fn list(rates: Vec<f64>) -> Sweep {
        Sweep::List(rates.into_iter())
    }

    /// The first rate; nothing for an empty list.
    pub fn first(&mut self) -> Option<f64> {
        match self {
            Sweep::List(rates) => rates.next(),
            Sweep::Search(search) => Some(search.next),
        }
    }

    /// The next rate after a step; nothing when there are no more.
    pub fn after(&mut self, seen: &Seen) -> Option<f64> {
        match self {
            Sweep::List(rates) => rates.next(),
            Sweep::Search(search) => search.after(seen),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a search against a target that sustains everything up to `capacity`.
    fn search(first: f64, capacity: f64) -> (Option<f64>, Vec<f64>) {
        let mut sweep = Sweep::Search(Search::new(first, 0.01));
        let mut rates = Vec::new();
        let mut next = sweep.first();
        while let Some(offered) = next {
            rates.push(offered);
            let late_share = if offered > capacity { 0.4 } else { 0.002 };
            next = sweep.after(&Seen { offered, late_share, answered: true });
        }
        let Sweep::Search(search) = sweep else { unreachable!() };
        (search.best(), rates)
    }

    #[test]
    fn a_search_ends_close_below_what_is_sustained() {
        for (first, capacity) in [(1000.0, 73_000.0), (1_000_000.0, 12_345.0), (50.0, 50.0)] {
            let (best, rates) = search(first, capacity);
            let best = best.unwrap();
            assert!(best <= capacity && best * CLOSE_ENOUGH >= capacity, "{best} of {capacity}");
            assert!(rates.len() < STEPS_MAX, "{rates:?}");
        }
    }

    #[test]
    fn a_search_raises_while_starts_are_in_time_and_backs_off_when_they_are_late() {
        let (_, rates) = search(100.0, 150.0);
        assert_eq!(&rates[..3], [100.0, 200.0, 200.0]);
        assert!(rates[3] > 100.0 && rates[3] < 200.0, "{rates:?}");
        let (_, rates) = search(100.0, 30.0);
        assert_eq!(&rates[..5], [100.0, 100.0, 50.0, 50.0, 25.0]);
    }

    #[test]
    fn one_hiccup_of_the_machine_does_not_make_a_search_back_off() {
        let mut search = Search::new(100.0, 0.01);
        let step = |late_share| Seen { offered: 100.0, late_share, answered: true };
        assert_eq!(search.after(&step(0.5)), Some(100.0));
        assert_eq!(search.after(&step(0.0)), Some(200.0));
        assert_eq!((search.best(), search.failed), (Some(100.0), None));
    }

    #[test]
    fn what_is_never_sustained_and_what_always_is_both_end() {
        assert_eq!(search(100.0, 0.0).0, None);
        assert!(search(100.0, f64::INFINITY).1.len() <= STEPS_MAX);
    }

    #[test]
    fn a_failure_is_not_sustained() {
        let search = Search::new(1.0, 0.01);
        assert!(!search.sustained(&Seen { offered: 1.0, late_share: 0.0, answered: false }));
    }

    #[test]
    fn a_list_is_driven_as_it_stands() {
        let mut sweep = Sweep::list(vec![5.0, 1.0]);
        let seen = Seen { offered: 5.0, late_share: 1.0, answered: false };
        assert_eq!(
            (sweep.first(), sweep.after(&seen), sweep.after(&seen)),
            (Some(5.0), Some(1.0), None)
        );
    }
}
