//! Rows that are not as the store writes rows, however they came, are set aside where an operator
//! finds them, and stop nothing: the other messages are received, lapse and retire (S11.4).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

use std::sync::Arc;
use std::time::Duration;

use slipring::lifecycle::Settlement;
use slipring::store::Store;
use slipring::{ErrorKind, NewMessage, QueueId, QueueSettings};
use slipring_conformance::verbs::{
    START, at, bodies, claim, drain, plain, queue, send, settle, stats, try_send,
};
use slipring_postgres::PostgresStore;
use slipring_testbed::{Cluster, Database, one, run, soon};
use tokio_postgres::Client;

/// Messages in every place: `a` and `b` ready in a pack of the log and `c` in a row, `d` and `e`
/// leased from the log, `f` delayed, `g` leased and `h` ready on the shelf.
struct Ground {
    _database: Database,
    store: Arc<PostgresStore>,
    owner: Client,
    q: QueueId,
}

async fn ground() -> Ground {
    ground_of(QueueSettings::default()).await
}

async fn ground_of(settings: QueueSettings) -> Ground {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let store = cluster.rotating_store(&database, 1).await;
    let q = queue(&store, "plain", &settings).await;
    for body in ["f", "g", "h"] {
        send(&store, q, &[body]).await;
    }
    let nack = |ms| Settlement::Nack {
        delay: Some(Duration::from_millis(ms)),
        priority: None,
        reason: None,
    };
    for (held, delay) in claim(&store, q, 3, at(0)).await.iter().zip([500_000, 0, 0]) {
        settle(&store, q, held, nack(delay), at(0)).await.unwrap();
    }
    assert_eq!(bodies(&claim(&store, q, 1, at(1)).await), ["g"]);
    for body in ["d", "e"] {
        send(&store, q, &[body]).await;
    }
    let held = claim(&store, q, 3, at(1)).await;
    assert_eq!(bodies(&held), ["h", "d", "e"]);
    settle(&store, q, &held[0], nack(0), at(1)).await.unwrap();
    send(&store, q, &["a", "b"]).await;
    send(&store, q, &["c"]).await;
    let owner = cluster.client(&database).await;
    Ground { _database: database, store, owner, q }
}

/// What is made of the rows, and which messages are set aside with them.
const BAD: [(&str, &str, &str); 22] = [
    ("a pack that is too short", "UPDATE slipring.message SET body = '\\x00' WHERE n = 2", "ab"),
    ("a pack of too many", "UPDATE slipring.message SET n = 9999 WHERE n = 2", "ab"),
    (
        "headers of one with a negative size",
        "UPDATE slipring.message SET headers = '{', bytes = -5 WHERE body = 'c'",
        "c",
    ),
    (
        "a priority below all on the shelf",
        "UPDATE slipring.item_picture SET priority = -1
         WHERE (id, seq) = (SELECT i.id, i.seq FROM slipring.item i WHERE i.state = 1)",
        "h",
    ),
    (
        "a pack whose ends go back",
        "UPDATE slipring.message SET body = '\\x00020001' || substring(body, 5) WHERE n = 2",
        "ab",
    ),
    ("headers", "UPDATE slipring.message SET headers = '{' WHERE body = 'c'", "c"),
    ("headers of a leased one", "UPDATE slipring.message SET headers = '{' WHERE body = 'd'", "d"),
    (
        "headers that are not texts",
        "UPDATE slipring.message SET headers = '{\"a\": 1}' WHERE body = 'c'",
        "c",
    ),
    (
        "headers of a leased one that are not texts",
        "UPDATE slipring.message SET headers = '{\"a\": 1}' WHERE body = 'd'",
        "d",
    ),
    (
        "headers on the shelf that are not texts",
        "UPDATE slipring.item_body SET headers = '{\"a\": {}}' WHERE body = 'h'",
        "h",
    ),
    (
        "a source that is no name",
        "UPDATE slipring.item_picture SET source = 'no name'
         WHERE (id, seq) = (SELECT i.id, i.seq FROM slipring.item i WHERE i.state = 1)",
        "h",
    ),
    ("a lease without bounds", "UPDATE slipring.lease SET open = '{(,)}' WHERE n = 2", ""),
    (
        "a lease of more than it has",
        "UPDATE slipring.state SET leased = 3 WHERE leased = 2;
         UPDATE slipring.lease SET n = 3 WHERE n = 2",
        "",
    ),
    ("a lease of less than none", "UPDATE slipring.lease SET n = -2 WHERE n = 2", ""),
    ("a lease of an unknown lane", "UPDATE slipring.lease SET lane = -7 WHERE n = 2", ""),
    (
        "a lease of nothing",
        "INSERT INTO slipring.lease SELECT slot, queue_id, fence - 1, 7, seq, lane, deadline_ms,
            leased_ms, holder, 5, 10, NULL, '{[5, 10)}' FROM slipring.lease WHERE n = 2",
        "",
    ),
    (
        "an ack without bounds",
        "INSERT INTO slipring.ack SELECT slot, queue_id, (SELECT max(id) FROM slipring.message), 0,
            fence, '{(,)}' FROM slipring.lease WHERE n = 2",
        "",
    ),
    (
        "an ack of more than there is",
        "INSERT INTO slipring.ack SELECT slot, queue_id, (SELECT max(id) FROM slipring.message), 0,
            fence, '{[1, 4611686018427387904)}' FROM slipring.lease WHERE n = 2",
        "",
    ),
    ("no body", "DELETE FROM slipring.item_body WHERE body = 'g'", "g"),
    (
        "a number that cannot grow",
        "UPDATE slipring.item_picture SET seq = 9223372036854775807
         WHERE (id, seq) = (SELECT i.id, i.seq FROM slipring.item i WHERE i.state = 2)",
        "g",
    ),
    (
        "attempts that cannot grow",
        "UPDATE slipring.item_picture SET attempts = 9223372036854775807
         WHERE (id, seq) = (SELECT i.id, i.seq FROM slipring.item i WHERE i.state = 1)",
        "h",
    ),
    (
        "a delayed one with a number that cannot grow",
        "UPDATE slipring.item_picture SET seq = 9223372036854775807
         WHERE (id, seq) = (SELECT i.id, i.seq FROM slipring.item i WHERE i.state = 0)",
        "f",
    ),
];

