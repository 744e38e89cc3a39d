//! Receives of a queue that another transaction keeps to itself end at their time, and have what
//! there is in other queues (S2.4, S5.4, S5.6).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

use std::sync::Arc;
use std::time::Duration;

use slipring::{
    Delivery, Engine, EngineOptions, ErrorKind, NewMessage, Queue, QueueSettings, ReceiveRequest,
};
use slipring_conformance::verbs::{queue, send};
use slipring_postgres::PostgresStore;
use slipring_testbed::{Cluster, Database, locked, run, soon};
use tokio::task::JoinHandle;
use tokio_postgres::Client;

const HOUR: Duration = Duration::from_secs(3600);

struct Ground {
    database: Database,
    store: Arc<PostgresStore>,
    engine: Engine,
    /// One that is held, with a message, and a free one without.
    held: Queue,
    free: Queue,
    holder: Client,
}

async fn ground() -> Ground {
    let cluster = Cluster::shared();
    let (database, store, _client) = cluster.opened().await;
    for name in ["held", "free"] {
        queue(&store, name, &QueueSettings::default()).await;
    }
    let engine = Engine::open(Arc::clone(&store) as _, EngineOptions::default()).await.unwrap();
    let (held, free) = (engine.queue("held").await.unwrap(), engine.queue("free").await.unwrap());
    send(&store, held.id(), &["held"]).await;
    let holder = cluster.holder(&database, held.id()).await;
    Ground { database, store, engine, held, free, holder }
}

fn texts(list: &[Delivery]) -> Vec<&[u8]> {
    list.iter().map(|delivery| delivery.message.body.as_ref()).collect()
}

/// What ends when S5.4 says.
async fn in_time<T>(receive: impl Future<Output = T>) -> T {
    let ended = tokio::time::timeout(Duration::from_secs(9), receive).await;
    ended.expect("a receive ends at its time")
}

/// A receive from both queues that waits for so long.
fn receives(g: &Ground, wait: Duration) -> JoinHandle<Vec<Delivery>> {
    let mut several = g.engine.several(&[g.held.clone(), g.free.clone()]);
    let request = ReceiveRequest::up_to(1).wait(wait);
    tokio::spawn(async move { several.receive(request).await.unwrap() })
}

#[tokio::test]
async fn a_receive_of_a_held_queue_ends_at_its_time() {
    let g = ground().await;
    for wait in [Duration::ZERO, Duration::from_millis(300)] {
        let request = ReceiveRequest::up_to(1).wait(wait);
        assert!(in_time(g.held.receive(request)).await.unwrap().is_empty());
        assert!(in_time(receives(&g, wait)).await.unwrap().is_empty());
    }
    // One that goes on waiting is handed the message when the queue is free.
    let request = ReceiveRequest::up_to(1).wait(HOUR);
    let held = g.held.clone();
    let waits = tokio::spawn(async move { held.receive(request).await.unwrap() });
    locked(&Cluster::shared().client(&g.database).await, 1).await;
    run(&g.holder, "COMMIT").await;
    assert_eq!(texts(&soon("a receive", waits).await.unwrap()), [b"held"]);
}

#[tokio::test]
async fn a_held_queue_keeps_nothing_of_other_queues_from_a_receive() {
    let g = ground().await;
    send(&g.store, g.free.id(), &["before"]).await;
    let before = soon("what was there", receives(&g, Duration::ZERO)).await.unwrap();
    assert_eq!(texts(&before), [b"before"]);
    let waits = receives(&g, HOUR);
    locked(&Cluster::shared().client(&g.database).await, 1).await;
    g.free.send(NewMessage::new("after")).await.unwrap();
    assert_eq!(texts(&soon("what came later", waits).await.unwrap()), [b"after"]);
    let waits = receives(&g, HOUR);
    locked(&Cluster::shared().client(&g.database).await, 1).await;
    run(&g.holder, "COMMIT").await;
    assert_eq!(texts(&soon("a receive", waits).await.unwrap()), [b"held"]);
}

#[tokio::test]
async fn who_changes_a_held_queue_keeps_nobody_from_the_list_of_queues() {
    // S5.6
    let g = ground().await;
    let (held, mut settings) = (g.held.clone(), QueueSettings::clone(&g.held.info().settings));
    settings.delay = Duration::from_secs(1);
    let configured = tokio::spawn(async move { held.configure(settings).await });
    let client = Cluster::shared().client(&g.database).await;
    locked(&client, 1).await;
    let (engine, held) = (g.engine.clone(), g.held.clone());
    let deleted = tokio::spawn(async move { engine.delete_queue(&held).await.unwrap() });
    // Another administrator's transaction is open.
    let open = Cluster::shared().begin(&g.database, "READ COMMITTED").await;
    run(&open, "SELECT slipring.create_queue('other')").await;
    let engine = g.engine.clone();
    let created = async move { engine.create_queue("new", QueueSettings::default()).await };
    let created = tokio::spawn(created);
    locked(&client, 2).await;
    for _ in 0..3 {
        assert_eq!(soon("the list", g.engine.queues()).await.unwrap().len(), 2);
        soon("a look for a queue", g.engine.queue("none")).await.unwrap_err();
    }
    run(&open, "COMMIT").await;
    soon("a creation", created).await.unwrap().unwrap();
    run(&g.holder, "COMMIT").await;
    // Whichever is first.
    if let Err(error) = soon("a change", configured).await.unwrap() {
        assert_eq!(error.kind(), ErrorKind::QueueNotFound, "{error}");
    }
    soon("a deletion", deleted).await.unwrap();
    let names = soon("the list", g.engine.queues()).await.unwrap();
    let names: Vec<String> = names.iter().map(|q| q.info().name.to_string()).collect();
    assert_eq!(names, ["free", "new", "other"]);
}
