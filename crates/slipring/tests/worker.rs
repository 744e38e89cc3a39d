//! The worker loop over the in-memory store, with a clock that is set by hand.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failed step fails the test")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use slipring::stores::MemoryStore;
use slipring::worker::Outcome;
use slipring::{
    Clock, Engine, EngineOptions, Limits, ManualClock, NewMessage, Queue, QueueSettings, Timestamp,
    Worker, WorkerOptions,
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

struct World {
    clock: ManualClock,
    queue: Queue,
    stop: CancellationToken,
}

async fn world(settings: QueueSettings) -> World {
    limited_world(settings, Limits::default()).await
}

async fn limited_world(settings: QueueSettings, limits: Limits) -> World {
    let clock = ManualClock::at(Timestamp::from_millis(1_000_000));
    let engine_clock = Some(Arc::new(clock.clone()) as _);
    let options = EngineOptions { clock: engine_clock, limits, ..EngineOptions::default() };
    let engine = Engine::open(MemoryStore::shared(), options).await.unwrap();
    let queue = engine.create_queue("jobs", settings).await.unwrap();
    World { clock, queue, stop: CancellationToken::new() }
}

/// Lets other tasks run until `condition` holds, for at most 30 s.
async fn until(mut condition: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !condition().await {
            tokio::task::yield_now().await;
        }
    };
    let deadline = Duration::from_secs(30);
    tokio::time::timeout(deadline, waiting).await.expect("the condition holds within 30 s");
}

#[tokio::test]
async fn a_finished_job_is_acked_and_a_failed_one_comes_again() {
    // S2.1, S6.1
    let world = world(QueueSettings::default()).await;
    world.queue.send(NewMessage::new("fails once")).await.unwrap();
    let runs = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&runs);
    let worker = Worker::new(world.queue.clone(), WorkerOptions::default());
    let stop = world.stop.clone();
    let running = tokio::spawn(async move {
        let handler = move |message: slipring::Message| {
            counted.fetch_add(1, Ordering::SeqCst);
            async move { if message.attempts == 1 { Outcome::Retry } else { Outcome::Done } }
        };
        worker.run(handler, stop).await;
    });
    until(async || world.queue.stats().await.unwrap().total() == 0).await;
    assert_eq!(runs.load(Ordering::SeqCst), 2);
    world.stop.cancel();
    running.await.unwrap();
}

#[tokio::test]
async fn a_long_job_keeps_its_lease_by_renewal() {
    // S3.1: three lease lengths pass, yet nobody else gets the message.
    let world = world(QueueSettings::default()).await;
    world.queue.send(NewMessage::new("long")).await.unwrap();
    let (started, finish) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let options = WorkerOptions { lease: Duration::from_secs(3), ..WorkerOptions::default() };
    let worker = Worker::new(world.queue.clone(), options);
    let (stop, begun, may_end) = (world.stop.clone(), Arc::clone(&started), Arc::clone(&finish));
    let running = tokio::spawn(async move {
        let handler = move |message: slipring::Message| {
            assert_eq!(message.attempts, 1);
            begun.notify_one();
            let may_end = Arc::clone(&may_end);
            async move {
                may_end.notified().await;
                Outcome::Done
            }
        };
        worker.run(handler, stop).await;
    });
    started.notified().await;
    for _ in 0..18 {
        let before = world.clock.sleepers();
        assert!(before > 0);
        world.clock.advance(Duration::from_millis(500));
        let peeked = async || {
            let filter = slipring::PeekFilter { state: None, limit: 1 };
            world.queue.peek(filter).await.unwrap().pop().unwrap()
        };
        until(async || {
            let left = world.clock.now().until(peeked().await.until.unwrap());
            left > Duration::from_millis(1500)
        })
        .await;
        assert_eq!(peeked().await.state, slipring::MessageState::Leased);
    }
    finish.notify_one();
    until(async || world.queue.stats().await.unwrap().total() == 0).await;
    world.stop.cancel();
    running.await.unwrap();
}

#[tokio::test]
async fn a_stopping_worker_hands_unfinished_work_back_uncounted() {
    // S2.3: after the grace time the message is ready again and its attempt does not count.
    let world = world(QueueSettings::default()).await;
    world.queue.send(NewMessage::new("never ends")).await.unwrap();
    let started = Arc::new(Notify::new());
    let begun = Arc::clone(&started);
    let worker = Worker::new(world.queue.clone(), WorkerOptions::default());
    let stop = world.stop.clone();
    let running = tokio::spawn(async move {
        let handler = move |_| {
            begun.notify_one();
            std::future::pending()
        };
        worker.run(handler, stop).await;
    });
    started.notified().await;
    world.stop.cancel();
    until(async || {
        world.clock.advance(Duration::from_millis(100));
        running.is_finished()
    })
    .await;
    running.await.unwrap();
    let filter = slipring::PeekFilter { state: None, limit: 1 };
    let left = world.queue.peek(filter).await.unwrap().pop().unwrap();
    assert_eq!((left.state, left.message.attempts), (slipring::MessageState::Ready, 0));
}

