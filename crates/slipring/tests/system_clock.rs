//! The clock of a machine whose wall clock steps and which is suspended.
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use slipring::clock::{BOOT_BYTES_MAX, Machine, ThisMachine, monotonic_ns};
use slipring::stores::MemoryStore;
use slipring::{
    Clock, Engine, EngineOptions, QueueSettings, ReceiveRequest, SystemClock, Timestamp,
};

/// A machine whose clocks are set by hand, in milliseconds.
#[derive(Clone, Default)]
struct ByHand {
    wall: Arc<AtomicU64>,
    since_boot: Arc<AtomicU64>,
}

impl Machine for ByHand {
    fn wall(&self) -> Timestamp {
        Timestamp::from_millis(self.wall.load(Ordering::Relaxed))
    }

    fn since_boot(&self) -> Duration {
        Duration::from_millis(self.since_boot.load(Ordering::Relaxed))
    }

    fn boot(&self) -> Option<String> {
        None
    }
}

#[test]
fn steps_of_the_wall_clock_are_nothing_to_it_and_a_suspend_counts() {
    // S13.1, S13.3
    let machine = ByHand::default();
    machine.wall.store(1_700_000_000_000, Ordering::Relaxed);
    machine.since_boot.store(5_000, Ordering::Relaxed);
    let clock = SystemClock::on(Arc::new(machine.clone()));
    let start = clock.now();
    assert_eq!(start.as_millis(), 1_700_000_000_000);
    let deadline = start.after(Duration::from_secs(600));
    for wall in [0, 1_600_000_000_000, 1_900_000_000_000] {
        machine.wall.store(wall, Ordering::Relaxed);
        assert_eq!(clock.now(), start);
    }
    // An hour of suspend, in which the time since the start of the machine goes on.
    machine.since_boot.store(5_000 + 3_600_000, Ordering::Relaxed);
    assert!(clock.now() > deadline);
    let other = SystemClock::since(Arc::new(machine.clone()), clock.started());
    assert_eq!(other.now(), clock.now(), "the same start is the same clock");
    // A wall clock before the start of the machine: the clock runs all the same.
    machine.wall.store(7, Ordering::Relaxed);
    let early = SystemClock::on(Arc::new(machine.clone()));
    let before = early.now();
    machine.since_boot.fetch_add(10, Ordering::Relaxed);
    assert_eq!(early.now(), before.after(Duration::from_millis(10)));
}

#[test]
fn what_lasts_until_the_last_moment_has_no_end() {
    let now = Timestamp::from_millis(7);
    assert_eq!(now.until(Timestamp::from_millis(10)), Duration::from_millis(3));
    assert_eq!(now.until(Timestamp::from_millis(3)), Duration::ZERO);
    assert_eq!(now.until(Timestamp::MAX), Duration::MAX);
    assert_eq!(now.after(now.until(Timestamp::MAX)), Timestamp::MAX);
}

#[tokio::test]
async fn it_never_wakes_early() {
    // S5
    let clock = SystemClock::new();
    for millis in [0, 1, 7, 20] {
        let at = clock.now().after(Duration::from_millis(millis));
        clock.sleep_until(at).await;
        assert!(clock.now() >= at);
    }
}

#[tokio::test(start_paused = true)]
async fn a_sleep_of_days_lasts_until_its_moment() {
    // S5.1, S5.2, S5.4
    const HOUR: Duration = Duration::from_secs(3600);
    let machine = ByHand::default();
    let clock = SystemClock::on(Arc::new(machine.clone()));
    let at = clock.now().after(48 * HOUR);
    for sleep in [clock.sleep_until(at), clock.sleep_to_end(at)] {
        machine.since_boot.store(0, Ordering::Relaxed);
        let sleeps = tokio::spawn(sleep);
        tokio::task::yield_now().await;
        for hour in 1..=50 {
            let woken = sleeps.is_finished();
            assert!(!woken || clock.now() >= at, "awake before hour {hour}");
            machine.since_boot.fetch_add(3_600_000, Ordering::Relaxed);
            tokio::time::advance(HOUR).await;
        }
        assert!(sleeps.is_finished());
    }
}

/// A machine that has run for 2.7 ms.
struct Fraction;

impl Machine for Fraction {
    fn wall(&self) -> Timestamp {
        Timestamp::from_millis(1_000_002)
    }

    fn since_boot(&self) -> Duration {
        Duration::from_micros(2_700)
    }

    fn boot(&self) -> Option<String> {
        None
    }
}

#[test]
fn the_end_of_a_wait_counts_the_part_of_a_millisecond_that_is_not_shown() {
    // S5.4
    let clock = SystemClock::on(Arc::new(Fraction));
    let begun = clock.now();
    for (wait_us, end_ms) in [(1_000, 2), (300, 1), (301, 2), (10_000, 11)] {
        let end = clock.end_of(Duration::from_micros(wait_us));
        assert_eq!(begun.until(end), Duration::from_millis(end_ms), "a wait of {wait_us} µs");
    }
}

#[tokio::test]
async fn short_waits_of_receives_never_end_before_their_time() {
    // S5.4
    let engine = Engine::open(MemoryStore::shared(), EngineOptions::default()).await.unwrap();
    let queue = engine.create_queue("q", QueueSettings::default()).await.unwrap();
    let mut callers = tokio::task::JoinSet::new();
    for caller in 0..5 {
        let queue = queue.clone();
        callers.spawn(async move {
            // Of several lengths, so that waits begin at all moments within a millisecond.
            let wait = Duration::from_micros(1_000 + 270 * caller);
            for _ in 0..100 {
                let begun_ns = monotonic_ns();
                let got = queue.receive(ReceiveRequest::up_to(1).wait(wait)).await.unwrap();
                let took = Duration::from_nanos(monotonic_ns() - begun_ns);
                assert!(got.is_empty() && took >= wait, "{took:?} of {wait:?}");
            }
        });
    }
    while let Some(ended) = callers.join_next().await {
        ended.unwrap();
    }
    engine.shutdown().await;
}

#[test]
fn this_machine_has_one_run_and_one_time_since_its_start() {
    let (one, two) = (ThisMachine, ThisMachine);
    assert_eq!(one.boot(), two.boot());
    assert!(one.boot().is_none_or(|boot| !boot.is_empty() && boot.len() <= BOOT_BYTES_MAX));
    let before = one.since_boot();
    assert!(before > Duration::ZERO && two.since_boot() >= before);
    assert!(one.wall() > Timestamp::from_millis(1_600_000_000_000));
}
