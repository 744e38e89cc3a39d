//! Seeded choices: the same seed makes the same choices.

use slipring::{Randomness, SeededRandomness};

/// A source of choices.
pub struct Dice(SeededRandomness);

impl Dice {
    /// A source for one part of a run: parts with different names choose differently.
    pub fn new(seed: u64, part: u64) -> Dice {
        Dice(SeededRandomness::new(seed ^ part.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    }

    /// A number from 0 (inclusive) to `end` (exclusive).
    pub fn below(&self, end: u64) -> u64 {
        (self.0.unit() * end as f64) as u64
    }

    /// True with this probability.
    pub fn chance(&self, probability: f64) -> bool {
        self.0.unit() < probability
    }
}
