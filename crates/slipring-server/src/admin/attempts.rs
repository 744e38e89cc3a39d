//! Wrong tokens: each is told to the log with its address, and answered later the more of them
//! that address has sent.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use slipring::{Clock, Timestamp};

/// The first wrong token of an address is answered so late, the next ones each twice as late.
const STEP: Duration = Duration::from_millis(100);
const STEP_MAX: Duration = Duration::from_secs(5);
/// However many come at once, one of them holds its connection no longer.
const LATE_MAX: Duration = Duration::from_secs(30);
/// An address is forgotten when it has sent none for so long.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(600);
/// Most addresses that are known; beyond them all others count as one.
const ADDRESSES_MAX: usize = 10_000;
const ALL_OTHERS: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

/// The wrong tokens of late.
pub(super) struct Attempts {
    clock: Arc<dyn Clock>,
    by_address: Mutex<HashMap<IpAddr, Line>>,
}

/// The wrong tokens of one address, which are answered one after another.
#[derive(Debug, Clone, Copy)]
struct Line {
    failures: u32,
    /// When the last of them is answered.
    free_at: Timestamp,
}

impl Attempts {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Attempts {
        Attempts { clock, by_address: Mutex::default() }
    }

    /// Notes a wrong token, and ends when it may be answered.
    pub(super) async fn failed(&self, address: IpAddr) {
        let now = self.clock.now();
        let line = self.enter(address, now);
        // The first, the second, the fourth: guessing must not fill the log.
        if line.failures.is_power_of_two() {
            tracing::warn!(%address, failures = line.failures, "a wrong admin token");
        }
        self.clock.sleep_until(line.free_at.min(now.after(LATE_MAX))).await;
    }

    fn enter(&self, address: IpAddr, now: Timestamp) -> Line {
        let mut known = self.by_address.lock();
        if known.len() >= ADDRESSES_MAX && !known.contains_key(&address) {
            known.retain(|_, line| line.free_at.after(FORGOTTEN_AFTER) > now);
        }
        let full = known.len() >= ADDRESSES_MAX && !known.contains_key(&address);
        let key = if full { ALL_OTHERS } else { address };
        let line = known.entry(key).or_insert(Line { failures: 0, free_at: now });
        if line.free_at.after(FORGOTTEN_AFTER) <= now {
            *line = Line { failures: 0, free_at: now };
        }
        let step = STEP.saturating_mul(1 << line.failures.min(16)).min(STEP_MAX);
        line.failures = line.failures.saturating_add(1);
        line.free_at = line.free_at.max(now).after(step);
        *line
    }
}

impl std::fmt::Debug for Attempts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Attempts").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use slipring::ManualClock;

    use super::*;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([127, 0, 0, last])
    }

    #[test]
    fn each_wrong_token_is_answered_later_and_other_addresses_are_not() {
        let clock = ManualClock::at(Timestamp::from_millis(1_000_000));
        let attempts = Attempts::new(Arc::new(clock.clone()));
        let start = clock.now();
        let late = |line: Line| start.until(line.free_at).as_millis();
        let lines: Vec<u128> = (0..4).map(|_| late(attempts.enter(address(1), start))).collect();
        assert_eq!(lines, [100, 300, 700, 1500]);
        assert_eq!(late(attempts.enter(address(2), start)), 100);
        for _ in 0..100 {
            attempts.enter(address(1), start);
        }
        let later = start.after(Duration::from_secs(3600));
        assert_eq!(attempts.enter(address(1), later).failures, 1);
    }

    #[tokio::test]
    async fn a_wrong_token_waits_for_the_clock() {
        let clock = ManualClock::at(Timestamp::from_millis(1_000_000));
        let attempts = Attempts::new(Arc::new(clock.clone()));
        let mut waiting = std::pin::pin!(attempts.failed(address(1)));
        assert!(futures::poll!(waiting.as_mut()).is_pending());
        clock.advance(STEP);
        waiting.await;
    }

    #[test]
    fn addresses_beyond_the_limit_count_as_one() {
        let clock = ManualClock::at(Timestamp::from_millis(1_000_000));
        let attempts = Attempts::new(Arc::new(clock.clone()));
        let now = clock.now();
        for number in 0..(ADDRESSES_MAX as u32 + 5) {
            attempts.enter(IpAddr::V4(Ipv4Addr::from_bits(number + 1)), now);
        }
        assert_eq!(attempts.by_address.lock().len(), ADDRESSES_MAX + 1);
        assert_eq!(attempts.enter(address(9), now).failures, 6);
    }
}
