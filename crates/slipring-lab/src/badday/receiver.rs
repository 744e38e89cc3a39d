//! The receivers of the others. Now and then one holds what it got before it acks that, so that
//! what happens to the target meets messages that are held. One that is behind holds nothing.

use std::time::Duration;

use anyhow::bail;

use super::others::{CONNECT_AGAIN, Lane, Load, Shared, in_time};
use crate::body::Content;
use crate::crash::dice::Dice;
use crate::targets::{Caller, Target};
use crate::time::monotonic_ns;

/// How long a receive waits.
const RECEIVE_WAIT: Duration = Duration::from_secs(1);
/// Of so many receives that got something one holds it.
const HOLDS_EVERY: u64 = 2;
/// It is held for less than this part of the time between two sends, so that it keeps up.
const HELD_PART: f64 = 0.75;

/// Whether a receive holds what it got, and for how long.
struct Holding {
    dice: Dice,
    /// The time between two sends.
    interval_us: f64,
    receives: u64,
}

impl Holding {
    fn of(load: &Load, queue: usize) -> Holding {
        let dice = Dice::new(load.seed, 1 + queue as u64);
        Holding { dice, interval_us: 1e6 / load.rate, receives: 0 }
    }

    /// For the next receive, that got messages of which the last was due at a moment.
    fn next(&mut self, due_ns: u64, now_ns: u64) -> Option<Duration> {
        if now_ns.saturating_sub(due_ns) as f64 > self.interval_us * 1e3 {
            return None;
        }
        self.receives += 1;
        let below_us = (HELD_PART * self.interval_us) as u64;
        let holds = self.receives.is_multiple_of(HOLDS_EVERY);
        holds.then(|| Duration::from_micros(self.dice.below(below_us)))
    }
}

/// What a receiver holds. Messages that it lets go without an answered ack may come again.
struct Held<'a> {
    shared: &'a Shared,
    contents: Vec<Content>,
    /// For how long they were held by choice, which is no time of the target's.
    held_ns: u64,
    ack_asked: bool,
}

impl Held<'_> {
    fn acked(&mut self, queue: usize) {
        let contents = std::mem::take(&mut self.contents);
        self.shared.account.lock().acked(&numbers(&contents));
        let now_ns = monotonic_ns();
        if let Some(meter) = self.shared.meter.lock().as_mut() {
            for content in contents {
                meter.received(queue, content.due_ns + self.held_ns, now_ns);
            }
        }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.shared.account.lock().cut(&numbers(&self.contents), self.ack_asked);
    }
}

pub(super) fn numbers(contents: &[Content]) -> Vec<u64> {
    contents.iter().map(|content| content.number).collect()
}

/// Goes on until it is aborted.
pub(super) async fn receive<T: Target>(lane: Lane<T>, caller: T::Caller) {
    let (shared, mut caller) = (&*lane.shared, Some(caller));
    let mut holding = Holding::of(&shared.load, lane.queue);
    loop {
        let Some(own) = lane.connected(&mut caller, false).await else { return };
        let mut held = Held { shared, contents: Vec::new(), held_ns: 0, ack_asked: false };
        let received = async {
            let mut look = |body: &[u8]| shared.look(body, &mut held.contents);
            own.receive(shared.load.batch, RECEIVE_WAIT, &mut look).await?;
            let from_ns = monotonic_ns();
            let last_due_ns = held.contents.iter().map(|content| content.due_ns).max();
            if let Some(hold) = last_due_ns.and_then(|due_ns| holding.next(due_ns, from_ns)) {
                tokio::time::sleep(hold).await;
                held.held_ns = monotonic_ns() - from_ns;
                if own.is_cut().await {
                    bail!("the connection was cut while it held messages");
                }
            }
            held.ack_asked = true;
            own.ack().await
        };
        match in_time(received).await {
            Ok(()) => held.acked(lane.queue),
            Err(error) => {
                shared.cut(&error);
                caller = None;
                drop(held);
                tokio::time::sleep(CONNECT_AGAIN).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn every_second_receive_holds_for_less_than_the_time_between_two_sends_unless_it_is_behind() {
        let (window, left_within) = (Duration::from_secs(1), Duration::from_secs(1));
        let load = Load { queues: 1, rate: 50.0, batch: 1, window, left_within, seed: 3 };
        let of = |late_ms: u64| {
            let mut holding = Holding::of(&load, 0);
            let held = (0..100).filter_map(|_| holding.next(MS, (1 + late_ms) * MS));
            held.collect::<Vec<_>>()
        };
        let held = of(19);
        assert!(held.iter().all(|hold| *hold < Duration::from_millis(15)), "{held:?}");
        assert_eq!((held.len(), of(19), of(21).len()), (50, held.clone(), 0));
    }
}
