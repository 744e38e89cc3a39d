//! A standby that had not received everything takes over: what came last is lost, transaction
//! numbers and numbers of queues are given again, and sequences go back.

use std::sync::Arc;
use std::time::Duration;

use slipring::store::Store;
use slipring::{
    AdminStore, Delivery, Engine, ErrorKind, MessageId, NewMessage, Queue, QueueSettings,
    ReceiveRequest,
};
use slipring_conformance::verbs::{ack_all, at, bodies, claim, plain, send};
use slipring_postgres::{PostgresOptions, PostgresStore};
use slipring_testbed::pair::{Pair, Replication};
use slipring_testbed::{Database, one, run};
use tokio_postgres::Client;

use super::ledger::{Ledger, Outcome};
use super::load::{engine, reached, text, until};

const LEASE: Duration = Duration::from_secs(3);

/// A primary, and a standby that takes over without what it has not received.
struct Ground {
    pair: Pair,
    database: Database,
}

impl Ground {
    async fn new() -> Ground {
        let pair = Pair::start(Replication::Asynchronous).await;
        let database = pair.cluster().database().await;
        Ground { pair, database }
    }

    async fn engine(&self) -> Engine {
        engine(&self.pair.address(&self.database)).await
    }

    async fn store(&self) -> Arc<PostgresStore> {
        let address = self.pair.address(&self.database);
        PostgresStore::open(&address, PostgresOptions::default()).await.expect("no import needed")
    }

    async fn client(&self) -> Client {
        reached(&self.pair.url(&self.database)).await.expect("a server takes writes")
    }

    fn fail_over(&mut self) {
        self.pair.kill_primary();
        self.pair.promote();
    }
}

/// Sends `name:1` and so on; answers the messages' numbers.
async fn send_all(ledger: &Ledger, queue: &Queue, name: &str, last: u64) -> Vec<MessageId> {
    let mut ids = Vec::new();
    for n in 1..=last {
        let body = format!("{name}:{n}");
        ledger.sending(&body);
        let sent = queue.send(NewMessage::new(body.clone())).await;
        ledger.sent(&body, Outcome::of(&sent));
        ids.push(sent.expect("it is sent").id);
    }
    ids
}

async fn receive(ledger: &Ledger, queue: &Queue, up_to: u32) -> Vec<Delivery> {
    let since = ledger.moment();
    let request = ReceiveRequest::up_to(up_to).lease(LEASE).wait(2 * LEASE);
    let list = queue.receive(request).await.expect("it is received");
    ledger.received(since, &list.iter().map(text).collect::<Vec<_>>(), false);
    list
}

async fn ack(ledger: &Ledger, queue: &Queue, delivery: &Delivery) {
    ledger.acking(&text(delivery));
    let answer = queue.ack(&delivery.receipt).await;
    ledger.acked(&text(delivery), Outcome::of(&answer));
    answer.expect("the ack is accepted");
}

