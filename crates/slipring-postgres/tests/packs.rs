//! Messages that share a row of the log: whatever is done to one of them is done to it alone.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

use std::sync::Arc;
use std::time::Duration;

use slipring::lifecycle::Settlement;
use slipring::store::{ClaimEnd, Demand, SettleBatch, Settled};
use slipring::{AdminStore, Delivery, MessageState, NewMessage, QueueId, QueueSettings, Store};
use slipring_conformance::verbs::{
    ack_all, at, bodies, claim, claim_with, counts, drain, peek, plain, queue, send, settle, stats,
    try_send,
};
use slipring_postgres::PostgresStore;
use slipring_testbed::{Cluster, one, rotate};

const PATIENCE: Duration = Duration::from_secs(60);

struct Ground {
    store: Arc<PostgresStore>,
    q: QueueId,
    client: tokio_postgres::Client,
}

impl Ground {
    async fn new() -> Ground {
        let cluster = Cluster::shared();
        let database = cluster.database().await;
        let store = cluster.store(&database).await;
        let q = plain(&store).await;
        Ground { store, q, client: cluster.client(&database).await }
    }

    /// Sends numbered texts of different sizes in one call, and checks that they share rows.
    async fn send(&self, count: usize) -> Vec<String> {
        let texts = texts(count);
        let sent: Vec<&str> = texts.iter().map(String::as_str).collect();
        let ids = send(&self.store, self.q, &sent).await;
        assert!(ids.iter().zip(ids.iter().skip(1)).all(|(id, next)| next.0 == id.0 + 1));
        assert!(self.rows().await < i64::try_from(count).unwrap(), "nothing is packed");
        texts
    }

    async fn rows(&self) -> i64 {
        one(&self.client, "SELECT count(*) FROM slipring.message").await
    }
}

fn texts(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("{n:0>width$}", width = 4 + n * 7 % 90)).collect()
}

fn bytes(texts: &[String]) -> u64 {
    texts.iter().map(|text| text.len() as u64).sum()
}

#[tokio::test]
async fn receives_that_end_within_a_pack_go_on_where_they_ended() {
    // S7.1, S4.1
    let ground = Ground::new().await;
    let (store, q) = (&ground.store, ground.q);
    let sent = ground.send(200).await;
    let mut taken = Vec::new();
    for up_to in [1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 57] {
        let got = claim(store, q, up_to, at(0)).await;
        assert_eq!(got.len(), up_to as usize);
        taken.extend(bodies(&got));
        let left = stats(store, q).await;
        assert_eq!(left.ready, (sent.len() - taken.len()) as u64);
        assert_eq!(left.bytes, bytes(&sent), "leased ones count as well");
    }
    assert_eq!(taken, sent);
    assert!(claim(store, q, 1, at(0)).await.is_empty());
}

#[tokio::test]
async fn each_message_of_a_pack_is_settled_for_itself() {
    // S3.4, S6.1, S6.4
    let ground = Ground::new().await;
    let (store, q) = (&ground.store, ground.q);
    let sent = ground.send(60).await;
    let held = claim(store, q, 60, at(0)).await;
    let (mut acked, mut back, mut parked) = (Vec::new(), Vec::new(), Vec::new());
    for (n, delivery) in held.iter().enumerate() {
        let text = sent.get(n).unwrap().clone();
        let (how, expected) = match n % 3 {
            0 => (Settlement::Ack, Settled::Done),
            1 => (Settlement::HandBack, Settled::Ready),
            _ => (Settlement::Park { priority: None }, Settled::Parked),
        };
        assert_eq!(settle(store, q, delivery, how, at(0)).await.unwrap(), expected);
        let list = [&mut acked, &mut back, &mut parked];
        list.into_iter().nth(n % 3).unwrap().push(text);
    }
    assert_eq!(counts(store, q).await, [20, 0, 0, 20]);
    assert_eq!(stats(store, q).await.bytes, bytes(&back) + bytes(&parked));
    assert_eq!(peek(store, q, MessageState::Parked).await, parked);
    assert_eq!(drain(store, q).await, back);
}

#[tokio::test]
async fn acks_in_any_order_and_halves_leave_the_rest_leased() {
    // S3.1, S3.4
    let ground = Ground::new().await;
    let (store, q) = (&ground.store, ground.q);
    let sent = ground.send(100).await;
    let held = claim(store, q, 100, at(0)).await;
    let (odd, even): (Vec<_>, Vec<_>) = held.iter().enumerate().partition(|(n, _)| n % 2 == 1);
    let only = |list: Vec<(usize, &Delivery)>| -> Vec<Delivery> {
        list.into_iter().rev().map(|(_, delivery)| delivery.clone()).collect()
    };
    ack_all(store, q, &only(odd), at(0)).await;
    let left: Vec<String> = sent.iter().step_by(2).cloned().collect();
    let now = stats(store, q).await;
    assert_eq!((now.leased, now.bytes), (50, bytes(&left)));
    assert_eq!(peek(store, q, MessageState::Leased).await, left);
    ack_all(store, q, &only(even), at(0)).await;
    let now = stats(store, q).await;
    assert_eq!((now.leased, now.bytes), (0, 0));
}

