//! A redrive where most of the queues that messages came from are no more.

use std::sync::Arc;

use slipring::lifecycle::Settlement;
use slipring::store::{SettleBatch, Store};
use slipring::{AdminStore, MoveRequest, NewMessage, QueueId, QueueSettings};
use slipring_conformance::verbs::{at, claim, counts, plain, queue, try_send};

use crate::bulk::Moved;
use crate::{SqliteOptions, SqliteStore};

/// More names than a step has time to look at.
const VANISHED: usize = 20_000;

async fn park(store: &Arc<SqliteStore>, queue: QueueId, count: usize) {
    for _ in 0..count / 1000 {
        try_send(store, queue, vec![NewMessage::new("x"); 1000], at(0)).await.unwrap();
        let list = claim(store, queue, 1000, at(0)).await;
        let park = Settlement::Park { priority: None };
        let entries = list.iter().map(|delivery| (delivery.receipt, park.clone())).collect();
        store.settle(SettleBatch { queue, now: at(0), entries }).await.unwrap();
    }
}

/// Lets rows that have no source yet have come from somewhere.
fn set_source(folder: &tempfile::TempDir, source: &str) {
    let file = rusqlite::Connection::open(folder.path().join("a.db")).unwrap();
    let sql = format!("UPDATE item SET source = {source} WHERE source IS NULL");
    file.execute(&sql, ()).unwrap();
}

async fn step(store: &SqliteStore, request: MoveRequest) -> Moved {
    let step = store.write("step", 1, move |writer| writer.move_messages(&request));
    step.await.unwrap()
}

#[tokio::test]
async fn sources_that_are_no_more_hold_up_neither_others_nor_the_redrive() {
    // S12.4
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let store = SqliteStore::open(path, SqliteOptions::default()).unwrap();
    let dead = plain(&store).await;
    let back = queue(&store, "zz", &QueueSettings::default()).await;
    park(&store, dead, VANISHED).await;
    set_source(&folder, "'gone-' || id");
    park(&store, dead, 2000).await;
    set_source(&folder, "'zz'");
    let request = MoveRequest { source: dead, target: None, limit: 1000 };
    let first = step(&store, request).await;
    assert!(first.to.is_empty() && first.more, "it ends with its time: {first:?}");
    // Whoever asks gets what there is.
    let moved = store.move_messages(request, at(0)).await.unwrap();
    assert!(matches!(moved[..], [(to, count)] if to == back && count > 0), "{moved:?}");
    // It goes on at once where there was something to move.
    let next = step(&store, request).await;
    assert!(matches!(next.to[..], [(to, count)] if to == back && count > 0), "{next:?}");
    while !store.move_messages(request, at(0)).await.unwrap().is_empty() {}
    assert_eq!(counts(&store, back).await[0], 2000);
    assert_eq!(counts(&store, dead).await, [0, 0, 0, VANISHED as u64]);
}

#[tokio::test]
async fn a_round_meets_what_came_to_a_name_that_it_has_passed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let store = SqliteStore::open(path, SqliteOptions::default()).unwrap();
    let dead = plain(&store).await;
    let [first, last] = ["a", "z"];
    let first = queue(&store, first, &QueueSettings::default()).await;
    let last = queue(&store, last, &QueueSettings::default()).await;
    park(&store, dead, 1000).await;
    set_source(&folder, "'z'");
    let request = MoveRequest { source: dead, target: None, limit: 10 };
    assert_eq!(store.move_messages(request, at(0)).await.unwrap(), [(last, 10)]);
    park(&store, dead, 1000).await;
    set_source(&folder, "'a'");
    let mut moved = std::collections::BTreeMap::new();
    loop {
        let step = store.move_messages(request, at(0)).await.unwrap();
        if step.is_empty() {
            break;
        }
        step.into_iter().for_each(|(to, count)| *moved.entry(to).or_default() += count);
    }
    assert_eq!(moved, [(first, 1000), (last, 990)].into());
    assert_eq!(counts(&store, dead).await, [0; 4]);
}
