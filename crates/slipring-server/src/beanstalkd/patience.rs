//! How long a connection may take: for a command that has begun, for reading its replies, and for
//! saying nothing.

use std::future::pending;

use slipring::Timestamp;
use slipring::clock::Sleep;

use super::server::Shared;
use crate::deadlines::{Arrival, Deadlines};

/// What a connection has time for while it is read from.
pub(super) struct Patience {
    /// Since when it has said nothing.
    quiet_since: Timestamp,
    /// The command that has begun and is not whole.
    arrival: Option<Arrival>,
    /// Fires no later than the next look has to be.
    timer: Option<(Timestamp, Sleep)>,
}

/// What a connection is at, as far as patience goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    /// A command has begun.
    Command,
    /// It holds jobs, whose times to run end by themselves.
    Holding,
    /// Nothing.
    Rest,
}

impl Patience {
    pub(super) fn new(now: Timestamp) -> Patience {
        Patience { quiet_since: now, arrival: None, timer: None }
    }

    /// So many bytes came.
    pub(super) fn came(&mut self, bytes: usize, now: Timestamp) {
        self.quiet_since = now;
        if let Some(arrival) = &mut self.arrival {
            arrival.came(bytes);
        }
    }

    /// A command came whole: the next one has its own time.
    pub(super) fn finished(&mut self) {
        self.arrival = None;
    }

    /// Whether the connection is late by now; otherwise the timer is set for the next look.
    pub(super) fn is_late(&mut self, at: At, shared: &Shared) -> bool {
        let (now, deadlines) = (shared.now(), &shared.settings.deadlines);
        let next = match at {
            At::Command => {
                let begin = || Arrival::begin(now, deadlines);
                let arrival = self.arrival.get_or_insert_with(begin);
                if arrival.is_late(now, deadlines) {
                    return true;
                }
                Some(arrival.look_at())
            }
            At::Holding | At::Rest => {
                self.arrival = None;
                let idle = self.quiet_since.after(deadlines.idle);
                if at == At::Rest && idle <= now {
                    return true;
                }
                // Who holds jobs now may rest later.
                Some(if at == At::Rest { idle } else { now.after(deadlines.idle) })
            }
        };
        if let Some(next) = next
            && self.timer.as_ref().is_none_or(|(set, _)| *set > next || *set <= now)
        {
            self.timer = Some((next, shared.engine.clock().sleep_until(next)));
        }
        false
    }

    /// Ends when it is time to look.
    pub(super) async fn fired(&mut self) {
        match &mut self.timer {
            Some((_, sleep)) => {
                sleep.as_mut().await;
                self.timer = None;
            }
            None => pending().await,
        }
    }
}

/// Ends when replies have found nothing read for too long; earlier where the room for answers is
/// scarce.
pub(super) async fn unread(shared: &Shared, deadlines: &Deadlines) {
    let (clock, leaving) = (shared.engine.clock(), &shared.leaving);
    let began = clock.now();
    loop {
        let scarce = leaving.is_scarce();
        let until = began.after(deadlines.unread(scarce));
        if until <= clock.now() {
            return;
        }
        tokio::select! {
            () = clock.sleep_until(until) => {}
            () = leaving.scarce(), if !scarce => {}
        }
    }
}