#[tokio::test]
async fn messages_taken_out_of_the_middle_leave_their_neighbours() {
    // S2.1, S4.2
    let ground = Ground::new().await;
    let (store, q) = (&ground.store, ground.q);
    let mut left = ground.send(90).await;
    let ids: Vec<_> = store
        .peek(q, slipring::PeekFilter { state: None, limit: 100 }, at(0))
        .await
        .unwrap()
        .iter()
        .map(|peeked| (peeked.message.id, peeked.message.body.clone()))
        .collect();
    for n in [88, 41, 40, 39, 18, 17, 0] {
        let (id, body) = ids.get(n).unwrap();
        let found = store.lookup(*id, at(0)).await.unwrap();
        assert_eq!(&found.unwrap().message.body, body);
        store.cancel(*id, at(0)).await.expect("it is ready");
        assert_eq!(left.remove(n).as_bytes(), body);
        let now = stats(store, q).await;
        assert_eq!((now.ready, now.bytes), (left.len() as u64, bytes(&left)));
    }
    let one = Demand { up_to: 1, lease: None, session: false };
    let (id, body) = ids.get(50).unwrap();
    let taken = store.claim_message(q, *id, one, at(0)).await.expect("nobody holds it");
    assert_eq!(&taken.message.body, body);
    left.retain(|text| text.as_bytes() != body);
    let (first, _) = claim_with(store, q, Demand { up_to: 30, ..one }, at(0)).await;
    let mut all = bodies(&first);
    all.extend(drain(store, q).await);
    assert_eq!(all, left);
}

#[tokio::test]
async fn lapsed_leases_and_old_messages_leave_a_pack_one_by_one() {
    // S5.1, S6.2
    let ground = Ground::new().await;
    let (store, q) = (&ground.store, ground.q);
    let sent = ground.send(50).await;
    let held = claim(store, q, 25, at(0)).await;
    let some: Vec<Delivery> = held.iter().take(10).cloned().collect();
    ack_all(store, q, &some, at(0)).await;
    let pass = store.expire(at(60)).await.unwrap();
    assert_eq!(pass.ready, [(q, 15)]);
    let rest = claim(store, q, 100, at(60)).await;
    assert_eq!(bodies(&rest), sent.iter().skip(10).cloned().collect::<Vec<_>>());
    let attempts: Vec<u32> = rest.iter().map(|delivery| delivery.message.attempts).collect();
    assert_eq!(attempts, [[2; 15].as_slice(), [1; 25].as_slice()].concat());
}

#[tokio::test]
async fn a_claim_that_is_full_within_a_hair_leaves_the_rest() {
    // S2.4, S7.1
    const MIB: usize = 1 << 20;
    let ground = Ground::new().await;
    let (store, q) = (&ground.store, ground.q);
    send(store, q, &["aaaa", "bbbb", "cccc"]).await;
    assert_eq!(bodies(&claim(store, q, 1, at(0)).await), ["aaaa"]);
    // With all of the pack they are 64 MiB, with what is left of it 4 bytes less.
    for count in [[MIB; 21].as_slice(), &[MIB; 21], &[MIB; 21], &[MIB - 12, 5, 5]] {
        let large = count.iter().map(|size| NewMessage::new(vec![b'x'; *size])).collect();
        try_send(store, q, large, at(0)).await.expect("they are taken");
    }
    let (first, end) =
        claim_with(store, q, Demand { up_to: 1000, lease: None, session: false }, at(0)).await;
    assert_eq!((first.len(), end), (66, ClaimEnd::More));
    let rest = claim(store, q, 1000, at(0)).await;
    assert_eq!(bodies(&rest), ["xxxxx", "xxxxx"]);
}

#[tokio::test]
async fn packs_stay_whole_over_a_rotation_and_what_is_left_moves_out() {
    // S1.1, S4.1
    let ground = Ground::new().await;
    let (store, q) = (&ground.store, ground.q);
    let sent = ground.send(80).await;
    let held = claim(store, q, 30, at(0)).await;
    // Transactions of other tests in the cluster put a step off.
    let mut now = at(0);
    let emptied = async {
        while ground.rows().await > 0 {
            now = now.after(Duration::from_secs(10));
            rotate(&ground.client, "queues", now, "COMMIT").await;
        }
    };
    tokio::time::timeout(PATIENCE, emptied).await.expect("the log is emptied");
    assert_eq!(counts(store, q).await, [50, 0, 30, 0]);
    assert_eq!(stats(store, q).await.bytes, bytes(&sent));
    ack_all(store, q, &held, at(0)).await;
    assert_eq!(drain(store, q).await, sent.iter().skip(30).cloned().collect::<Vec<_>>());
}

