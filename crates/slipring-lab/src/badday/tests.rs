//! The frame against the in-memory store, with a stall, a loss and a cut put between.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use super::open;
use super::others::{Load, Others, Outcome};
use super::phase::Phase;
use crate::body::Body;
use crate::targets::{Caller, Kind, Look, Store, Target};
use crate::workloads::{Settings, Work};

/// What is wrong with a target, from a moment on.
#[derive(Default)]
struct Faults {
    /// Operations wait while this is set.
    stalled: AtomicBool,
    /// So many sends are answered and not made.
    losing: AtomicU64,
    /// So many operations fail after they were made, as when a connection is cut.
    cutting: AtomicU64,
    /// So many callers are cut while they hold messages.
    cutting_held: AtomicU64,
    /// What they held comes again.
    gives_back: AtomicBool,
    /// Callers that were made.
    callers: AtomicU64,
}

impl Faults {
    fn takes(count: &AtomicU64) -> bool {
        let less = |left: u64| left.checked_sub(1);
        count.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).is_ok()
    }

    async fn wait(&self) {
        while self.stalled.load(Ordering::SeqCst) {
            tokio::task::yield_now().await;
        }
    }
}

/// The in-memory store with faults.
struct Faulty {
    store: Store,
    faults: Arc<Faults>,
}

struct FaultyCaller {
    caller: <Store as Target>::Caller,
    faults: Arc<Faults>,
}

impl Target for Faulty {
    type Caller = FaultyCaller;

    async fn start(settings: &Settings, folder: &Path) -> Result<Faulty> {
        let store = Store::start(settings, folder).await?;
        Ok(Faulty { store, faults: Arc::default() })
    }

    async fn caller(&self, queue: &str) -> Result<FaultyCaller> {
        self.faults.callers.fetch_add(1, Ordering::SeqCst);
        let caller = self.store.caller(queue).await?;
        Ok(FaultyCaller { caller, faults: Arc::clone(&self.faults) })
    }
}

impl Caller for FaultyCaller {
    async fn send(&mut self, bodies: &[Body]) -> Result<()> {
        self.faults.wait().await;
        if Faults::takes(&self.faults.losing) {
            return Ok(());
        }
        self.caller.send(bodies).await?;
        if Faults::takes(&self.faults.cutting) {
            bail!("the connection was cut");
        }
        Ok(())
    }

    async fn receive(&mut self, up_to: usize, wait: Duration, look: Look<'_>) -> Result<usize> {
        self.caller.receive(up_to, wait, look).await
    }

    async fn ack(&mut self) -> Result<()> {
        self.faults.wait().await;
        self.caller.ack().await
    }

    async fn is_cut(&mut self) -> bool {
        let cut = Faults::takes(&self.faults.cutting_held);
        if cut && self.faults.gives_back.load(Ordering::SeqCst) {
            self.caller.give_back(Duration::ZERO).await.unwrap();
        }
        cut
    }
}

/// A load of short windows.
fn load() -> Load {
    let (window, left_within) = (Duration::from_millis(20), Duration::from_millis(500));
    Load { queues: 2, rate: 200.0, batch: 1, window, left_within, seed: 1 }
}

/// Runs the others while `beside` happens to their target.
async fn lived(beside: impl AsyncFnOnce(&Faults, &Others)) -> (Outcome, u64) {
    let settings = Settings::new(Work::Paced, Kind::Memory);
    let folder = tempfile::tempdir().unwrap();
    let target = Arc::new(Faulty::start(&settings, folder.path()).await.unwrap());
    let faults = Arc::clone(&target.faults);
    let others = Others::start(target, load()).await.unwrap();
    beside(&faults, &others).await;
    let outcome = tokio::task::spawn_blocking(|| others.end(true)).await.unwrap();
    assert_eq!(outcome.failed, None);
    (outcome, faults.callers.load(Ordering::SeqCst))
}

/// Goes on when so much time has passed.
async fn pass(ms: u64) {
    let until = Instant::now() + Duration::from_millis(ms);
    while Instant::now() < until {
        tokio::task::yield_now().await;
    }
}