#[tokio::test]
async fn a_worker_that_wants_more_than_the_limits_gets_what_they_allow() {
    // S12.2: its own requests are never refused for a limit.
    let duration_max = Duration::from_secs(600);
    let limits = Limits {
        receive_messages_max: 2,
        duration_max,
        wait_max: Duration::from_secs(1),
        ..Limits::default()
    };
    let world = limited_world(QueueSettings::default(), limits).await;
    for _ in 0..5 {
        world.queue.send(NewMessage::new("not yet")).await.unwrap();
    }
    let options = WorkerOptions { lease: duration_max * 2, ..WorkerOptions::default() };
    let worker = Worker::new(world.queue.clone(), options);
    let stop = world.stop.clone();
    let running = tokio::spawn(async move {
        worker.run(move |_| async move { Outcome::RetryAfter(2 * duration_max) }, stop).await;
    });
    until(async || world.queue.stats().await.unwrap().delayed == 5).await;
    let filter = slipring::PeekFilter { state: None, limit: 1 };
    let later = world.queue.peek(filter).await.unwrap().pop().unwrap();
    assert_eq!(later.until, Some(world.clock.now().after(duration_max)));
    world.stop.cancel();
    running.await.unwrap();
}

#[tokio::test]
async fn what_ends_with_the_grace_time_counts_as_ended() {
    // S2.1: whoever did the work must not see it given to another.
    const JOBS: u32 = 20;
    let world = world(QueueSettings::default()).await;
    for _ in 0..JOBS {
        world.queue.send(NewMessage::new("just in time")).await.unwrap();
    }
    let (begun, finish) = (Arc::new(AtomicU32::new(0)), Arc::new(Notify::new()));
    let options = WorkerOptions { concurrency: JOBS, ..WorkerOptions::default() };
    let worker = Worker::new(world.queue.clone(), options);
    let (stop, count, may_end) = (world.stop.clone(), Arc::clone(&begun), Arc::clone(&finish));
    let running = tokio::spawn(async move {
        let handler = move |_| {
            count.fetch_add(1, Ordering::SeqCst);
            let may_end = Arc::clone(&may_end);
            async move {
                may_end.notified().await;
                Outcome::Done
            }
        };
        worker.run(handler, stop).await;
    });
    until(async || begun.load(Ordering::SeqCst) == JOBS && world.queue.waiting() == 0).await;
    let before = world.clock.sleepers();
    world.stop.cancel();
    until(async || world.clock.sleepers() > before).await;
    // On one thread the handlers end first, then the worker gives up, then both are seen.
    finish.notify_waiters();
    world.clock.advance(options.grace);
    running.await.unwrap();
    assert_eq!(world.queue.stats().await.unwrap().total(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_handler_that_cannot_be_dropped_yet_keeps_its_message() {
    // S3.1: a handler is dropped only between two steps of it, and holds the lease until then.
    let world = world(QueueSettings::default()).await;
    world.queue.send(NewMessage::new("a long step")).await.unwrap();
    let (begun, has_begun) = mpsc::channel();
    let (finish, may_end) = mpsc::channel::<()>();
    let may_end = Arc::new(std::sync::Mutex::new(may_end));
    let options = WorkerOptions::default();
    let worker = Worker::new(world.queue.clone(), options);
    let stop = world.stop.clone();
    let running = tokio::spawn(async move {
        let handler = move |_| {
            let (begun, may_end) = (begun.clone(), Arc::clone(&may_end));
            async move {
                begun.send(()).unwrap();
                let _ = may_end.lock().unwrap().recv();
                Outcome::Done
            }
        };
        worker.run(handler, stop).await;
    });
    until(async || world.queue.waiting() == 1 && has_begun.try_recv().is_ok()).await;
    world.stop.cancel();
    until(async || world.queue.waiting() == 0).await;
    // Past the grace time, and past the lease as it was.
    for _ in 0..10 {
        world.clock.advance(options.lease / 6);
        until(async || {
            let filter = slipring::PeekFilter { state: None, limit: 1 };
            let held = world.queue.peek(filter).await.unwrap().pop().unwrap();
            assert_eq!(held.state, slipring::MessageState::Leased);
            world.clock.now().until(held.until.unwrap()) > options.lease / 4
        })
        .await;
    }
    finish.send(()).unwrap();
    until(async || running.is_finished()).await;
    running.await.unwrap();
    assert_eq!(world.queue.stats().await.unwrap().total(), 0);
}

#[tokio::test]
async fn a_job_given_up_goes_to_the_dead_letter_queue() {
    // S6.2, S6.3
    let world = world(QueueSettings::default()).await;
    world.queue.send(NewMessage::new("hopeless")).await.unwrap();
    let worker = Worker::new(world.queue.clone(), WorkerOptions::default());
    let stop = world.stop.clone();
    let running = tokio::spawn(async move {
        worker.run(|_| async { Outcome::GiveUp }, stop).await;
    });
    until(async || world.queue.stats().await.unwrap().parked == 1).await;
    world.stop.cancel();
    running.await.unwrap();
}