#[tokio::test]
async fn users_of_sql_see_single_messages() {
    // S10.1
    let ground = Ground::new().await;
    let (store, q) = (&ground.store, ground.q);
    let mut sent = ground.send(45).await;
    let by_sql = "SELECT cardinality(slipring.send_batch('plain', ARRAY(
        SELECT 'sql ' || n FROM generate_series(1, 45) n)))::bigint";
    let before = ground.rows().await;
    assert_eq!(one(&ground.client, by_sql).await, 45);
    assert_eq!(ground.rows().await, before + 1);
    sent.extend((1..=45).map(|n| format!("sql {n}")));
    let looked = peek(store, q, MessageState::Ready).await;
    assert_eq!(looked, sent);
    let mut received = Vec::new();
    for n in [1, 7, 40, 42, 1] {
        let sql = format!(
            "SELECT convert_from(body, 'UTF8'), id FROM slipring.receive('plain', {n}, '1 min')"
        );
        let rows = ground.client.query(&sql, &[]).await.unwrap();
        received.extend(rows.iter().map(|row| row.get::<_, String>(0)));
    }
    assert_eq!(received, sent.iter().take(91).cloned().collect::<Vec<_>>());
    assert_eq!(counts(store, q).await, [0, 0, 90, 0]);
}

#[tokio::test]
async fn settings_that_look_at_each_message_get_each_message() {
    // S12.1, S9.1
    let ground = Ground::new().await;
    let store = &ground.store;
    let settings =
        slipring::QueueSettings { messages_max: Some(25), ..slipring::QueueSettings::default() };
    let q = slipring_conformance::verbs::queue(store, "limited", &settings).await;
    let messages = |count| texts(count).into_iter().map(NewMessage::new).collect::<Vec<_>>();
    try_send(store, q, messages(26), at(0)).await.expect_err("one too many");
    assert_eq!(counts(store, q).await, [0; 4]);
    try_send(store, q, messages(25), at(0)).await.expect("they fit");
    assert_eq!(drain(store, q).await, texts(25));
    let urgent =
        |text: String| NewMessage { priority: slipring::Priority(7), ..NewMessage::new(text) };
    let urgent = texts(25).into_iter().map(urgent).collect();
    try_send(store, q, urgent, at(0)).await.expect("a lane is made for them");
    let held = claim(store, q, 10, at(0)).await;
    assert!(held.iter().all(|delivery| delivery.message.priority.0 == 7));
    let entries = held
        .iter()
        .map(|delivery| (delivery.receipt, Settlement::DeadLetter { reason: None }))
        .collect();
    let batch = SettleBatch { queue: q, now: at(0), entries };
    assert!(store.settle(batch).await.unwrap().iter().all(|settled| settled.is_ok()));
    assert_eq!(drain(store, q).await.len(), 15);
}

#[tokio::test]
async fn messages_with_one_lease_of_their_own_and_no_delay_share_rows_and_keep_it() {
    // S3.1, S5.1
    let ground = Ground::new().await;
    let (store, q) = (&ground.store, ground.q);
    let leased = |seconds: u64| {
        let (lease, delay) = (Some(Duration::from_secs(seconds)), Some(Duration::ZERO));
        texts(40).into_iter().map(move |text| NewMessage { lease, delay, ..NewMessage::new(text) })
    };
    try_send(store, q, leased(7).collect(), at(0)).await.unwrap();
    let rows = ground.rows().await;
    assert!(rows < 5, "{rows} rows");
    let first = claim(store, q, 25, at(0)).await;
    assert!(first.iter().all(|held| held.deadline == at(7)));
    // Others without one, and with different ones: each goes by its own.
    try_send(store, q, texts(40).into_iter().map(NewMessage::new).collect(), at(0)).await.unwrap();
    try_send(store, q, leased(9).chain(leased(11)).collect(), at(0)).await.unwrap();
    let mut leases_ms = Vec::new();
    for up_to in [10, 30, 200] {
        let held = claim(store, q, up_to, at(0)).await;
        leases_ms.extend(held.iter().map(|held| held.deadline.as_millis() - at(0).as_millis()));
    }
    let usual = u64::try_from(QueueSettings::default().visibility_timeout.as_millis()).unwrap();
    let expected = [(15, 7000), (40, usual), (40, 9000), (40, 11_000)];
    let expected: Vec<u64> =
        expected.iter().flat_map(|(n, ms)| std::iter::repeat_n(*ms, *n)).collect();
    assert_eq!(leases_ms, expected);
    // In a queue with a delay, those that say there is none have none.
    let delayed = QueueSettings { delay: Duration::from_secs(5), ..QueueSettings::default() };
    let d = queue(store, "delayed", &delayed).await;
    let before = ground.rows().await;
    try_send(store, d, leased(7).collect(), at(0)).await.unwrap();
    try_send(store, d, texts(40).into_iter().map(NewMessage::new).collect(), at(0)).await.unwrap();
    assert_eq!(counts(store, d).await, [40, 40, 0, 0]);
    let rows = ground.rows().await - before;
    assert!((1..5).contains(&rows), "{rows} rows");
}