fn stall_ms(outcome: &Outcome, phase: Phase) -> f64 {
    let of = outcome.windows.iter().filter(|window| window.phase == phase);
    of.map(|window| window.stall_ms).fold(0.0, f64::max)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stall_is_seen_in_its_phase_and_nothing_is_lost() {
    let (outcome, _) = lived(async |faults, others| {
        pass(100).await;
        others.enter(Phase::Fault);
        faults.stalled.store(true, Ordering::SeqCst);
        pass(400).await;
        faults.stalled.store(false, Ordering::SeqCst);
        pass(100).await;
        others.enter(Phase::Recovery);
        pass(100).await;
    })
    .await;
    let stall = stall_ms(&outcome, Phase::Fault);
    assert!(stall >= 400.0, "{outcome:?}");
    assert!(stall_ms(&outcome, Phase::Calm) < 400.0, "{outcome:?}");
    let longest = outcome.windows.iter().map(|window| window.longest_ms).fold(0.0, f64::max);
    assert!(longest >= 380.0, "{outcome:?}");
    assert!(outcome.late_starts > 0 && outcome.verdict.sent > 0, "{outcome:?}");
    assert_eq!((outcome.verdict.lost, outcome.cuts), (0, 0), "{outcome:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_window_that_was_hardly_begun_when_the_senders_ended_is_not_told() {
    let settings = Settings::new(Work::Paced, Kind::Memory);
    let folder = tempfile::tempdir().unwrap();
    let target = Arc::new(Faulty::start(&settings, folder.path()).await.unwrap());
    let long = Load { window: Duration::from_secs(600), ..load() };
    let others = Others::start(target, long).await.unwrap();
    pass(50).await;
    let outcome = tokio::task::spawn_blocking(|| others.end(true)).await.unwrap();
    assert!(outcome.windows.is_empty() && outcome.verdict.sent > 0, "{outcome:?}");
    assert_eq!((outcome.verdict.lost, outcome.failed.as_deref()), (0, None), "{outcome:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_seen_is_kept_when_a_run_ends_early_with_everything_stalled() {
    let settings = Settings::new(Work::Paced, Kind::Memory);
    let folder = tempfile::tempdir().unwrap();
    let target = Arc::new(Faulty::start(&settings, folder.path()).await.unwrap());
    target.faults.stalled.store(true, Ordering::SeqCst);
    let others = Others::start(target, load()).await.unwrap();
    pass(100).await;
    let begun = Instant::now();
    let outcome = tokio::task::spawn_blocking(|| others.end(false)).await.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(10));
    assert!(outcome.windows.len() > 1 && outcome.failed.is_none(), "{outcome:?}");
    assert!(stall_ms(&outcome, Phase::Calm) > 50.0, "{outcome:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_message_is_seen() {
    let (outcome, _) = lived(async |faults, _| {
        faults.losing.store(3, Ordering::SeqCst);
        pass(200).await;
    })
    .await;
    assert_eq!(outcome.verdict.lost, 3, "{outcome:?}");
    assert_eq!((outcome.verdict.invented, outcome.verdict.again_without_reason), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_others_come_back_after_a_cut_and_what_was_cut_is_no_loss() {
    let (outcome, callers) = lived(async |faults, _| {
        faults.cutting.store(4, Ordering::SeqCst);
        pass(200).await;
    })
    .await;
    // Two queues with a sender and a receiver, four that came back, two that drained.
    assert_eq!((outcome.cuts, callers), (4, 10), "{outcome:?}");
    assert_eq!(outcome.errors.get("the connection was cut"), Some(&4));
    let verdict = outcome.verdict;
    assert!(verdict.sent > 20 && verdict.unsure == 4, "{verdict:?}");
    assert_eq!((verdict.lost, verdict.again_without_reason), (0, 0), "{verdict:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_held_at_a_cut_is_lost_unless_it_comes_again() {
    for (gives_back, lost, again) in [(true, 0, 4), (false, 4, 0)] {
        let (outcome, _) = lived(async |faults, _| {
            faults.gives_back.store(gives_back, Ordering::SeqCst);
            faults.cutting_held.store(4, Ordering::SeqCst);
            let cut = async {
                while faults.cutting_held.load(Ordering::SeqCst) > 0 {
                    pass(1).await;
                }
            };
            tokio::time::timeout(Duration::from_secs(60), cut).await.expect("four are held");
        })
        .await;
        let verdict = outcome.verdict;
        assert_eq!((outcome.cuts, verdict.lost), (4, lost), "{outcome:?}");
        assert_eq!((verdict.again_after_cut, verdict.again_without_reason), (again, 0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_of_the_participant_in_a_queue_of_the_others_are_received_and_not_counted() {
    let settings = Settings::new(Work::Paced, Kind::Memory);
    let folder = tempfile::tempdir().unwrap();
    let target = Arc::new(Faulty::start(&settings, folder.path()).await.unwrap());
    let others = Others::start(Arc::clone(&target), load()).await.unwrap();
    target.caller(&open::queue()).await.unwrap().send(&open::bodies(3)).await.unwrap();
    pass(100).await;
    let outcome = tokio::task::spawn_blocking(|| others.end(true)).await.unwrap();
    let verdict = outcome.verdict;
    assert!(verdict.sent > 0 && outcome.failed.is_none(), "{outcome:?}");
    assert_eq!((verdict.lost, verdict.invented, outcome.cuts), (0, 0, 0), "{outcome:?}");
    let mut left = target.caller(&open::queue()).await.unwrap();
    let mut look = |_: &[u8]| Ok(());
    assert_eq!(left.receive(1, Duration::ZERO, &mut look).await.unwrap(), 0);
}
