//! Refused calls as log lines at `debug`: a few a second of each code, and how many were left out.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use slipring::{Clock, Timestamp};
use tokio::runtime::Handle;

/// So many lines of one code are written in the time of a window.
const LINES_MAX: u32 = 10;
const WINDOW: Duration = Duration::from_secs(1);

/// The refused calls of one protocol. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Refusals(Arc<Shared>);

struct Shared {
    protocol: &'static str,
    clock: Arc<dyn Clock>,
    by_code: Mutex<HashMap<String, Window>>,
}

/// What was refused with one code of late.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Window {
    ends: Timestamp,
    lines: u32,
    left_out: u64,
}

/// What to do about a refused call.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// Write its line, after one about so many that the last window left out.
    Tell { left_out_before: u64 },
    /// Leave it out. For the first one there is a time to tell how many there were.
    LeaveOut { sum_up_at: Option<Timestamp> },
}

impl Refusals {
    /// The refused calls of this protocol.
    pub(crate) fn of(protocol: &'static str, clock: Arc<dyn Clock>) -> Refusals {
        Refusals(Arc::new(Shared { protocol, clock, by_code: Mutex::default() }))
    }

    /// Notes that a call was refused with a code, of which there are few; `peer` is asked only for
    /// a line that is written.
    pub(crate) fn note(&self, code: &str, peer: impl FnOnce() -> Option<IpAddr>) {
        if !tracing::enabled!(tracing::Level::DEBUG) {
            return;
        }
        let protocol = self.0.protocol;
        match self.step(code, self.0.clock.now()) {
            Step::Tell { left_out_before } => {
                self.sum_up(code, left_out_before);
                let peer = peer().map(tracing::field::display);
                tracing::debug!(protocol, code, peer, "a call was refused");
            }
            Step::LeaveOut { sum_up_at: Some(at) } => self.sum_up_at(code, at),
            Step::LeaveOut { sum_up_at: None } => {}
        }
    }

    fn step(&self, code: &str, now: Timestamp) -> Step {
        let mut by_code = self.0.by_code.lock();
        let fresh = Window { ends: now.after(WINDOW), lines: 0, left_out: 0 };
        let window = match by_code.get_mut(code) {
            Some(window) => window,
            None => by_code.entry(code.to_owned()).or_insert(fresh),
        };
        let mut left_out_before = 0;
        if window.ends <= now {
            left_out_before = std::mem::replace(window, fresh).left_out;
        }
        if window.lines < LINES_MAX {
            window.lines += 1;
            return Step::Tell { left_out_before };
        }
        window.left_out += 1;
        Step::LeaveOut { sum_up_at: (window.left_out == 1).then_some(window.ends) }
    }

    /// Tells at the end of a window how many it left out, unless the next one has done so.
    fn sum_up_at(&self, code: &str, ends: Timestamp) {
        // Without a runtime the next window does it.
        let Ok(runtime) = Handle::try_current() else { return };
        let (refusals, code) = (self.clone(), code.to_owned());
        runtime.spawn(async move {
            refusals.0.clock.sleep_until(ends).await;
            let left_out = refusals.take_left_out(&code, ends);
            refusals.sum_up(&code, left_out);
        });
    }

    fn take_left_out(&self, code: &str, ends: Timestamp) -> u64 {
        let mut by_code = self.0.by_code.lock();
        let window = by_code.get_mut(code).filter(|window| window.ends == ends);
        window.map_or(0, |window| std::mem::take(&mut window.left_out))
    }

    fn sum_up(&self, code: &str, left_out: u64) {
        if left_out > 0 {
            let protocol = self.0.protocol;
            tracing::debug!(protocol, code, left_out, "more calls were refused");
        }
    }
}

#[cfg(test)]
mod tests {
    use slipring::ManualClock;

    use super::*;

    const CODE: &str = "BAD_FORMAT";

    fn refusals() -> Refusals {
        let clock = ManualClock::at(Timestamp::from_millis(0));
        Refusals::of("beanstalkd", Arc::new(clock))
    }

    fn at(ms: u64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    #[test]
    fn a_code_has_its_lines_a_second_and_others_have_theirs() {
        let refusals = refusals();
        for _ in 0..LINES_MAX {
            assert_eq!(refusals.step(CODE, at(1_000)), Step::Tell { left_out_before: 0 });
        }
        let first = Step::LeaveOut { sum_up_at: Some(at(2_000)) };
        assert_eq!(refusals.step(CODE, at(1_500)), first);
        assert_eq!(refusals.step(CODE, at(1_999)), Step::LeaveOut { sum_up_at: None });
        assert_eq!(refusals.step("DRAINING", at(1_999)), Step::Tell { left_out_before: 0 });
        assert_eq!(refusals.step(CODE, at(2_000)), Step::Tell { left_out_before: 2 });
        assert_eq!(refusals.step(CODE, at(9_000)), Step::Tell { left_out_before: 0 });
    }

    #[test]
    fn what_was_left_out_is_told_once() {
        let refusals = refusals();
        for _ in 0..LINES_MAX + 3 {
            refusals.step(CODE, at(1_000));
        }
        assert_eq!(refusals.take_left_out(CODE, at(1_000)), 0, "of another window");
        assert_eq!(refusals.take_left_out(CODE, at(2_000)), 3);
        assert_eq!(refusals.take_left_out(CODE, at(2_000)), 0);
        assert_eq!(refusals.step(CODE, at(2_000)), Step::Tell { left_out_before: 0 });
    }
}