/// Every way to settle is refused, and says why.
async fn refused(queue: &Queue, delivery: &Delivery, kind: ErrorKind) {
    let receipt = delivery.receipt;
    let taken_up = queue.take_up(vec![(receipt, LEASE)]).await.unwrap().remove(0);
    for answer in [
        queue.ack(&receipt).await,
        queue.nack(&receipt, None).await.map(drop),
        queue.extend(vec![(receipt, None)]).await.unwrap().remove(0).map(drop),
        taken_up.map(drop),
    ] {
        let error = answer.expect_err(&text(delivery));
        assert_eq!(error.kind(), kind, "{error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_asynchronous_standby_had_not_received_is_lost_and_nothing_else() {
    let mut ground = Ground::new().await;
    let engine = ground.engine().await;
    let queue = engine.create_queue("plain", QueueSettings::default()).await.unwrap();
    let ledger = Ledger::default();
    send_all(&ledger, &queue, "kept", 10).await;
    let held = receive(&ledger, &queue, 6).await;
    ack(&ledger, &queue, &held[0]).await;
    ground.pair.cut_off().await;
    // From here on nobody else will know of it.
    let lost = send_all(&ledger, &queue, "lost", 5).await;
    ack(&ledger, &queue, &held[1]).await;
    let handed = receive(&ledger, &queue, 7).await;
    assert_eq!(handed.iter().map(text).collect::<Vec<_>>()[3..5], ["kept:10", "lost:1"]);
    ground.fail_over();
    until("the new primary is found", async || engine.check().await.ok()).await;
    // The numbers of lost messages are given again.
    let fresh = send_all(&ledger, &queue, "new", 20).await;
    assert!(lost.iter().any(|id| fresh.contains(id)), "{fresh:?} has none of {lost:?}");
    // Their receipts are good for nothing, nor are those of lost hand-outs.
    for delivery in &handed {
        let id = delivery.message.id;
        let gone = lost.contains(&id) && !fresh.contains(&id);
        let kind = if gone { ErrorKind::MessageGone } else { ErrorKind::LeaseLost };
        refused(&queue, delivery, kind).await;
    }
    ack(&ledger, &queue, &held[2]).await;
    let mut left = 10 - 2 + 20;
    while left > 0 {
        let list = receive(&ledger, &queue, 10).await;
        assert!(!list.is_empty(), "{left} messages do not come");
        let same = |old: &&Delivery| list.iter().any(|new| new.message.id == old.message.id);
        for delivery in handed.iter().filter(same) {
            refused(&queue, delivery, ErrorKind::LeaseLost).await;
        }
        for delivery in &list {
            ack(&ledger, &queue, delivery).await;
        }
        left -= list.len();
    }
    assert_eq!(queue.stats().await.unwrap().ready, 0);
    // The checker misses what nobody had received, and nothing else.
    let risen = format!("{}: came after its ack", text(&held[1]));
    assert_eq!(ledger.faults(), [&*risen, "lost:4: lost", "lost:5: lost"]);
    engine.shutdown().await;
}

/// Uses up transaction numbers until the next one is `wanted`.
async fn next_number(client: &Client, wanted: i64) {
    let next = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::int8";
    while one(client, next).await < wanted {
        run(client, "SELECT pg_current_xact_id()").await;
    }
    assert_eq!(one(client, next).await, wanted, "the number can be given again");
}

/// A receive in a transaction of its own: the transaction's number and the receipt.
async fn receive_by_sql(client: &Client) -> (i64, String) {
    run(client, "BEGIN").await;
    let row = client.query_one("SELECT receipt FROM slipring.receive('plain')", &[]).await;
    let receipt = row.expect("a message is received").get(0);
    let number = one(client, "SELECT pg_current_xact_id()::text::int8").await;
    run(client, "COMMIT").await;
    (number, receipt)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receipt_by_sql_is_told_from_that_of_a_transaction_whose_number_was_given_again() {
    // S3.2
    let mut ground = Ground::new().await;
    let client = ground.client().await;
    run(&client, "SELECT slipring.create_queue('plain')").await;
    for _ in 0..2 {
        run(&client, "SELECT slipring.send('plain', 'x'::text)").await;
    }
    // From the second receive on each has a fence of its transaction.
    let (_, first) = receive_by_sql(&client).await;
    client.execute("SELECT slipring.ack($1::text)", &[&first]).await.unwrap();
    // However fast the failover is.
    let now = one(&client, "SELECT slipring.now_ms()").await;
    let stopped = format!(
        "CREATE OR REPLACE FUNCTION slipring.now_ms() RETURNS bigint LANGUAGE sql AS 'SELECT {now}'"
    );
    run(&client, &stopped).await;
    ground.pair.cut_off().await;
    let (number, old) = receive_by_sql(&client).await;
    ground.fail_over();
    let client = ground.client().await;
    next_number(&client, number).await;
    let (again, new) = receive_by_sql(&client).await;
    assert_eq!(again, number);
    assert_ne!(old, new, "one receipt for two hand-outs");
    let ack = "SELECT slipring.ack($1::text)";
    let error = client.execute(ack, &[&old]).await.expect_err("the hand-out is lost");
    assert_eq!(error.code().map(|code| code.code()), Some("SR004"), "{error:?}");
    client.execute(ack, &[&new]).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_queue_that_was_lost_is_not_taken_for_the_one_that_has_its_number_now() {
    let mut ground = Ground::new().await;
    let (engine, client) = (ground.engine().await, ground.client().await);
    // Looks when it is told to, as an engine may that was busy meanwhile.
    let store = ground.store().await;
    engine.create_queue("kept", QueueSettings::default()).await.unwrap();
    ground.pair.cut_off().await;
    // The standby gives this number next, and the primary now.
    let standby = ground.pair.on_standby(&ground.database.name).await;
    let sequence = "slipring.queue_queue_id_seq";
    let last = one(&standby, &format!("SELECT last_value FROM {sequence}")).await;
    run(&client, &format!("SELECT setval('{sequence}', {last})")).await;
    let lost = engine.create_queue("lost", QueueSettings::default()).await.unwrap();
    let made = "SELECT created_ms FROM slipring.queue WHERE name = 'lost'";
    let made = one(&client, made).await;
    assert_eq!(engine.queues().await.unwrap().len(), 2);
    let seen = store.queue_changes().await.unwrap();
    ground.fail_over();
    let client = ground.client().await;
    // Made and changed at the same moments.
    run(&client, "SELECT slipring.create_queue('other')").await;
    let moments = format!(
        "UPDATE slipring.queue SET created_ms = {made}, modified_ms = {made} WHERE name = 'other'"
    );
    run(&client, &moments).await;
    let other = one(&client, "SELECT max(queue_id)::int8 FROM slipring.queue").await;
    assert_eq!(other as u64, lost.id().0, "the number is given again");
    until("the new primary is found", async || engine.check().await.ok()).await;
    until("the new primary is found", async || store.check().await.ok()).await;
    assert_ne!(store.queue_changes().await.unwrap(), seen, "the list is another one");
    let queues = engine.queues().await.unwrap();
    let names: Vec<String> = queues.iter().map(|queue| queue.name().to_string()).collect();
    assert_eq!(names, ["kept", "other"]);
    let error = engine.queue("lost").await.expect_err("it is lost");
    assert_eq!(error.kind(), ErrorKind::QueueNotFound);
    let error = lost.send(NewMessage::new("x")).await.expect_err("its number is another's");
    assert_eq!(error.kind(), ErrorKind::QueueNotFound);
    engine.shutdown().await;
}

/// The sum that a look compares.
async fn activity(client: &Client) -> i64 {
    let sum =
        "SELECT sum(coalesce(pg_sequence_last_value(format('slipring.activity_%s', n)::regclass),
               0))::int8 FROM generate_series(0, 15) n";
    one(client, sum).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_is_seen_though_sequences_went_back_and_receipts_differ_though_clocks_did() {
    // S2.4, S3.2
    let mut ground = Ground::new().await;
    let (store, client) = (ground.store().await, ground.client().await);
    let q = plain(&store).await;
    send(&store, q, &["kept"]).await;
    ground.pair.cut_off().await;
    let old = claim(&store, q, 1, at(5)).await;
    let far = activity(&client).await + 100;
    while activity(&client).await < far {
        run(&client, "SELECT slipring.send('plain', 'lost'::text)").await;
    }
    let stood = activity(&client).await;
    let seen = store.foreign_changes().await.unwrap();
    assert_eq!(store.foreign_changes().await.unwrap(), seen);
    ground.fail_over();
    let client = ground.client().await;
    assert!(activity(&client).await < stood, "the sequences went back");
    while activity(&client).await < stood {
        run(&client, "SELECT slipring.send('plain', 'new'::text)").await;
    }
    assert_eq!(activity(&client).await, stood);
    until("the new primary is found", async || store.check().await.ok()).await;
    assert_ne!(store.foreign_changes().await.unwrap(), seen, "nobody hears of what was sent");
    // In the same millisecond: clocks of two servers may differ by as much as a failover takes.
    let new = claim(&store, q, 1, at(5)).await;
    assert_eq!((bodies(&old), bodies(&new)), (vec!["kept".into()], vec!["kept".into()]));
    assert_ne!(old[0].receipt, new[0].receipt, "one receipt for two hand-outs");
    ack_all(&store, q, &new, at(6)).await;
}
