//! Randomness as an argument: the system's source and a seeded one.

use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::{Rng, RngCore, SeedableRng};

/// Where keys and jitter come from.
pub trait Randomness: Send + Sync + 'static {
    /// Fills `bytes` with random bytes.
    fn fill(&self, bytes: &mut [u8]);

    /// A number from 0 (inclusive) to 1 (exclusive).
    fn unit(&self) -> f64 {
        let mut bytes = [0; 8];
        self.fill(&mut bytes);
        (u64::from_le_bytes(bytes) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// The operating system's cryptographic source.
#[derive(Debug, Default, Clone, Copy)]
pub struct SystemRandomness;

impl Randomness for SystemRandomness {
    fn fill(&self, bytes: &mut [u8]) {
        rand::rng().fill_bytes(bytes);
    }
}

/// A source that repeats itself for the same seed, for reproducible tests and simulations.
#[derive(Debug)]
pub struct SeededRandomness(Mutex<StdRng>);

impl SeededRandomness {
    /// A source started from `seed`.
    pub fn new(seed: u64) -> SeededRandomness {
        SeededRandomness(Mutex::new(StdRng::seed_from_u64(seed)))
    }
}

impl Randomness for SeededRandomness {
    fn fill(&self, bytes: &mut [u8]) {
        self.0.lock().fill(bytes);
    }
}
