//! Timers of waiting receives: one wheel, one lock and one sleeping task per shard (law 1).

use std::sync::Arc;
use std::sync::Weak;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::clock::{Clock, Timestamp};
use crate::waits::{NamedMutex, Waits};

use super::receives::{Receives, Ticket};
use super::wheel::{TimerKey, Wheel};

/// Length of a tick in milliseconds. A wait ends at most one tick and one wake-up late (S5.4).
/// Longer ticks would save wake-ups of the shard's task, but short waits would end late by most of
/// a tick, and all at once.
const TICK_MS: u64 = 1;

/// One shard of timers.
pub(super) struct Timers {
    clock: Arc<dyn Clock>,
    state: NamedMutex<State>,
    changed: Notify,
}

struct State {
    wheel: Wheel<(Weak<Receives>, Ticket)>,
    /// The tick the task sleeps towards; `u64::MAX` when it sleeps for good.
    armed: u64,
}

impl Timers {
    pub(super) fn new(clock: Arc<dyn Clock>, waits: &Waits) -> Timers {
        let wheel = Wheel::new(clock.now().as_millis() / TICK_MS);
        let state = State { wheel, armed: u64::MAX };
        let state = NamedMutex::new(waits.class("timer_wheel_lock"), state);
        Timers { clock, state, changed: Notify::new() }
    }

    /// Ends the wait `ticket` of `receives` at the moment `at`, which [`Clock::end_of`] gave, never
    /// before.
    pub(super) fn insert(
        &self,
        at: Timestamp,
        receives: Weak<Receives>,
        ticket: Ticket,
    ) -> TimerKey {
        let tick = at.as_millis().div_ceil(TICK_MS);
        let mut state = self.state.lock();
        let key = state.wheel.insert(tick, (receives, ticket));
        let earlier = tick < state.armed;
        drop(state);
        if earlier {
            self.changed.notify_one();
        }
        key
    }

    /// Forgets a timer; nothing happens when it has fired.
    pub(super) fn cancel(&self, key: TimerKey) {
        self.state.lock().wheel.cancel(key);
    }

    /// Fires timers until `stop`.
    pub(super) async fn run(self: Arc<Timers>, stop: CancellationToken) {
        let mut fired = Vec::new();
        loop {
            let next = {
                let mut state = self.state.lock();
                let now = self.clock.now().as_millis() / TICK_MS;
                state.wheel.advance(now, |waiter| fired.push(waiter));
                state.armed = state.wheel.next_tick().unwrap_or(u64::MAX);
                state.armed
            };
            // The shard's lock is free here: a queue's lock is never taken under it.
            for (receives, ticket) in fired.drain(..) {
                if let Some(receives) = receives.upgrade() {
                    receives.time_out(ticket);
                }
            }
            let sleep = async {
                match next {
                    u64::MAX => std::future::pending().await,
                    tick => {
                        let at = Timestamp::from_millis(tick.saturating_mul(TICK_MS));
                        self.clock.sleep_to_end(at).await;
                    }
                }
            };
            tokio::select! {
                () = sleep => {}
                () = self.changed.notified() => {}
                () = stop.cancelled() => return,
            }
        }
    }
}