impl Ground {
    /// Everything that runs in the background, and receives, until nothing is left: which messages
    /// came.
    async fn all(&self) -> String {
        let Ground { store, q, .. } = self;
        let mut came = Vec::new();
        let rounds = async {
            for round in 0.. {
                let now = at(10_000 + round);
                store.due(now).await.expect("what is due");
                store.expire(now).await.expect("what lapses");
                store.prune(now).await.expect("rotation");
                came.extend(drain(store, *q).await);
                let left = one(&self.owner, "SELECT count(*) FROM slipring.message").await;
                if left == 0 && stats(store, *q).await.total() == 0 {
                    break;
                }
            }
        };
        soon("the retirement of all rows", rounds).await;
        came.sort();
        came.concat()
    }

    /// Makes a row wrong: these messages are set aside, the others come, and nothing else counts.
    async fn loses(&self, what: &str, sql: &str, lost: &str) {
        run(&self.owner, sql).await;
        let came = self.all().await;
        let wanted: String = "abcdefgh".chars().filter(|c| !lost.contains(*c)).collect();
        assert_eq!(came, wanted, "{what}");
        let stats = stats(&self.store, self.q).await;
        assert!(stats.set_aside > 0, "{what}: nothing is told");
        assert_eq!((stats.total(), stats.bytes), (0, 0), "{what}: what is counted");
        let told =
            "SELECT count(*) FROM slipring.findings('plain') WHERE why <> '' AND kept <> '{}'";
        assert_eq!(one(&self.owner, told).await.unsigned_abs(), stats.set_aside, "{what}");
        let lost_by = one(&self.owner, "SELECT sum(messages)::int8 FROM slipring.findings()").await;
        assert!(lost.is_empty() || lost_by > 0, "{what}: how many messages");
    }
}

#[tokio::test]
async fn rows_of_any_kind_that_are_wrong_stop_nothing_and_are_found() {
    for (what, sql, lost) in BAD {
        let g = ground().await;
        g.loses(what, sql, lost).await;
    }
}

#[tokio::test]
async fn what_was_counted_before_it_was_wrong_counts_no_more() {
    // Where there is a limit, messages are in no packs.
    for (what, sql, lost) in BAD.into_iter().filter(|(_, _, lost)| *lost != "ab") {
        let settings = QueueSettings { messages_max: Some(8), ..QueueSettings::default() };
        let g = ground_of(settings).await;
        let more = vec![NewMessage::new("i".to_owned())];
        let refused = try_send(&g.store, g.q, more, START).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::LimitExceeded, "what there is was counted for it");
        g.loses(what, sql, lost).await;
    }
}

#[tokio::test]
async fn rows_that_are_right_are_never_set_aside() {
    let g = ground().await;
    assert_eq!(one(&g.owner, "SELECT slipring.set_aside('plain')").await, 0);
    assert_eq!(g.all().await, "abcdefgh");
    assert_eq!(stats(&g.store, g.q).await.set_aside, 0);
}

#[tokio::test]
async fn more_attempts_than_a_server_counts_are_many() {
    let g = ground().await;
    let many = "UPDATE slipring.item_picture SET attempts = 8589934592
        WHERE (id, seq) = (SELECT i.id, i.seq FROM slipring.item i WHERE i.state = 1)";
    run(&g.owner, many).await;
    let taken = claim(&g.store, g.q, 9, at(2)).await;
    let many = taken.iter().find(|taken| taken.message.body == "h").expect("it is ready");
    assert_eq!(many.message.attempts, u32::MAX);
    assert_eq!(g.all().await, "abcdefgh");
    assert_eq!(stats(&g.store, g.q).await.set_aside, 0);
}

