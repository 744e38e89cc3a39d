//! How long a client may take: for a request, for reading its answer, and for saying nothing.

use std::time::Duration;

use slipring::Timestamp;

/// The times of one listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// A connection that holds nothing and waits for nothing may be silent so long. Default a
    /// minute, for beanstalkd an hour.
    pub idle: Duration,
    /// A request's head must be there so long after its first byte. Default 10 s. Not used by
    /// beanstalkd.
    pub head: Duration,
    /// A request's body must be there so long after its head, and a command of beanstalkd with its
    /// job so long after its first byte. Default a minute.
    pub request: Duration,
    /// Bytes a second that a body must come with, measured over `stalled`. Default 1,024.
    pub rate_bytes_min: u64,
    /// How long a body may come more slowly, and how long an answer that does not fit the socket
    /// may find nothing read of it; a tenth of that where the room for answers is scarce. Default
    /// 10 s.
    pub stalled: Duration,
}

impl Default for Deadlines {
    fn default() -> Deadlines {
        Deadlines {
            idle: Duration::from_secs(60),
            head: Duration::from_secs(10),
            request: Duration::from_secs(60),
            rate_bytes_min: 1024,
            stalled: Duration::from_secs(10),
        }
    }
}

impl Deadlines {
    /// How long an answer may find nothing read of it.
    pub(crate) fn unread(&self, scarce: bool) -> Duration {
        if scarce { self.stalled / 10 } else { self.stalled }
    }
}

/// A body on its way in: when it has to be there, and whether it comes fast enough.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    whole_by: Timestamp,
    window_ends: Timestamp,
    window_bytes: u64,
}

impl Arrival {
    /// A body whose head is there.
    pub(crate) fn begin(now: Timestamp, deadlines: &Deadlines) -> Arrival {
        Arrival {
            whole_by: now.after(deadlines.request),
            window_ends: now.after(deadlines.stalled),
            window_bytes: 0,
        }
    }

    /// So many bytes have come.
    pub(crate) fn came(&mut self, bytes: usize) {
        self.window_bytes += bytes as u64;
    }

    /// When to look whether it is late.
    pub(crate) fn look_at(&self) -> Timestamp {
        self.whole_by.min(self.window_ends)
    }

    /// Whether it is late.
    pub(crate) fn is_late(&mut self, now: Timestamp, deadlines: &Deadlines) -> bool {
        if now >= self.whole_by {
            return true;
        }
        if now < self.window_ends {
            return false;
        }
        let stalled_ms = u64::try_from(deadlines.stalled.as_millis()).unwrap_or(u64::MAX);
        let least = deadlines.rate_bytes_min.saturating_mul(stalled_ms) / 1000;
        let late = self.window_bytes < least;
        self.window_ends = now.after(deadlines.stalled);
        self.window_bytes = 0;
        late
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_that_comes_too_slowly_or_takes_too_long_is_late() {
        let deadlines = Deadlines::default();
        let at = |seconds: u64| Timestamp::from_millis(seconds * 1000);
        let mut arrival = Arrival::begin(at(0), &deadlines);
        assert_eq!(arrival.look_at(), at(10));
        assert!(!arrival.is_late(at(9), &deadlines));
        arrival.came(10 * 1024);
        assert!(!arrival.is_late(at(10), &deadlines));
        arrival.came(10 * 1024 - 1);
        assert!(arrival.is_late(at(20), &deadlines), "less than 1,024 bytes a second");
        let mut fast = Arrival::begin(at(0), &deadlines);
        for seconds in (10..60).step_by(10) {
            fast.came(1 << 20);
            assert!(!fast.is_late(at(seconds), &deadlines));
        }
        fast.came(1 << 20);
        assert!(fast.is_late(at(60), &deadlines), "not there within a minute");
    }
}
