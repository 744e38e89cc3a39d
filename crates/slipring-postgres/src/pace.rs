//! How many messages one receive takes where answers arrive slowly.
//!
//! PostgreSQL sends the rows of an answer before it commits, so a receive has the queue's lock for
//! as long as its answer is on the line. Where that took long, the next receives take fewer
//! messages, down to one, and more again where it did not (decision 0049).

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use slipring::store::Demand;

/// An answer that takes longer is slow, if it has so many bytes: a short one has waited for
/// something else.
const SLOW: Duration = Duration::from_secs(1);
const SLOW_BYTES: u64 = 256 << 10;
/// One that has not come by then is lost.
const LOST: Duration = Duration::from_secs(4);
/// From so many messages on there is no limit.
const UNLIMITED: u32 = 16_384;

/// The most messages of one receive.
#[derive(Debug)]
pub(crate) struct Pace {
    messages: AtomicU32,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace { messages: AtomicU32::new(UNLIMITED) }
    }
}

impl Pace {
    /// What the first of these demands may have at once; the others have to come again.
    pub(crate) fn share(&self, demands: &[Demand]) -> Vec<Demand> {
        let mut left = match self.messages.load(Ordering::Relaxed) {
            UNLIMITED => u32::MAX,
            limit => limit,
        };
        let mut shares = Vec::with_capacity(demands.len());
        for demand in demands {
            if left == 0 {
                break;
            }
            let up_to = demand.up_to.clamp(1, left);
            left -= up_to;
            shares.push(Demand { up_to, ..*demand });
        }
        shares
    }

    /// A receive has given so many messages, in an answer that took so long when it had the lock.
    pub(crate) fn given(&self, messages: usize, bytes: u64, took: Duration) {
        let limit = self.messages.load(Ordering::Relaxed);
        let messages = u32::try_from(messages).unwrap_or(u32::MAX);
        let next = if took > SLOW && bytes >= SLOW_BYTES {
            (messages / 2).clamp(1, limit)
        } else if messages >= limit {
            limit.saturating_mul(2).min(UNLIMITED)
        } else {
            return;
        };
        self.messages.store(next, Ordering::Relaxed);
    }

    /// A receive has got no answer in so long.
    pub(crate) fn failed(&self, took: Duration) {
        if took > LOST {
            self.messages.store(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(pace: &Pace, wanted: &[u32]) -> Vec<u32> {
        let demand = |up_to: &u32| Demand { up_to: *up_to, lease: None, session: false };
        let demands: Vec<Demand> = wanted.iter().map(demand).collect();
        pace.share(&demands).iter().map(|demand| demand.up_to).collect()
    }

    #[test]
    fn slow_answers_have_fewer_messages_and_others_more() {
        let (pace, slow) = (Pace::default(), SLOW * 2);
        assert_eq!(shares(&pace, &[10, 0, 10_000_000]), [10, 1, 10_000_000]);
        pace.given(64, SLOW_BYTES, slow);
        assert_eq!(shares(&pace, &[10, 30, 5]), [10, 22]);
        // It has waited for something else.
        pace.given(31, SLOW_BYTES - 1, slow);
        assert_eq!(shares(&pace, &[100]), [32]);
        for _ in 0..8 {
            pace.given(1, SLOW_BYTES, slow);
        }
        assert_eq!(shares(&pace, &[10, 10]), [1]);
        // One that had less than it might says nothing.
        pace.given(0, 0, Duration::ZERO);
        assert_eq!(shares(&pace, &[10, 10]), [1]);
        for messages in (0..14).map(|n| 1 << n) {
            pace.given(messages, SLOW_BYTES, SLOW);
        }
        assert_eq!(shares(&pace, &[100_000]), [100_000]);
    }

    #[test]
    fn an_answer_that_does_not_come_is_not_waited_for_a_second_time() {
        let pace = Pace::default();
        pace.failed(LOST / 2);
        assert_eq!(shares(&pace, &[100]), [100]);
        pace.failed(LOST * 2);
        assert_eq!(shares(&pace, &[100]), [1]);
    }
}
