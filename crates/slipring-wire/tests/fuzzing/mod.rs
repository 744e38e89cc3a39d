//! Random damage to recorded bytes, for as long as the run may take.
//!
//! Two seconds, or `SLIPRING_FUZZ_SECONDS`. A failure prints its seed; `SLIPRING_FUZZ_SEED` plays
//! it again.

// How many rounds were run is worth a line.
#![allow(clippy::print_stdout)]

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// Splitmix64: small, and the same on every machine.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        if end == 0 { 0 } else { (self.next() % end as u64) as usize }
    }

    /// Up to seven changes; `tokens` are what is likely to hit a border.
    pub fn damage(&mut self, bytes: &mut Vec<u8>, tokens: &[&[u8]]) {
        for _ in 0..self.below(8) {
            let at = self.below(bytes.len() + 1);
            match self.below(6) {
                0 if at < bytes.len() => bytes[at] = self.next() as u8,
                1 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
                2 => {
                    let end = (at + self.below(40)).min(bytes.len());
                    bytes.drain(at..end);
                }
                3 => {
                    let token = tokens[self.below(tokens.len())];
                    bytes.splice(at..at, token.iter().copied());
                }
                4 => {
                    let end = (at + self.below(200)).min(bytes.len());
                    let copy = bytes[at..end].to_vec();
                    bytes.splice(at..at, copy);
                }
                _ => {
                    let junk: Vec<u8> = (0..self.below(300)).map(|_| self.next() as u8).collect();
                    bytes.splice(at..at, junk);
                }
            }
        }
    }
}

/// Runs cases until the time is over. `case` makes one out of a seed: a text that shows it, and
/// what must not panic.
pub fn fuzz<C: FnOnce()>(case: impl Fn(u64) -> (String, C) + Send + 'static) {
    let number = |name| std::env::var(name).ok().and_then(|text: String| text.parse().ok());
    if let Some(seed) = number("SLIPRING_FUZZ_SEED") {
        return run(&case, seed);
    }
    let stop = Arc::new(AtomicBool::new(false));
    let (failed, failure) = mpsc::channel::<()>();
    let worker = std::thread::spawn({
        let stop = stop.clone();
        move || {
            // Dropped by a panic too, which ends the wait below.
            let _failed = failed;
            let mut rounds = 0;
            while !stop.load(Ordering::Relaxed) {
                run(&case, rounds);
                rounds += 1;
            }
            rounds
        }
    });
    let seconds = number("SLIPRING_FUZZ_SECONDS").unwrap_or(2);
    let _ = failure.recv_timeout(Duration::from_secs(seconds));
    stop.store(true, Ordering::Relaxed);
    match worker.join() {
        Ok(rounds) => eprintln!("{rounds} rounds"),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

fn run<C: FnOnce()>(case: &impl Fn(u64) -> (String, C), seed: u64) {
    let (shown, check) = case(seed);
    if let Err(panic) = std::panic::catch_unwind(AssertUnwindSafe(check)) {
        eprintln!("SLIPRING_FUZZ_SEED={seed} bytes {shown:?}");
        std::panic::resume_unwind(panic);
    }
}
