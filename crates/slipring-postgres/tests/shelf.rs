//! Messages that left the happy path, in tables that are emptied as a whole: nothing is ever
//! updated or deleted, and nothing is lost or given twice over any step of a rotation.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

use std::sync::Arc;
use std::time::Duration;

use slipring::lifecycle::Settlement;
use slipring::{
    AdminStore, Delivery, MessageState, MoveRequest, QueueId, QueueName, QueueSettings, Reason,
    Store, Timestamp,
};
use slipring_conformance::bench::{bodies, m, s};
use slipring_conformance::verbs::{
    ack_all, at, claim, counts, drain, peek, plain, queue, send, settle, try_send,
};
use slipring_postgres::PostgresStore;
use slipring_testbed::{Cluster, Database, one, rotate, rotation_step, run, waiting};
use tokio_postgres::Client;

const PATIENCE: Duration = Duration::from_secs(60);

/// The tables whose rows are pictures; what is in force is the newest of each.
const TABLES: [&str; 7] =
    ["item_picture", "item_body", "mark", "tally", "tally_sum", "fifo_group", "fifo_touched"];

/// A store with a queue, a FIFO queue and a queue for dead letters, and somebody who rotates.
struct Ground {
    cluster: &'static Cluster,
    database: Database,
    store: Arc<PostgresStore>,
    q: QueueId,
    fifo: QueueId,
    dead: QueueId,
    rotator: Client,
}

impl Ground {
    async fn new() -> Ground {
        let cluster = Cluster::shared();
        let database = cluster.database().await;
        let store = cluster.store(&database).await;
        let dead = queue(&store, "dead", &QueueSettings::default()).await;
        let q = plain(&store).await;
        let settings = QueueSettings {
            fifo: true,
            max_attempts: Some(2),
            dead_letter: Some(QueueName::new("dead").unwrap()),
            ..QueueSettings::default()
        };
        let fifo = queue(&store, "fifo", &settings).await;
        let rotator = cluster.client(&database).await;
        Ground { cluster, database, store, q, fifo, dead, rotator }
    }

    /// One step of the shelf's rotation, which fails just before its commit or takes effect.
    async fn step(&self, now: Timestamp, end: &str) {
        rotate(&self.rotator, "shelf", now, end).await;
    }

    /// Makes the next rotation due, which otherwise waits until as much was written as lives.
    async fn want_rotation(&self) {
        run(&self.rotator, "SELECT setval('slipring.shelf_kept', 0)").await;
    }

    /// The generation of the shelf that is written, and the oldest that may have rows.
    async fn generations(&self) -> (i64, i64) {
        let of = async |name: &str| {
            one(&self.rotator, &format!("SELECT pg_sequence_last_value('slipring.{name}')")).await
        };
        (of("shelf").await, of("shelf_low").await)
    }

    /// Rows in a generation of the pictures.
    async fn pictures(&self, generation: i64) -> i64 {
        let slot = generation % 3;
        one(&self.rotator, &format!("SELECT count(*) FROM slipring.item_picture_{slot}")).await
    }

    async fn nack(&self, queue: QueueId, of: &[Delivery], seconds: u64, now: Timestamp) {
        for delivery in of {
            let how = Settlement::Nack { delay: Some(s(seconds)), priority: None, reason: None };
            settle(&self.store, queue, delivery, how, now).await.expect("the lease is held");
        }
    }

    async fn fail(&self, of: &[Delivery], seconds: u64, now: Timestamp) {
        for delivery in of {
            let reason = Some(reason(delivery));
            let how = Settlement::Nack { delay: Some(s(seconds)), priority: None, reason };
            settle(&self.store, self.q, delivery, how, now).await.expect("the lease is held");
        }
    }

    /// Messages in all states: twenty of the queue with pictures, and groups of the FIFO queue.
    async fn fill(&self, now: Timestamp) -> Vec<Delivery> {
        let texts: Vec<String> = (0..20).map(|n| format!("m{n:02}")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        send(&self.store, self.q, &texts).await;
        let taken = claim(&self.store, self.q, 20, now).await;
        assert_eq!(taken.len(), 20);
        self.fail(&taken[0..5], 0, now).await;
        self.fail(&taken[5..10], 100, now).await;
        for delivery in &taken[10..15] {
            let how = Settlement::Park { priority: None };
            settle(&self.store, self.q, delivery, how, now).await.unwrap();
        }
        ack_all(&self.store, self.q, &taken[15..20], now).await;
        for group in ["a", "b", "c"] {
            let messages = (0..5).map(|n| m(&format!("{group}{n}")).group(group)).collect();
            try_send(&self.store, self.fifo, messages, now).await.unwrap();
        }
        let held = claim(&self.store, self.fifo, 1, now).await;
        assert_eq!(bodies(&held), ["a0"]);
        held
    }
}

/// A text of 4,000 characters that nothing makes shorter, of its own for each message.
fn reason(of: &Delivery) -> Reason {
    let mut state = of.message.id.0;
    let letter = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from(b' ' + u8::try_from((state >> 33) % 95).unwrap())
    };
    Reason::new(&(0..4000).map(letter).collect::<String>())
}

