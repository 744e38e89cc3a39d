//! What is handed out while its flush is still to come.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc;
use std::task::Poll;
use std::time::Duration;

use slipring::store::{AppendBatch, ClaimBatch, Claimed, Demand, Store};
use slipring::{Error, LoadPart, LoadStore, NewMessage, QueueId};
use slipring_conformance::verbs::{ack_all, at, claim, plain, send};

use super::*;
use crate::store::PASS_WEIGHT;
use crate::writer::Writer;
use crate::{SqliteOptions, SqliteStore};

#[test]
fn a_message_waits_for_the_first_flush_that_covers_it() {
    let mut on_disk = OnDisk::default();
    assert_eq!(on_disk.needs(1), Needs::Own, "of what was written before nothing is known");
    on_disk.wrote(1, 10);
    on_disk.wrote(2, 20);
    let needs = |on_disk: &OnDisk| [10, 11, 20, 21].map(|stamp| on_disk.needs(stamp));
    let (first, second) = (Needs::Earlier(1), Needs::Earlier(2));
    assert_eq!(needs(&on_disk), [first, second, second, Needs::Own]);
    on_disk.flushed(1);
    assert_eq!(needs(&on_disk), [Needs::Nothing, second, second, Needs::Own]);
    on_disk.flushed(7);
    assert_eq!(needs(&on_disk)[2..], [Needs::Nothing, Needs::Own]);
    on_disk.wrote(8, 30);
    on_disk.forget();
    assert_eq!(needs(&on_disk), [Needs::Own; 4]);
}

#[test]
fn a_call_waits_for_the_latest_flush_that_it_needs() {
    assert!(Needs::Nothing < Needs::Earlier(0));
    assert!(Needs::Earlier(1) < Needs::Earlier(2) && Needs::Earlier(u64::MAX) < Needs::Own);
}

type Waiting<T> = Pin<Box<dyn Future<Output = Result<T, Error>>>>;

/// A call that is run once; looked at without waiting for it.
async fn answer<T>(call: &mut Waiting<T>) -> Poll<Result<T, Error>> {
    std::future::poll_fn(|context| Poll::Ready(call.as_mut().poll(context))).await
}

async fn in_time<T>(call: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), call).await.expect("it ends in time")
}

fn open(folder: &tempfile::TempDir) -> Arc<SqliteStore> {
    SqliteStore::open(folder.path().join("a.db"), SqliteOptions::default()).unwrap()
}

fn sends(store: &Arc<SqliteStore>, queue: QueueId) -> Waiting<()> {
    let (store, messages) = (Arc::clone(store), vec![NewMessage::new("new")]);
    let batch = AppendBatch { queue, now: at(0), messages, units: vec![1] };
    Box::pin(async move { store.append(batch).await.map(drop) })
}

fn claims(store: &Arc<SqliteStore>, queue: QueueId) -> Waiting<Claimed> {
    let store = Arc::clone(store);
    let demands = vec![Demand { up_to: 1, lease: None, session: false }];
    Box::pin(async move { store.claim(ClaimBatch { queue, now: at(0), demands }).await })
}

/// A call that comes after others of its queue, and waits for no flush.
fn follows(store: &Arc<SqliteStore>, queue: QueueId) -> Waiting<()> {
    let store = Arc::clone(store);
    Box::pin(async move { store.write("follows", (queue, 1), |_| Ok(())).await })
}

/// The text of the only message that was handed out.
fn text(claimed: Claimed) -> String {
    let list: Vec<_> = claimed.deliveries.into_iter().flatten().collect();
    assert_eq!(list.len(), 1);
    String::from_utf8_lossy(&list[0].message.body).into_owned()
}

/// Keeps the writer until what is returned is dropped, so that calls that are left meanwhile wait
/// together. They are run by the writing thread then.
async fn keep_writer(store: &Arc<SqliteStore>) -> mpsc::Sender<()> {
    let (go, wait) = mpsc::channel::<()>();
    let (begins, mut began) = tokio::sync::mpsc::unbounded_channel();
    let store = Arc::clone(store);
    tokio::spawn(async move {
        let keeps = move |_: &mut Writer<'_>| {
            let _ = begins.send(());
            let _ = wait.recv();
            Ok(())
        };
        // More than a caller runs by itself.
        store.write("keeps", PASS_WEIGHT, keeps).await
    });
    in_time(began.recv()).await.unwrap();
    go
}

