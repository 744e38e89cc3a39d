//! The state machine of a message: pure functions, the only place where a state may change.
//!
//! The picture is in `docs/semantics.md`. Stores call these functions with what they have stored
//! and write down what comes back; they never decide by themselves.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::error::{Error, ErrorKind};
use crate::failures::Reason;
use crate::lease::Fence;
use crate::message::NewMessage;
use crate::queue::{Backoff, QueueSettings};

/// Where a message stands. Done messages are not stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Waits for its delay or backoff to end.
    Delayed,
    /// A receive may take it.
    Ready,
    /// In a holder's hands.
    Leased,
    /// Stays, and is not handed out.
    Parked,
}

impl State {
    /// The name used in JSON, SQL and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            State::Delayed => "delayed",
            State::Ready => "ready",
            State::Leased => "leased",
            State::Parked => "parked",
        }
    }
}

/// How a holder ends its lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settlement {
    /// Done: the message leaves.
    Ack,
    /// Failed: the message comes back, or goes away when its attempts are used up (S6.2).
    Nack {
        /// How long to wait; `None` waits by the queue's backoff.
        delay: Option<Duration>,
        /// A new priority for the message.
        priority: Option<crate::message::Priority>,
        /// Why it failed; kept with the message (S6.8).
        reason: Option<Reason>,
    },
    /// Never reached its holder: back at once, the attempt not counted (S2.3).
    HandBack,
    /// Park it (bury).
    Park {
        /// A new priority for the message.
        priority: Option<crate::message::Priority>,
    },
    /// Give up now: to the dead-letter queue, or parked where there is none.
    DeadLetter {
        /// Why it failed; kept with the message (S6.8).
        reason: Option<Reason>,
    },
}

/// What a message does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// It leaves for good.
    Done,
    /// It is ready at once, with this count of attempts.
    Ready {
        /// Attempts to store.
        attempts: u32,
    },
    /// It waits until the moment.
    Delayed {
        /// When it is ready again.
        until: Timestamp,
    },
    /// It is parked.
    Parked,
    /// Its attempts are used up: to the dead-letter queue if there is one, else parked.
    DeadLetter,
}

/// What a store knows of a message when a receipt for it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    /// Its state.
    pub state: State,
    /// The fence of its newest hand-out.
    pub fence: Fence,
    /// The deadline of its newest hand-out.
    pub deadline: Timestamp,
    /// Attempts, the newest hand-out included.
    pub attempts: u32,
}

/// Where a message starts: ready, or delayed until a moment.
pub fn arrival(message: &NewMessage, settings: &QueueSettings, now: Timestamp) -> Next {
    let delay = message.delay.unwrap_or(settings.delay);
    if delay.is_zero() {
        Next::Ready { attempts: 0 }
    } else {
        Next::Delayed { until: now.after(delay) }
    }
}

/// How long a lease lasts: the receive's word, else the message's own, else the queue's.
pub fn lease_duration(
    asked: Option<Duration>,
    own: Option<Duration>,
    settings: &QueueSettings,
) -> Duration {
    asked.or(own).unwrap_or(settings.visibility_timeout)
}

/// How many messages a receive of at most `up_to` may get when one of them has failed `attempts`
/// times (S11.2): fewer as the tries of a queue with `max_attempts` run out, exactly one when the
/// coming delivery is the last try.
pub fn company(attempts: u32, up_to: u32, settings: &QueueSettings) -> u32 {
    let up_to = up_to.max(1);
    let (1.., Some(max)) = (attempts, settings.max_attempts) else { return up_to };
    let left = max.saturating_sub(attempts);
    if left <= 1 {
        return 1;
    }
    let halved = up_to.checked_shr(attempts).unwrap_or(0);
    halved.max(1_u32.checked_shl(left - 1).unwrap_or(u32::MAX)).min(up_to)
}

/// Whether the coming delivery of a message that has failed `attempts` times is its last try,
/// which a FIFO queue hands out alone (S11.3).
pub fn is_last_try(attempts: u32, settings: &QueueSettings) -> bool {
    attempts > 0 && settings.max_attempts.is_some_and(|max| attempts.saturating_add(1) >= max)
}

/// What a settlement does to a message (S3.3 to S3.5). `jitter` is a random number from 0 to 1.
///
/// # Errors
/// `LeaseLost` when the fence is not the newest, or the lease is over and the settlement is not
/// an ack of a standard queue.
pub fn settle(
    held: &Held,
    fence: Fence,
    settlement: &Settlement,
    settings: &QueueSettings,
    now: Timestamp,
    jitter: f64,
) -> Result<Next, Error> {
    if fence != held.fence {
        return Err(lease_lost("another hand-out is newer"));
    }
    if *settlement == Settlement::Ack && !settings.fifo {
        return Ok(Next::Done);
    }
    check_valid(held, fence, now)?;
    Ok(match settlement {
        Settlement::Ack => Next::Done,
        Settlement::HandBack => Next::Ready { attempts: held.attempts.saturating_sub(1) },
        Settlement::Park { .. } => Next::Parked,
        Settlement::DeadLetter { .. } => Next::DeadLetter,
        Settlement::Nack { delay, .. } => failure(held.attempts, *delay, settings, now, jitter),
    })
}

