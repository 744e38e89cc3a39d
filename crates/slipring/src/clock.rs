//! Time as an argument (S13.1): the clock trait, the system's clock, and one that is set by hand.
//!
//! This is the only file of the core that reads the machine's clocks.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::LazyLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use serde::{Deserialize, Deserializer, Serialize};
use tokio::sync::oneshot;

/// A moment, in whole milliseconds since 1970-01-01 UTC.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(#[serde(deserialize_with = "millis")] u64);

/// Reads milliseconds as [`Timestamp::from_millis`] takes them.
fn millis<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    Ok(Timestamp::from_millis(u64::deserialize(from)?).0)
}

impl Timestamp {
    /// The last moment that can be named; used for "never".
    pub const MAX: Timestamp = Timestamp(i64::MAX as u64);

    /// The moment `ms` milliseconds after 1970-01-01 UTC; later than [`Timestamp::MAX`] becomes
    /// that.
    pub const fn from_millis(ms: u64) -> Timestamp {
        if ms > i64::MAX as u64 { Timestamp::MAX } else { Timestamp(ms) }
    }

    /// Milliseconds since 1970-01-01 UTC; always fits an `i64`.
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// Whole seconds since 1970-01-01 UTC.
    pub const fn as_secs(self) -> u64 {
        self.0 / 1000
    }

    /// The moment `duration` later, rounded up to a millisecond so that it is never early.
    #[must_use]
    pub fn after(self, duration: Duration) -> Timestamp {
        Timestamp::from_millis(self.0.saturating_add(millis_ceil(duration)))
    }

    /// How long until `later`; zero when it has passed, and [`Duration::MAX`], a time without an
    /// end, until [`Timestamp::MAX`].
    pub fn until(self, later: Timestamp) -> Duration {
        if later == Timestamp::MAX {
            return Duration::MAX;
        }
        Duration::from_millis(later.0.saturating_sub(self.0))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Whole milliseconds of a duration, rounded up; saturates.
pub fn millis_ceil(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

/// A future that ends at a moment of a [`Clock`].
pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Where engine and stores take the time from. `now` never runs backwards within a process.
pub trait Clock: Send + Sync + 'static {
    /// The present moment.
    fn now(&self) -> Timestamp;
    /// A future that ends when `now() >= at`; at once when it already is.
    fn sleep_until(&self, at: Timestamp) -> Sleep;
    /// The first moment at which a wait is over that begins now and lasts `length`. A clock that
    /// knows more than the whole milliseconds it shows counts them in, so that `now()` never
    /// reaches that moment before its time by anybody's watch (S5.4).
    fn end_of(&self, length: Duration) -> Timestamp {
        self.now().after(length)
    }
    /// As [`Clock::sleep_until`], for a moment from [`Clock::end_of`], which needs no allowance for
    /// the part of a millisecond that a clock does not show.
    fn sleep_to_end(&self, at: Timestamp) -> Sleep {
        self.sleep_until(at)
    }
}

/// Nanoseconds since some fixed moment of this process, for measuring waits (never for semantics).
pub fn monotonic_ns() -> u64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    u64::try_from(START.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// The clocks of a machine. A test may make one whose wall clock is hours off.
pub trait Machine: Send + Sync + 'static {
    /// What the wall clock says. It may step at any time.
    fn wall(&self) -> Timestamp;
    /// How long the machine has been running, suspends included. All its processes see the same,
    /// and it never runs backwards.
    fn since_boot(&self) -> Duration;
    /// A name for this run of the machine, of at most 64 bytes: where two processes see the same,
    /// [`Machine::since_boot`] is one clock to them. `None` where that is not known.
    fn boot(&self) -> Option<String>;
}

/// The machine that this process runs on.
#[derive(Debug, Clone, Copy, Default)]
pub struct ThisMachine;

impl Machine for ThisMachine {
    fn wall(&self) -> Timestamp {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_millis(u64::try_from(wall.as_millis()).unwrap_or(u64::MAX))
    }

    fn since_boot(&self) -> Duration {
        since_boot()
    }

    fn boot(&self) -> Option<String> {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        // Each time namespace has its own start of the machine.
        let namespace = std::fs::read_link("/proc/self/ns/time").ok();
        let namespace = namespace.unwrap_or_default().to_string_lossy().into_owned();
        Some(format!("{} {namespace}", boot.trim()).chars().take(BOOT_BYTES_MAX).collect())
    }
}

/// The longest name of a run of a machine.
pub const BOOT_BYTES_MAX: usize = 64;

#[cfg(unix)]
fn since_boot() -> Duration {
    use nix::time::{ClockId, clock_gettime};
    #[cfg(target_os = "linux")]
    const CLOCK: ClockId = ClockId::CLOCK_BOOTTIME;
    #[cfg(not(target_os = "linux"))]
    const CLOCK: ClockId = ClockId::CLOCK_MONOTONIC;
    // Both clocks are always there.
    clock_gettime(CLOCK).map(Duration::from).unwrap_or_default()
}

#[cfg(not(unix))]
fn since_boot() -> Duration {
    Duration::from_nanos(monotonic_ns())
}

/// A machine's wall clock as it was at one moment; from then on it advances with the time since
/// the machine was started, so steps of the wall clock neither end leases early nor hold delays
/// back, and after a suspend what ended meanwhile has ended (S13.1, S13.3).
#[derive(Clone)]
pub struct SystemClock {
    machine: Arc<dyn Machine>,
    started_ms: u64,
}

impl SystemClock {
    /// A clock that starts at the present wall time of this machine.
    pub fn new() -> SystemClock {
        SystemClock::on(Arc::new(ThisMachine))
    }

    /// A clock that starts at the present wall time of a machine.
    pub fn on(machine: Arc<dyn Machine>) -> SystemClock {
        let now = machine.wall();
        SystemClock::showing(machine, now)
    }

    /// A clock that shows `now` at present. It never shows less than the time since the machine
    /// was started.
    pub fn showing(machine: Arc<dyn Machine>, now: Timestamp) -> SystemClock {
        let started_ms = now.as_millis().saturating_sub(whole_millis(machine.since_boot()));
        SystemClock { machine, started_ms }
    }

    /// The clock that showed `started` when the machine was started.
    pub fn since(machine: Arc<dyn Machine>, started: Timestamp) -> SystemClock {
        SystemClock { machine, started_ms: started.as_millis() }
    }

    /// Sleeps until `at` and so many milliseconds more; not at all when `at` has come.
    fn sleep(&self, at: Timestamp, more_ms: u64) -> Sleep {
        if at <= self.now() {
            return Box::pin(std::future::ready(()));
        }
        let millis = at.as_millis().saturating_sub(self.started_ms).saturating_add(more_ms);
        let (end, machine) = (Duration::from_millis(millis), Arc::clone(&self.machine));
        Box::pin(async move {
            loop {
                let left = end.saturating_sub(machine.since_boot());
                if left.is_zero() {
                    return;
                }
                tokio::time::sleep(left.min(SLEEP_MAX)).await;
            }
        })
    }

    /// What the clock showed when the machine was started. Together with [`Machine::boot`] it
    /// names the clock for other processes.
    pub fn started(&self) -> Timestamp {
        Timestamp::from_millis(self.started_ms)
    }
}

impl Default for SystemClock {
    fn default() -> SystemClock {
        SystemClock::new()
    }
}

impl fmt::Debug for SystemClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SystemClock").field("started_ms", &self.started_ms).finish_non_exhaustive()
    }
}

