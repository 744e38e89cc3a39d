//! Files that an earlier version has written.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

mod support;

use slipring::{AdminStore, NewMessage, QueueSettings};
use slipring_conformance::verbs::{ack_all, at, bodies, claim, counts, try_send};
use support::{look, number, open};

/// Makes of a file of today one of version 1, in which a leased message closed its whole group.
const BACK_TO_1: &str = "
    CREATE TABLE old (
        group_id INTEGER PRIMARY KEY,
        queue_id INTEGER NOT NULL,
        name TEXT NOT NULL,
        blocking INTEGER NOT NULL,
        head_sent INTEGER,
        head_id INTEGER
    ) STRICT;
    INSERT INTO old
    SELECT g.group_id, g.queue_id, g.name, b.blocking,
        CASE WHEN b.blocking = 0 THEN i.sent END, CASE WHEN b.blocking = 0 THEN i.id END
    FROM fifo_group AS g
    JOIN (SELECT fifo_group_id, sum(state = 2) AS blocking, min(id) AS first
          FROM item GROUP BY fifo_group_id) AS b ON b.fifo_group_id = g.group_id
    JOIN item AS i ON i.id = b.first;
    DROP TABLE fifo_group;
    ALTER TABLE old RENAME TO fifo_group;
    CREATE UNIQUE INDEX fifo_group_name ON fifo_group (queue_id, name);
    CREATE INDEX fifo_group_open ON fifo_group (queue_id, head_sent, head_id)
        WHERE head_id IS NOT NULL;
    ALTER TABLE item DROP COLUMN due_ms;
    ALTER TABLE item DROP COLUMN failures;
    ALTER TABLE dedup DROP COLUMN sent;
    ALTER TABLE queue DROP COLUMN ids_from;
    ALTER TABLE item_count DROP COLUMN passed_over;
    DROP TRIGGER queue_added;
    DROP TRIGGER queue_changed;
    DROP TRIGGER queue_removed;
    ALTER TABLE store DROP COLUMN queue_changes;
    DROP TABLE probe;
    DROP TABLE load;
    DROP TABLE load_part;
    DROP INDEX lease_deadline;
    CREATE INDEX lease_deadline ON lease (deadline_ms);
    CREATE INDEX lease_session ON lease (first_position) WHERE session = 1;
    CREATE INDEX item_due ON item (turn) WHERE state = 0;
    CREATE INDEX item_deadline ON item (turn) WHERE state = 2;
    PRAGMA user_version = 1;
";

#[tokio::test]
async fn groups_of_a_file_of_version_1_get_their_places_and_its_ids_still_count() {
    // S7.3, S7.7, S8.1, S8.4
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let settings = QueueSettings { fifo: true, ..QueueSettings::default() };
    let name = slipring::QueueName::new("line").unwrap();
    let q = store.create_queue(&name, &settings, at(0)).await.unwrap().0.id;
    let message = |body: &str| NewMessage::new(body.to_owned()).group(&body[..1]);
    let mut unit: Vec<_> = ["c1", "a1", "b1", "a2", "b2"].map(message).into();
    unit.push(message("d1").dedup_id("once"));
    try_send(&store, q, unit, at(0)).await.unwrap();
    let held = claim(&store, q, 3, at(1)).await;
    assert_eq!(bodies(&held), ["c1", "a1", "a2"]);
    ack_all(&store, q, &held[..1], at(2)).await;
    // In version 1 the second message of the group would be given back to a closed group.
    let nack = slipring::lifecycle::Settlement::Nack { delay: None, priority: None, reason: None };
    slipring_conformance::verbs::settle(&store, q, &held[1], nack, at(2)).await.unwrap();
    store.close().await.unwrap();
    look(folder.path()).execute_batch(BACK_TO_1).unwrap();
    let store = open(folder.path());
    assert_eq!(number(folder.path(), "PRAGMA user_version"), 10);
    let twin = || vec![message("d2").dedup_id("once")];
    assert!(try_send(&store, q, twin(), at(3)).await.unwrap()[0].duplicate);
    assert_eq!(bodies(&claim(&store, q, 10, at(3)).await), ["a1", "b1", "b2", "d1"]);
    while store.purge(q, 10, at(4)).await.unwrap() > 0 {}
    assert!(!try_send(&store, q, twin(), at(5)).await.unwrap()[0].duplicate);
    assert_eq!(counts(&store, q).await, [1, 0, 0, 0]);
}