/// A queue of which all messages are on disk, and known to be.
async fn with_messages(store: &Arc<SqliteStore>, texts: &[&str]) -> QueueId {
    let queue = plain(store).await;
    send(store, queue, &["first"]).await;
    let first = claim(store, queue, 1, at(0)).await;
    ack_all(store, queue, &first, at(0)).await;
    if !texts.is_empty() {
        send(store, queue, texts).await;
    }
    queue
}

#[tokio::test]
async fn a_message_is_handed_out_once_it_is_flushed_and_one_that_is_waits_for_nothing() {
    // S2.4, S1.4
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let queue = with_messages(&store, &["old"]).await;
    let go = keep_writer(&store).await;
    let held = store.driver().log.hold_flushes();
    let (mut send, mut old) = (sends(&store, queue), claims(&store, queue));
    let (mut new, mut follows) = (claims(&store, queue), follows(&store, queue));
    assert!(answer(&mut send).await.is_pending() && answer(&mut old).await.is_pending());
    assert!(answer(&mut new).await.is_pending() && answer(&mut follows).await.is_pending());
    drop(go);
    assert_eq!(text(in_time(old).await.unwrap()), "old");
    in_time(follows).await.unwrap();
    assert!(answer(&mut send).await.is_pending(), "the flush is held");
    assert!(answer(&mut new).await.is_pending(), "a message that may be lost was handed out");
    drop(held);
    in_time(send).await.unwrap();
    assert_eq!(text(in_time(new).await.unwrap()), "new");
}

#[tokio::test]
async fn messages_of_a_publication_are_handed_out_once_that_is_flushed() {
    // S2.4, S15.1
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let queue = with_messages(&store, &[]).await;
    let load = store.begin_load(queue, at(0)).await.unwrap().id;
    let messages = vec![NewMessage::new("loaded")];
    store.append_load(LoadPart { load, part: 0, checksum: 7, now: at(0), messages }).await.unwrap();
    let go = keep_writer(&store).await;
    let held = store.driver().log.hold_flushes();
    let publishing = Arc::clone(&store);
    // In the turn of the queue, so that it comes before the claim.
    let work = move |writer: &mut Writer<'_>| writer.publish_load(load, 1, at(0));
    let mut publish: Waiting<()> =
        Box::pin(async move { publishing.write("publish", (queue, 1), work).await.map(drop) });
    let (mut claim, mut follows) = (claims(&store, queue), follows(&store, queue));
    assert!(answer(&mut publish).await.is_pending() && answer(&mut claim).await.is_pending());
    assert!(answer(&mut follows).await.is_pending());
    drop(go);
    in_time(follows).await.unwrap();
    assert!(answer(&mut claim).await.is_pending(), "the publication may be lost");
    drop(held);
    in_time(publish).await.unwrap();
    assert_eq!(text(in_time(claim).await.unwrap()), "loaded");
}

#[tokio::test]
async fn what_another_process_has_written_is_flushed_before_it_is_handed_out() {
    // S2.4
    let folder = tempfile::tempdir().unwrap();
    let (store, other) = (open(&folder), open(&folder));
    let queue = with_messages(&store, &[]).await;
    send(&other, queue, &["foreign"]).await;
    let go = keep_writer(&store).await;
    let held = store.driver().log.hold_flushes();
    let (mut claim, mut follows) = (claims(&store, queue), follows(&store, queue));
    assert!(answer(&mut claim).await.is_pending() && answer(&mut follows).await.is_pending());
    drop(go);
    in_time(follows).await.unwrap();
    assert!(answer(&mut claim).await.is_pending(), "the other process may not have flushed it");
    drop(held);
    assert_eq!(text(in_time(claim).await.unwrap()), "foreign");
}