/// So long a sleep lasts at a time: a timer does not hold a moment that is very far.
const SLEEP_MAX: Duration = Duration::from_secs(24 * 3600);

fn whole_millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let elapsed_ms = whole_millis(self.machine.since_boot());
        Timestamp::from_millis(self.started_ms.saturating_add(elapsed_ms))
    }

    fn sleep_until(&self, at: Timestamp) -> Sleep {
        // What began late within its millisecond was noted as begun at the start of it. One
        // millisecond more, and nothing ends before its time by anybody's watch (S5).
        self.sleep(at, 1)
    }

    fn end_of(&self, length: Duration) -> Timestamp {
        let over = self.machine.since_boot().saturating_add(length);
        Timestamp::from_millis(self.started_ms.saturating_add(millis_ceil(over)))
    }

    fn sleep_to_end(&self, at: Timestamp) -> Sleep {
        self.sleep(at, 0)
    }
}

/// A clock that moves only when told, for tests and simulations of programs that embed Slipring.
#[derive(Debug, Clone, Default)]
pub struct ManualClock(Arc<Mutex<ManualState>>);

#[derive(Debug, Default)]
struct ManualState {
    now: Timestamp,
    sleepers: BTreeMap<(Timestamp, u64), oneshot::Sender<()>>,
    next: u64,
}

impl ManualClock {
    /// A clock that stands at `now`.
    pub fn at(now: Timestamp) -> ManualClock {
        let clock = ManualClock::default();
        clock.0.lock().now = now;
        clock
    }

    /// Moves the clock forward by `duration` and wakes everybody whose moment has come.
    pub fn advance(&self, duration: Duration) {
        let mut state = self.0.lock();
        state.now = state.now.after(duration);
        let first_later = (state.now.after(Duration::from_millis(1)), 0);
        let later = state.sleepers.split_off(&first_later);
        let due = std::mem::replace(&mut state.sleepers, later);
        drop(state);
        for (_, waker) in due {
            // A sleeper that was dropped has no task to wake.
            let _ = waker.send(());
        }
    }

    /// How many sleepers wait for a later moment.
    pub fn sleepers(&self) -> usize {
        let mut state = self.0.lock();
        state.sleepers.retain(|_, waker| !waker.is_closed());
        state.sleepers.len()
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        self.0.lock().now
    }

    fn sleep_until(&self, at: Timestamp) -> Sleep {
        let mut state = self.0.lock();
        if at <= state.now {
            return Box::pin(std::future::ready(()));
        }
        let (waker, woken) = oneshot::channel();
        let key = (at, state.next);
        state.next += 1;
        state.sleepers.insert(key, waker);
        Box::pin(async move {
            let _ = woken.await;
        })
    }
}