#[tokio::test]
async fn nothing_is_updated_or_deleted() {
    let g = Ground::new().await;
    let held = g.fill(at(0)).await;
    ack_all(&g.store, g.fifo, &held, at(1)).await;
    assert_eq!(g.store.due(at(200)).await.unwrap().ready, [(g.q, 5)]);
    assert_eq!(g.store.kick(g.q, 3, at(200)).await.unwrap(), 3);
    for _ in 0..2 {
        // Once they lapse, once they are settled.
        assert_eq!(claim(&g.store, g.q, 100, at(200)).await.len(), 13);
        g.store.expire(at(1000)).await.unwrap();
    }
    let taken = claim(&g.store, g.q, 100, at(1000)).await;
    ack_all(&g.store, g.q, &taken, at(1000)).await;
    for _ in 0..3 {
        let taken = claim(&g.store, g.fifo, 100, at(1000)).await;
        g.nack(g.fifo, &taken, 0, at(1000)).await;
    }
    assert!(counts(&g.store, g.dead).await[0] > 0, "some attempts are used up");
    let request = MoveRequest { source: g.dead, target: Some(g.fifo), limit: 100 };
    g.store.move_messages(request, at(1000)).await.unwrap();
    let written = format!(
        "SELECT sum(n_tup_ins)::int8 FROM pg_stat_all_tables WHERE relname ~ '^({})_[0-2]$'",
        TABLES.join("|")
    );
    let told = async { while one(&g.rotator, &written).await < 200 {} };
    tokio::time::timeout(PATIENCE, told).await.expect("the server tells what was written");
    let changed = "SELECT sum(n_tup_upd + n_tup_del + n_dead_tup)::int8 FROM pg_stat_all_tables \
         WHERE schemaname = 'slipring' AND relname !~ '^(queue|place|store|dedup|migration)'";
    let changed = one(&g.rotator, changed).await;
    assert_eq!(changed, 0, "rows were updated or deleted");
}

#[tokio::test]
async fn leases_that_were_acked_before_they_lapsed_are_walked_over_once() {
    // S5.2
    let g = Ground::new().await;
    send(&g.store, g.q, &["m"; 300]).await;
    let taken = claim(&g.store, g.q, 300, at(0)).await;
    g.nack(g.q, &taken, 0, at(0)).await;
    let again = claim(&g.store, g.q, 300, at(0)).await;
    assert_eq!(again.len(), 300);
    ack_all(&g.store, g.q, &again, at(0)).await;
    let marks =
        format!("SELECT count(*) FROM slipring.mark WHERE queue_id = {} AND kind = 2", g.q.0);
    assert_eq!(g.store.expire(at(1000)).await.unwrap().ready, []);
    assert_eq!(one(&g.rotator, &marks).await, 1);
    // There is nothing left to walk over, so nothing more is noted.
    assert_eq!(g.store.expire(at(1001)).await.unwrap().ready, []);
    assert_eq!(one(&g.rotator, &marks).await, 1);
    let far = format!("{marks} AND turn >= {}", at(30).as_millis());
    assert_eq!(one(&g.rotator, &far).await, 1);
}

#[tokio::test]
async fn older_pictures_of_a_message_that_fails_for_ever_are_not_walked_over() {
    // S11.1
    let g = Ground::new().await;
    send(&g.store, g.q, &["poison"]).await;
    for _ in 0..40 {
        let taken = claim(&g.store, g.q, 1, at(0)).await;
        g.nack(g.q, &taken, 0, at(0)).await;
    }
    let ready = "SELECT count(*) FROM slipring.item_picture WHERE state = 1";
    assert_eq!(one(&g.rotator, ready).await, 40);
    let walked = "SELECT count(*) FROM slipring.item_picture p, (
            SELECT * FROM slipring.mark WHERE kind = 8 ORDER BY seq DESC LIMIT 1) m
        WHERE p.state = 1 AND p.turn >= 8589934592
            AND ((p.turn, p.id) >= (m.turn, m.id) OR p.entry <@ m.unseen)";
    assert_eq!(one(&g.rotator, walked).await, 1, "the newest alone");
}