/// Checks that a lease may be prolonged (S3.3), or with `take_up` taken up again (S3.7).
///
/// # Errors
/// `LeaseLost` when the fence is not the newest, or the lease is over and not taken up.
pub fn check_prolong(
    held: &Held,
    fence: Fence,
    take_up: bool,
    settings: &QueueSettings,
    now: Timestamp,
) -> Result<(), Error> {
    let free = matches!(held.state, State::Ready | State::Leased) && held.attempts > 0;
    if take_up && !settings.fifo && free && fence == held.fence {
        return Ok(());
    }
    check_valid(held, fence, now)
}

/// Checks that a lease is valid (S3.1).
///
/// # Errors
/// `LeaseLost` when the fence is not the newest or the lease is over.
pub fn check_valid(held: &Held, fence: Fence, now: Timestamp) -> Result<(), Error> {
    if fence != held.fence {
        return Err(lease_lost("another hand-out is newer"));
    }
    if held.state != State::Leased {
        return Err(lease_lost("it was given back before, or its deadline had passed"));
    }
    if now >= held.deadline {
        return Err(lease_lost("its deadline has passed"));
    }
    Ok(())
}

/// What a lapse does: as a nack without delay, except that no backoff is waited, for the lease
/// was the wait.
pub fn lapse(attempts: u32, settings: &QueueSettings) -> Next {
    if settings.max_attempts.is_some_and(|max| attempts >= max) {
        Next::DeadLetter
    } else {
        Next::Ready { attempts }
    }
}

/// What a kick does: a parked or delayed message becomes ready, its attempts kept (S6.6); others
/// are not kicked.
pub fn kick(state: State, attempts: u32) -> Option<Next> {
    match state {
        State::Parked | State::Delayed => Some(Next::Ready { attempts }),
        State::Ready | State::Leased => None,
    }
}

/// Whether a message of this state may be cancelled or taken by id without a receipt.
pub fn free_to_take(state: State) -> bool {
    state != State::Leased
}

fn failure(
    attempts: u32,
    delay: Option<Duration>,
    settings: &QueueSettings,
    now: Timestamp,
    jitter: f64,
) -> Next {
    if settings.max_attempts.is_some_and(|max| attempts >= max) {
        return Next::DeadLetter;
    }
    let delay = delay.unwrap_or_else(|| backoff(attempts, settings.backoff, jitter));
    if delay.is_zero() {
        Next::Ready { attempts }
    } else {
        Next::Delayed { until: now.after(delay) }
    }
}

/// The wait before the next attempt, `attempts` having been made (S6.5).
pub fn backoff(attempts: u32, backoff: Backoff, jitter: f64) -> Duration {
    match backoff {
        Backoff::None => Duration::ZERO,
        Backoff::Fixed { delay } => delay,
        Backoff::Exponential { base, max } => {
            let doublings = attempts.saturating_sub(1).min(31);
            let whole = base.saturating_mul(1_u32 << doublings).min(max);
            whole.mul_f64(0.5 + 0.5 * jitter.clamp(0.0, 1.0))
        }
    }
}

