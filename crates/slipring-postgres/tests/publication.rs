//! A publication for all tables of the database, for logical replication of the user's own, stops
//! no verb: PostgreSQL refuses to change published rows that it could not tell apart.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

use std::time::Duration;

use slipring::admin::AdminStore;
use slipring::lifecycle::Settlement;
use slipring::store::{AppendBatch, Store};
use slipring::{ErrorKind, LoadPart, LoadStore, MoveRequest, NewMessage, QueueName, QueueSettings};
use slipring_conformance::verbs::{ack_all, at, claim, counts, drain, queue, send, settle};
use slipring_testbed::{Cluster, one, rotate, run};

#[tokio::test]
async fn every_verb_works_beside_a_publication_for_all_tables() {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let store = cluster.rotating_store(&database, 1).await;
    let admin = cluster.superuser(&database.name).await;
    run(&admin, "CREATE PUBLICATION everything FOR ALL TABLES").await;
    let published = "SELECT count(*) FROM pg_publication_tables WHERE schemaname = 'slipring'";
    assert!(one(&admin, published).await > 30);

    let dead = queue(&store, "dead", &QueueSettings::default()).await;
    let settings = QueueSettings {
        max_attempts: Some(1),
        dead_letter: Some(QueueName::new("dead").unwrap()),
        messages_max: Some(2),
        ..QueueSettings::default()
    };
    let q = queue(&store, "q", &settings).await;
    // A refused message leaves its deduplication id.
    let message = |id: &str| NewMessage::new(id.to_owned()).dedup_id(id.to_owned());
    let messages = ["a", "b", "c"].iter().map(|id| message(id)).collect();
    let sent = store
        .append(AppendBatch { queue: q, now: at(0), messages, units: vec![1; 3] })
        .await
        .unwrap();
    assert_eq!(sent.iter().filter(|answer| answer.is_err()).count(), 1);
    let refused = sent.into_iter().find_map(Result::err).unwrap();
    assert_eq!(refused.kind(), ErrorKind::LimitExceeded);
    let held = claim(&store, q, 2, at(0)).await;
    ack_all(&store, q, &held[..1], at(0)).await;
    let nack = Settlement::Nack { delay: Some(Duration::ZERO), priority: None, reason: None };
    settle(&store, q, &held[1], nack, at(0)).await.unwrap();
    let back = MoveRequest { source: dead, target: None, limit: 10 };
    assert_eq!(store.move_messages(back, at(0)).await.unwrap().len(), 1);
    assert_eq!(drain(&store, q).await, ["b"]);
    let settings = QueueSettings { messages_max: None, ..settings };
    store.configure(q, &settings, at(1)).await.unwrap();
    for publish in [true, false] {
        let load = store.begin_load(q, at(0)).await.unwrap().id;
        let messages = vec![NewMessage::new("loaded".to_owned())];
        let part = LoadPart { load, part: 0, checksum: 1, now: at(0), messages };
        assert!(store.append_load(part).await.unwrap());
        if publish {
            store.publish_load(load, 1, at(0)).await.unwrap();
        } else {
            store.abandon_load(load).await.unwrap();
        }
    }
    send(&store, q, &["purged"]).await;
    assert_eq!(store.purge(q, 10, at(100)).await.unwrap(), 2);
    for part in ["queues", "journal", "shelf", "dedup"] {
        rotate(&admin, part, at(1_000_000), "COMMIT").await;
    }
    send(&store, q, &["kept", "held"]).await;
    let held = claim(&store, q, 1, at(1_000_000)).await;
    run(&admin, "SELECT slipring.store_import()").await;
    assert_eq!(drain(&store, q).await, ["held"]);
    ack_all(&store, q, &held, at(1_000_000)).await;
    store.delete_queue(q).await.unwrap();
    rotate(&admin, "places", at(1_000_000), "COMMIT").await;
    assert_eq!(counts(&store, dead).await, [0; 4]);
}
