//! What was pushed and popped, against what is left: nothing may be missing, nothing may be there
//! twice.

use std::cmp::Ordering;

/// The numbers of messages of one table.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    /// Messages there at the beginning, and pushed since then.
    went_in: Vec<i64>,
    /// Messages popped.
    came_out: Vec<i64>,
}

/// What is wrong in a table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wrong {
    /// Messages that are neither left nor popped.
    pub lost: u64,
    /// Messages popped or left more often than they were pushed, or never pushed.
    pub doubled: u64,
    /// Messages whose text does not fit their number.
    pub mixed: u64,
}

impl Wrong {
    /// All that is wrong.
    pub fn total(self) -> u64 {
        self.lost + self.doubled + self.mixed
    }
}

impl std::ops::AddAssign for Wrong {
    fn add_assign(&mut self, other: Wrong) {
        self.lost += other.lost;
        self.doubled += other.doubled;
        self.mixed += other.mixed;
    }
}

impl Ledger {
    /// The ledger of a table with the messages `0` to `backlog - 1`.
    pub fn new(backlog: i64) -> Ledger {
        Ledger { went_in: (0..backlog).collect(), came_out: Vec::new() }
    }

    /// Notes messages that went in and came out.
    pub fn note(&mut self, pushed: &[i64], popped: &[i64]) {
        self.went_in.extend(pushed);
        self.came_out.extend(popped);
    }

    /// Compares with what is left: each message's number, and the number in its text.
    pub fn check(mut self, left: &[(i64, i64)]) -> Wrong {
        let mixed = left.iter().filter(|(number, text)| number != text).count() as u64;
        let mut wrong = Wrong { mixed, ..Wrong::default() };
        self.came_out.extend(left.iter().map(|(number, _)| *number));
        self.went_in.sort_unstable();
        self.came_out.sort_unstable();
        let (mut ins, mut outs) = (self.went_in.iter().peekable(), self.came_out.iter().peekable());
        loop {
            let order = match (ins.peek(), outs.peek()) {
                (Some(went), Some(came)) => went.cmp(came),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => return wrong,
            };
            match order {
                Ordering::Less => wrong.lost += 1,
                Ordering::Greater => wrong.doubled += 1,
                Ordering::Equal => {}
            }
            if order != Ordering::Greater {
                ins.next();
            }
            if order != Ordering::Less {
                outs.next();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_doubled_or_mixed_is_found() {
        let mut ledger = Ledger::new(3);
        ledger.note(&[10, 11, 12], &[0, 1, 10]);
        let left = [(2, 2), (11, 11), (12, 12)];
        assert_eq!(ledger.clone().check(&left), Wrong::default());
        let wrong = ledger.clone().check(&left[1..]);
        assert_eq!((wrong.lost, wrong.total()), (1, 1));
        let wrong = ledger.clone().check(&[(2, 2), (11, 11), (12, 12), (10, 10)]);
        assert_eq!((wrong.doubled, wrong.total()), (1, 1));
        let wrong = ledger.check(&[(2, 2), (11, 12), (12, 12), (99, 99)]);
        assert_eq!((wrong.mixed, wrong.doubled), (1, 1));
    }
}