#[tokio::test]
async fn what_waits_stays_through_every_step_of_two_rotations() {
    let g = Ground::new().await;
    let held = g.fill(at(0)).await;
    let (began, _) = g.generations().await;
    let rotated = async {
        let mut moment = 0;
        while g.generations().await.1 < began + 2 {
            g.want_rotation().await;
            g.step(at(moment), if moment % 2 == 0 { "ROLLBACK" } else { "COMMIT" }).await;
            moment += 1;
            assert_eq!(counts(&g.store, g.q).await, [5, 5, 0, 5], "at {moment}");
            assert_eq!(counts(&g.store, g.fifo).await, [14, 0, 1, 0], "at {moment}");
            let more = claim(&g.store, g.q, 1, at(moment)).await;
            assert_eq!(bodies(&more), ["m00"]);
            let seen = g.store.lookup(more[0].message.id, at(moment)).await.unwrap().unwrap();
            assert_eq!(seen.failures[0].reason, Some(reason(&more[0])), "at {moment}");
            settle(&g.store, g.q, &more[0], Settlement::HandBack, at(moment)).await.unwrap();
        }
    };
    tokio::time::timeout(PATIENCE, rotated).await.expect("the shelf rotates");
    assert_eq!(drain(&g.store, g.q).await, ["m00", "m01", "m02", "m03", "m04"]);
    assert_eq!(g.store.due(at(99)).await.unwrap().ready, []);
    assert_eq!(g.store.due(at(100)).await.unwrap().ready, [(g.q, 5)]);
    assert_eq!(drain(&g.store, g.q).await, ["m05", "m06", "m07", "m08", "m09"]);
    assert_eq!(g.store.kick(g.q, 100, at(100)).await.unwrap(), 5);
    assert_eq!(drain(&g.store, g.q).await, ["m10", "m11", "m12", "m13", "m14"]);
    assert_eq!(counts(&g.store, g.q).await, [0; 4]);
    // The group of the held message gives nothing, the others give all in order.
    let others = drain(&g.store, g.fifo).await;
    assert_eq!(others, ["b0", "b1", "b2", "b3", "b4", "c0", "c1", "c2", "c3", "c4"]);
    ack_all(&g.store, g.fifo, &held, at(1)).await;
    assert_eq!(drain(&g.store, g.fifo).await, ["a1", "a2", "a3", "a4"]);
    assert_eq!(counts(&g.store, g.fifo).await, [0; 4]);
}

#[tokio::test]
async fn a_group_that_has_messages_in_the_log_alone_keeps_its_place_over_a_rotation() {
    let g = Ground::new().await;
    let sent = async |body: &str| {
        try_send(&g.store, g.fifo, vec![m(body).group(&body[..1])], at(0)).await.unwrap();
    };
    sent("a1").await;
    sent("b1").await;
    let first = claim(&g.store, g.fifo, 1, at(0)).await;
    sent("a2").await;
    settle(&g.store, g.fifo, &first[0], Settlement::DeadLetter { reason: None }, at(0))
        .await
        .unwrap();
    let (began, _) = g.generations().await;
    let rotated = async {
        while g.generations().await.1 < began + 2 {
            g.want_rotation().await;
            g.step(at(1), "COMMIT").await;
        }
    };
    tokio::time::timeout(PATIENCE, rotated).await.expect("the shelf rotates");
    let redrive = MoveRequest { source: g.dead, target: None, limit: 1 };
    assert_eq!(g.store.move_messages(redrive, at(1)).await.unwrap(), [(g.fifo, 1)]);
    assert_eq!(drain(&g.store, g.fifo).await, ["b1", "a1", "a2"]);
}

/// What is done to a message one after the other, with steps of a rotation between.
const DEEDS: usize = 5;

#[tokio::test]
async fn messages_that_change_between_the_steps_are_given_as_often_as_they_should() {
    let g = Ground::new().await;
    let (began, _) = g.generations().await;
    let mut moment = 0;
    let rotated = async {
        let mut hands: [Vec<Delivery>; 2] = Default::default();
        while g.generations().await.1 < began + 3 || moment % DEEDS != 0 {
            let now = at(u64::try_from(moment).unwrap());
            g.want_rotation().await;
            for (queue, held) in [g.q, g.fifo].into_iter().zip(&mut hands) {
                match moment % DEEDS {
                    0 => {
                        let text = moment.to_string();
                        let messages = vec![m(&text).group("g"), m("second").group("g")];
                        try_send(&g.store, queue, messages, now).await.unwrap();
                    }
                    1 => *held = claim(&g.store, queue, 1, now).await,
                    2 => g.nack(queue, held, 0, now).await,
                    3 => *held = claim(&g.store, queue, 1, now).await,
                    _ => {
                        let first = (moment + 1 - DEEDS).to_string();
                        assert_eq!(bodies(held), [first]);
                        assert_eq!(held[0].message.attempts, 2);
                        ack_all(&g.store, queue, held, now).await;
                        assert_eq!(drain(&g.store, queue).await, ["second"]);
                    }
                }
            }
            g.step(now, if moment % 3 == 0 { "ROLLBACK" } else { "COMMIT" }).await;
            moment += 1;
        }
    };
    tokio::time::timeout(PATIENCE, rotated).await.expect("the shelf rotates");
    for queue in [g.q, g.fifo, g.dead] {
        assert_eq!(counts(&g.store, queue).await, [0; 4]);
    }
}

