//! What all reports know of the things that a row ran by turns.

use super::condition::Condition;
use crate::stats::Summary;

/// One of the things that a row ran by turns, with what was measured.
pub trait Measured {
    /// Its name within the row.
    fn name(&self) -> &str;
    /// Messages per second over the rounds, where it could be measured.
    fn rate(&self) -> Option<&Summary>;
}

/// The contender of a name.
pub fn named<'a, C: Measured>(contenders: &'a [C], name: &str) -> Option<&'a C> {
    contenders.iter().find(|contender| contender.name() == name)
}

/// The median rate of a contender; not a number for one that is not there, which meets nothing.
pub fn rate<C: Measured>(contenders: &[C], name: &str) -> f64 {
    named(contenders, name).and_then(Measured::rate).map_or(f64::NAN, |rate| rate.median)
}

/// The median rate of one contender is at least `factor` times that of another.
pub fn times<C: Measured>(contenders: &[C], own: &str, other: &str, factor: f64) -> Condition {
    Condition::times(rate(contenders, own), rate(contenders, other), other, factor)
}

/// Rounds in which each of so many contenders is run once: the round, and who has its turn. The
/// first one of each round changes, so that none always runs in the wake of the same other.
pub fn turns(contenders: usize, rounds: usize) -> impl Iterator<Item = (usize, usize)> {
    let round = move |round| (0..contenders).map(move |turn| (round, (turn + round) % contenders));
    (0..rounds).flat_map(round)
}

#[cfg(test)]
mod tests {
    use super::turns;

    #[test]
    fn each_contender_has_a_turn_in_each_round_and_another_one_begins() {
        let found: Vec<_> = turns(3, 2).collect();
        assert_eq!(found, [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (1, 0)]);
        assert_eq!(turns(0, 5).count(), 0);
    }
}
