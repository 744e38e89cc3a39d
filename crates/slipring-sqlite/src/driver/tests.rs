//! Who runs the calls, in what order, and what a call that panics leaves.

use std::sync::atomic::Ordering;

use slipring::AdminStore;

use super::*;
use crate::fault::Outcome;
use crate::writer::Writer;
use crate::{SqliteOptions, SqliteStore};

fn open(folder: &tempfile::TempDir) -> Arc<SqliteStore> {
    SqliteStore::open(folder.path().join("a.db"), SqliteOptions::default()).unwrap()
}

/// The name of the thread that runs a call of a weight.
async fn thread_of(store: &SqliteStore, weight: usize) -> Option<String> {
    let name = |writer: &mut Writer<'_>| {
        // Answered after a flush, and so not while the thread still has the core.
        writer.promise(slipring::Durability::Full);
        Ok(thread::current().name().map(str::to_owned))
    };
    store.write("thread_of", weight, name).await.unwrap()
}

const WRITING: &str = "slipring-write";

/// Calls until a call of a weight is run by its caller.
async fn be_lonely(store: &SqliteStore, weight: usize) {
    let lonely = async {
        while thread_of(store, weight).await.as_deref() == Some(WRITING) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(30), lonely).await.unwrap();
}

#[tokio::test]
async fn a_lone_caller_runs_its_small_calls_and_never_a_pass() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    assert_eq!(thread_of(&store, 1).await.as_deref(), Some(WRITING), "nothing is known yet");
    be_lonely(&store, CALLER_MESSAGES_MAX).await;
    for weight in [CALLER_MESSAGES_MAX + 1, crate::store::PASS_WEIGHT] {
        assert_eq!(thread_of(&store, weight).await.as_deref(), Some(WRITING), "{weight}");
    }
}

/// Has a call panic, checks what comes after it, and answers whether its caller ran it.
async fn panic_in_a_call(lonely: bool) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    if lonely {
        be_lonely(&store, 1).await;
    }
    let broken = Arc::clone(&store);
    let panics = |_: &mut Writer<'_>| -> Outcome<()> { panic!("on purpose") };
    let call = tokio::spawn(async move { broken.write("panics", 1, panics).await });
    // The panic of a lone caller is its own; others are told of it.
    let by_caller = match call.await {
        Ok(answer) => {
            answer.unwrap_err();
            false
        }
        Err(error) => error.is_panic(),
    };
    for _ in 0..3 {
        store.write("after", 1, |_| Ok(())).await.unwrap_err();
    }
    store.check().await.expect_err("such a store is not ready");
    let beside = open(&folder);
    beside.write("beside", 1, |_| Ok(())).await.expect("what the call held is let go");
    beside.close().await.unwrap();
    store.close().await.unwrap_err();
    drop(store);
    thread_of(&open(&folder), 1).await;
    by_caller
}

#[tokio::test]
async fn after_a_call_that_panics_every_call_is_answered_and_none_is_done() {
    assert!(!panic_in_a_call(false).await, "a first call is run by the thread");
    let by_caller = async { while !panic_in_a_call(true).await {} };
    tokio::time::timeout(std::time::Duration::from_secs(60), by_caller).await.unwrap();
}

#[tokio::test]
async fn a_call_of_a_quiet_queue_does_not_wait_for_those_of_a_busy_one() {
    // S12.4
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let (order, began) = (Arc::new(Mutex::new(Vec::new())), Arc::new(tokio::sync::Notify::new()));
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let begins = Arc::clone(&began);
    // Keeps the thread until all the others wait.
    let holds = store.write("holds", 1, move |_| {
        begins.notify_one();
        let _ = wait.recv();
        Ok(())
    });
    let left = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let call = |queue: u64, number: usize| {
        let (store, order) = (Arc::clone(&store), Arc::clone(&order));
        let left = Arc::clone(&left);
        tokio::spawn(async move {
            // On this one thread it is left in the same step.
            left.fetch_add(1, Ordering::Relaxed);
            let load = (slipring::QueueId(queue), 1);
            let work = move |_: &mut Writer<'_>| {
                order.lock().push((queue, number));
                Ok(())
            };
            store.write("call", load, work).await.unwrap();
        })
    };
    let all = async {
        began.notified().await;
        let mut calls: Vec<_> = (0..100).map(|number| call(1, number)).collect();
        calls.extend([call(2, 0), call(2, 1)]);
        // The calls begin in the order in which they were spawned.
        while left.load(Ordering::Relaxed) < calls.len() {
            tokio::task::yield_now().await;
        }
        drop(go);
        for call in calls {
            call.await.unwrap();
        }
    };
    tokio::join!(holds, all).0.unwrap();
    let order = order.lock();
    let of = |queue| order.iter().filter(move |(of, _)| *of == queue).map(|(_, number)| *number);
    assert!(of(1).eq(0..100) && of(2).eq(0..2), "within a queue first come, first served");
    let last = order.iter().rposition(|(queue, _)| *queue == 2).unwrap();
    assert!(last < 50, "the quiet queue's calls are served among the first: {order:?}");
}

#[tokio::test]
async fn looks_are_answered_also_after_looks_that_panicked() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    for _ in 0..5 {
        let look = store.read("panics", |_| -> Outcome<()> { panic!("on purpose") });
        look.await.unwrap_err();
    }
    assert!(store.queues().await.unwrap().is_empty());
}