#[tokio::test]
async fn an_ack_with_an_old_snapshot_is_told_to_try_again_after_a_rotation() {
    let g = Ground::new().await;
    let user = g.cluster.client(&g.database).await;
    let receive = "SELECT receipt FROM slipring.receive('plain', 1, '1 hour')";
    run(&user, "SELECT slipring.send('plain', 'a'::text)").await;
    let first: String = user.query_one(receive, &[]).await.unwrap().get(0);
    user.execute("SELECT slipring.nack($1, '0 seconds')", &[&first]).await.unwrap();
    let receipt: String = user.query_one(receive, &[]).await.unwrap().get(0);
    run(&user, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM slipring.queue").await;
    let (began, _) = g.generations().await;
    let rotated = async {
        let mut moment = 0;
        while g.generations().await.1 <= began {
            g.step(at(moment), "COMMIT").await;
            moment += 1;
        }
    };
    tokio::time::timeout(PATIENCE, rotated).await.expect("the shelf rotates");
    let ack = "SELECT slipring.ack($1)";
    let error = user.execute(ack, &[&receipt]).await.unwrap_err();
    assert_eq!(error.code().map(tokio_postgres::error::SqlState::code), Some("40001"), "{error}");
    run(&user, "ROLLBACK").await;
    user.execute(ack, &[&receipt]).await.expect("the lease is held");
    assert_eq!(counts(&g.store, g.q).await, [0; 4]);
}

/// Does the steps that copy and empty a generation of the shelf whose marks are set.
async fn empty(g: &Ground, generation: i64) {
    let emptied = async {
        loop {
            let did = rotation_step(&g.rotator, "shelf", at(1)).await;
            let copied = g.pictures(generation + 1).await > 0;
            if g.pictures(generation).await == 0 || copied && !did {
                break;
            }
        }
    };
    tokio::time::timeout(PATIENCE, emptied).await.expect("it is emptied, or somebody is there");
}

#[tokio::test]
async fn who_looks_at_a_queue_while_the_shelf_is_emptied_sees_every_message() {
    let g = Ground::new().await;
    g.fill(at(0)).await;
    let (generation, _) = g.generations().await;
    g.want_rotation().await;
    for _ in 0..2 {
        assert!(rotation_step(&g.rotator, "shelf", at(1)).await, "the next generation, its mark");
    }
    // Keeps who looks on its way from its picture to the shelf.
    let keeper = g.cluster.begin(&g.database, "READ COMMITTED").await;
    run(&keeper, "LOCK TABLE slipring.lease IN ACCESS EXCLUSIVE MODE").await;
    let looked = peek(&g.store, g.fifo, MessageState::Leased);
    let rotated = async {
        waiting(&g.rotator, "relation", 1).await;
        empty(&g, generation).await;
        run(&keeper, "COMMIT").await;
    };
    let (seen, ()) = tokio::join!(looked, rotated);
    assert_eq!(seen, ["a0"]);
    empty(&g, generation).await;
    assert_eq!(g.pictures(generation).await, 0, "nobody is there any more");
    assert_eq!(peek(&g.store, g.fifo, MessageState::Leased).await, ["a0"]);
}

#[tokio::test]
async fn a_sender_that_commits_late_keeps_the_old_tables_until_then() {
    let g = Ground::new().await;
    g.fill(at(0)).await;
    let user = g.cluster.client(&g.database).await;
    let late = "BEGIN; SELECT slipring.send('plain', 'late'::text, delay => '1 second')";
    run(&user, late).await;
    let (began, low) = g.generations().await;
    for moment in 0..10 {
        g.step(at(moment), "COMMIT").await;
    }
    assert_eq!(g.generations().await, (began + 1, low), "its table is not emptied");
    // What is due is looked at meanwhile, so that its time has passed when it appears.
    let far = Timestamp::from_millis(4_000_000_000_000);
    assert_eq!(g.store.due(far).await.unwrap().ready, [(g.q, 5)]);
    run(&user, "COMMIT").await;
    assert_eq!(g.store.due(far).await.unwrap().ready, [(g.q, 1)]);
    let rotated = async {
        while g.generations().await.1 == low {
            g.step(at(20), "COMMIT").await;
        }
    };
    tokio::time::timeout(PATIENCE, rotated).await.expect("the shelf rotates");
    assert_eq!(drain(&g.store, g.q).await.last().map(String::as_str), Some("late"));
}