fn lease_lost(why: &str) -> Error {
    Error::new(ErrorKind::LeaseLost, format!("the receipt no longer holds the message: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(max: Option<u32>) -> QueueSettings {
        QueueSettings { max_attempts: max, ..QueueSettings::default() }
    }

    fn held(state: State, attempts: u32) -> Held {
        Held { state, fence: Fence(5), deadline: Timestamp::from_millis(1000), attempts }
    }

    const NACK: Settlement = Settlement::Nack { delay: None, priority: None, reason: None };

    #[test]
    fn an_old_fence_is_refused_whatever_it_asks() {
        // S3.3, S3.4
        for what in
            [Settlement::Ack, NACK, Settlement::HandBack, Settlement::DeadLetter { reason: None }]
        {
            let now = Timestamp::from_millis(1);
            let answer =
                settle(&held(State::Leased, 1), Fence(4), &what, &settings(None), now, 0.0);
            assert_eq!(answer.unwrap_err().kind(), ErrorKind::LeaseLost);
        }
    }

    #[test]
    fn after_the_deadline_only_an_ack_with_the_newest_fence_counts() {
        // S3.3, S3.4
        let now = Timestamp::from_millis(1000);
        let late = held(State::Ready, 1);
        let ack = settle(&late, Fence(5), &Settlement::Ack, &settings(None), now, 0.0);
        assert_eq!(ack.unwrap(), Next::Done);
        let nack = settle(&late, Fence(5), &NACK, &settings(None), now, 0.0);
        assert_eq!(nack.unwrap_err().kind(), ErrorKind::LeaseLost);
        assert!(check_valid(&late, Fence(5), now).is_err());
        // What was given back before its deadline is not called late.
        let early = check_valid(&late, Fence(5), Timestamp::from_millis(1)).unwrap_err();
        assert!(early.message().ends_with("it was given back before, or its deadline had passed"));
        let late = check_valid(&held(State::Leased, 1), Fence(5), now).unwrap_err();
        assert!(late.message().ends_with("its deadline has passed"));
    }

    #[test]
    fn in_a_fifo_queue_an_ack_needs_the_valid_lease_too() {
        // S3.4
        let settings = QueueSettings { fifo: true, ..settings(None) };
        let ack = |state, ms| {
            let held = held(state, 1);
            let now = Timestamp::from_millis(ms);
            settle(&held, Fence(5), &Settlement::Ack, &settings, now, 0.0)
        };
        assert_eq!(ack(State::Leased, 999).unwrap(), Next::Done);
        for late in [ack(State::Leased, 1000), ack(State::Ready, 1)] {
            assert_eq!(late.unwrap_err().kind(), ErrorKind::LeaseLost);
        }
    }

    #[test]
    fn only_what_is_ready_after_the_newest_hand_out_is_taken_up() {
        // S3.7
        let now = Timestamp::from_millis(2000);
        let fifo = QueueSettings { fifo: true, ..settings(None) };
        let check = |state, attempts, fence, take_up, settings: &QueueSettings| {
            check_prolong(&held(state, attempts), Fence(fence), take_up, settings, now).is_ok()
        };
        let standard = settings(None);
        assert!(check(State::Ready, 1, 5, true, &standard));
        assert!(check(State::Leased, 1, 5, true, &standard));
        assert!(!check(State::Ready, 1, 5, false, &standard));
        assert!(!check(State::Ready, 1, 4, true, &standard));
        assert!(!check(State::Ready, 0, 5, true, &standard));
        assert!(!check(State::Delayed, 1, 5, true, &standard));
        assert!(!check(State::Parked, 1, 5, true, &standard));
        assert!(!check(State::Ready, 1, 5, true, &fifo));
    }

    #[test]
    fn the_last_failure_ends_in_the_dead_letter_queue() {
        // S6.2
        let now = Timestamp::from_millis(1);
        let nack = |attempts| {
            settle(&held(State::Leased, attempts), Fence(5), &NACK, &settings(Some(3)), now, 0.0)
        };
        assert_eq!(nack(2).unwrap(), Next::Ready { attempts: 2 });
        assert_eq!(nack(3).unwrap(), Next::DeadLetter);
        assert_eq!(lapse(2, &settings(Some(3))), Next::Ready { attempts: 2 });
        assert_eq!(lapse(3, &settings(Some(3))), Next::DeadLetter);
    }

    #[test]
    fn company_shrinks_as_tries_run_out_and_the_last_try_is_alone() {
        // S11.2
        assert_eq!(company(0, 100, &settings(Some(5))), 100);
        assert_eq!(company(1, 100, &settings(Some(5))), 50);
        assert_eq!(company(3, 100, &settings(Some(5))), 12);
        assert_eq!(company(4, 100, &settings(Some(5))), 1);
        assert_eq!(company(9, 100, &settings(Some(5))), 1);
        assert_eq!(company(90, 100, &settings(Some(100))), 100);
        assert_eq!(company(97, 100, &settings(Some(100))), 4);
        assert_eq!(company(98, 100, &settings(Some(100))), 2);
        assert_eq!(company(1, 1, &settings(Some(40))), 1);
        assert_eq!(company(1, u32::MAX, &settings(Some(40))), u32::MAX);
    }

    #[test]
    fn without_a_limit_on_attempts_no_company_shrinks() {
        // S11.2
        assert_eq!(company(40, 100, &settings(None)), 100);
        assert_eq!(company(40, 0, &settings(None)), 1);
    }

    #[test]
    fn only_a_message_that_has_failed_has_a_last_try() {
        // S11.3
        assert!(!is_last_try(0, &settings(Some(1))));
        assert!(!is_last_try(1, &settings(Some(3))));
        assert!(is_last_try(2, &settings(Some(3))));
        assert!(is_last_try(u32::MAX, &settings(Some(3))));
        assert!(!is_last_try(u32::MAX, &settings(None)));
    }

    #[test]
    fn exponential_backoff_doubles_to_its_ceiling_and_jitter_takes_at_most_half() {
        // S6.5
        let rule =
            Backoff::Exponential { base: Duration::from_secs(1), max: Duration::from_secs(60) };
        assert_eq!(backoff(1, rule, 1.0), Duration::from_secs(1));
        assert_eq!(backoff(4, rule, 1.0), Duration::from_secs(8));
        assert_eq!(backoff(4, rule, 0.0), Duration::from_secs(4));
        assert_eq!(backoff(4_000_000_000, rule, 1.0), Duration::from_secs(60));
    }
}