#[tokio::test]
async fn without_a_server_maintain_and_an_admin_set_rows_aside() {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let owner = cluster.client(&database).await;
    run(&owner, "SELECT slipring.create_queue('jobs')").await;
    run(&owner, "SELECT slipring.send('jobs', b) FROM unnest(ARRAY['x', 'y', 'z']) b").await;
    run(&owner, "UPDATE slipring.message SET sent_ms = 9223372036854775807 WHERE body = 'x'").await;
    let receive = "SELECT count(*) FROM slipring.receive('jobs', 10, '1 ms')";
    owner.query(receive, &[]).await.expect_err("no such time can be told");
    assert_eq!(one(&owner, "SELECT slipring.set_aside('jobs')").await, 1);
    assert_eq!(one(&owner, receive).await, 2);
    // One more than the lease has: its end is never complete.
    run(&owner, "UPDATE slipring.lease SET n = 3; UPDATE slipring.state SET leased = 3").await;
    let ready = async {
        while one(&owner, receive).await != 2 {
            run(&owner, "CALL slipring.maintain()").await;
        }
    };
    soon("the lapse", ready).await;
    let found = "SELECT count(*) FROM slipring.findings('jobs') WHERE kind IN ('message', 'lease')";
    assert_eq!(one(&owner, found).await, 2);
}

#[tokio::test]
async fn what_was_handed_out_beside_a_message_that_cannot_be_read_is_not_lost_for_its_lease() {
    // S2.1, S11.4
    let cluster = Cluster::shared();
    let (_database, store, owner) = cluster.opened().await;
    let settings = QueueSettings { max_attempts: Some(1), ..QueueSettings::default() };
    let q = queue(&store, "q", &settings).await;
    for body in ["a", "b", "c", "d"] {
        send(&store, q, &[body]).await;
    }
    // Texts in a header are all that a server reads.
    run(&owner, "UPDATE slipring.message SET headers = '{\"a\": 1}' WHERE body = 'c'").await;
    assert_eq!(bodies(&claim(&store, q, 9, at(0)).await), ["a", "b", "d"]);
    let aside = "SELECT count(*) FROM slipring.aside WHERE kind = 'message'";
    assert_eq!(one(&owner, aside).await, 1);
    let stats = stats(&store, q).await;
    assert_eq!((stats.leased, stats.parked, stats.ready), (3, 0, 0));
}

#[tokio::test]
async fn two_messages_of_one_number_stop_neither_of_their_queues() {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let store = cluster.rotating_store(&database, 1).await;
    let (one_q, other_q) = (plain(&store).await, queue(&store, "other", &Default::default()).await);
    let owner = cluster.client(&database).await;
    // By hand: only the owner can make a session forget what it has given.
    let twice = "BEGIN; SELECT slipring.send('plain', 'a'::text);
        SELECT slipring.send('plain', 'b'::text);
        SELECT setval(slipring.numbers(), pg_current_xact_id()::text::int8 << 18);
        SELECT slipring.send('other', 'c'::text); COMMIT";
    run(&owner, twice).await;
    send(&store, other_q, &["d"]).await;
    let same = "SELECT count(*) - count(DISTINCT id) FROM slipring.message";
    assert_eq!(one(&owner, same).await, 1);
    assert_eq!(bodies(&claim(&store, one_q, 2, at(0)).await), ["a", "b"]);
    assert_eq!(bodies(&claim(&store, other_q, 2, at(0)).await), ["c", "d"]);
    store.expire(at(100)).await.expect("what lapses");
    assert_eq!(drain(&store, one_q).await, ["a", "b"]);
    store.expire(at(200)).await.expect("what lapses later");
    assert_eq!(drain(&store, other_q).await, ["d"]);
    let found = "SELECT count(*) FROM slipring.findings('other') WHERE kind = 'message'";
    assert_eq!(one(&owner, found).await, 1);
    assert!(stats(&store, other_q).await.set_aside > 0);
    assert_eq!(stats(&store, one_q).await.set_aside, 0);
}

#[tokio::test]
async fn a_queue_whose_statistics_fail_is_listed_without_them() {
    let (_database, store, owner) = Cluster::shared().opened().await;
    for q in [plain(&store).await, queue(&store, "good", &Default::default()).await] {
        send(&store, q, &["a"]).await;
    }
    let list =
        "SELECT string_agg(format('%s %s %s', q.queue, q.ready, q.bytes), ', ' ORDER BY q.queue)
        FROM slipring.queues() q";
    let listed = async || -> String { owner.query_one(list, &[]).await.unwrap().get(0) };
    assert_eq!(listed().await, "good 1 1, plain 1 1");
    // Its first table cannot be found.
    let spoil = "DO $$ BEGIN EXECUTE format('ALTER TABLE slipring.message_%s_0 RENAME TO gone',
        (SELECT place FROM slipring.queue WHERE name = 'plain')); END $$";
    run(&owner, spoil).await;
    assert_eq!(listed().await, "good 1 1, plain  ");
}
