//! Real messages: a send on queue B wakes a receive that waits there, alone and beside queue A in
//! several states, from waits that end empty to as many messages as it can carry.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::Result;
use tokio::runtime::Runtime;

use super::contender::{Contender, Kind, Place};
use super::lane::Lane;
use super::load::{Callers, Counted};
use super::storm::END_WITHIN;
use super::waits::{self, WaitTable};
use crate::ledger::Checks;

/// Receives on queue A have this time-out, as in the storm.
const TIME_OUT: Duration = Duration::from_millis(10);
/// A receive on queue B waits much longer than a message is away.
const LONG: Duration = Duration::from_millis(500);
/// Messages per second on queue B.
const QUIET_RATE: f64 = 100.0;
/// Messages per second on queue A where it is busy but not full.
const BUSY_RATE: f64 = 2_000.0;
/// Senders that send to queue A as fast as they are answered.
const SENDERS: usize = 16;

/// What happens on queue A meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Busy {
    /// Nothing.
    Not,
    /// Callers wait there in vain, again and again.
    Waits,
    /// The callers get a fixed number of messages in a second.
    Rate,
    /// The callers get as many messages as can be sent.
    Full,
}

impl Busy {
    /// All, in the order of the table.
    pub const ALL: [Busy; 4] = [Busy::Not, Busy::Waits, Busy::Rate, Busy::Full];

    /// What tables call it.
    pub fn name(self, callers: usize) -> String {
        match self {
            Busy::Not => "B alone".to_owned(),
            Busy::Waits => format!("{callers} on A wait in vain"),
            Busy::Rate => format!("{callers} on A, {BUSY_RATE:.0} messages/s"),
            Busy::Full => format!("{callers} on A, {SENDERS} senders"),
        }
    }
}

/// How long, and with how many callers on queue A.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wake {
    /// What happens on queue A.
    pub busy: Busy,
    /// Callers on queue A.
    pub callers: usize,
    /// Seconds.
    pub seconds: f64,
}

/// What the messages took.
pub struct Woken {
    /// From the send on queue B to the return of the receive that got the message.
    pub wakes: Counted,
    /// Messages per second that queue A has carried: sent, received and acked.
    pub busy_rate: f64,
    /// The messages of queues A and B, checked.
    pub checks: [Checks; 2],
    /// What the wait classes counted.
    pub classes: WaitTable,
}

/// Runs it on a contender that is started for it.
///
/// # Errors
/// Those of the engine; when a message does not come, or comes damaged.
pub fn run(runtime: &Runtime, kind: Kind, wake: &Wake, folder: &Path) -> Result<Woken> {
    let folder = tempfile::tempdir_in(folder)?;
    let contender = Arc::new(runtime.block_on(Contender::open(kind, folder.path()))?);
    let (quiet, busy) = (Lane::new(&contender, Place::B)?, Lane::new(&contender, Place::A)?);
    let before = contender.waits();
    let mut receivers =
        vec![Callers::start(runtime, 1, &quiet.end, || quiet.clone().receive(LONG))?];
    if wake.busy != Busy::Not {
        let receive = || busy.clone().receive(TIME_OUT);
        receivers.push(Callers::start(runtime, wake.callers, &busy.end, receive)?);
    }
    let send = || quiet.clone().send_at(QUIET_RATE);
    let mut senders = vec![Callers::start(runtime, 1, &quiet.sent, send)?];
    match wake.busy {
        Busy::Not | Busy::Waits => {}
        Busy::Rate => {
            let send = || busy.clone().send_at(BUSY_RATE);
            senders.push(Callers::start(runtime, 1, &busy.sent, send)?);
        }
        Busy::Full => {
            let send = || busy.clone().send_all();
            senders.push(Callers::start(runtime, SENDERS, &busy.sent, send)?);
        }
    }
    let began = Instant::now();
    if let Some(first) = senders.first_mut() {
        first.wait(Duration::from_secs_f64(wake.seconds));
    }
    let busy_rate = busy.ledger.checks().received as f64 / began.elapsed().as_secs_f64();
    let classes = waits::between(&before, &contender.waits());
    for lane in [&quiet, &busy] {
        lane.sent.store(true, Ordering::Relaxed);
    }
    finish(senders)?;
    if !receivers.iter_mut().any(Callers::failed) {
        quiet.arrived()?;
        busy.arrived()?;
    }
    finish(receivers)?;
    runtime.block_on(contender.close());
    let checks = [busy.ledger.final_checks(), quiet.ledger.final_checks()];
    Ok(Woken { wakes: quiet.tally.counted()?, busy_rate, checks, classes })
}

fn finish(all: Vec<Callers>) -> Result<()> {
    all.into_iter().try_for_each(|callers| callers.finish(END_WITHIN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_comes_once_whatever_happens_on_the_other_queue() {
        let runtime = Runtime::new().unwrap();
        let folder = tempfile::tempdir().unwrap();
        for (kind, busy) in Kind::ALL.into_iter().flat_map(|kind| Busy::ALL.map(|b| (kind, b))) {
            let wake = Wake { busy, callers: 5, seconds: 0.2 };
            let woken = run(&runtime, kind, &wake, folder.path()).unwrap();
            let [on_a, on_b] = woken.checks;
            let what = format!("{} {busy:?} {:?}", kind.name(), woken.checks);
            assert!(on_b.sent > 0 && on_b.received == on_b.sent, "{what}");
            assert_eq!(woken.wakes.overhead.percentiles().count, on_b.sent, "{what}");
            assert_eq!(on_a.sent > 0, matches!(busy, Busy::Rate | Busy::Full), "{what}");
            for checks in woken.checks {
                assert_eq!((checks.missing, checks.duplicates), (0, 0), "{what}");
            }
            assert!(!woken.classes.is_empty());
        }
    }
}
