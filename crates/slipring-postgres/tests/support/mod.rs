//! Short verbs for the tests of this store; the time is always given.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]
#![allow(dead_code)] // Each test file uses a part of it.

use std::time::Duration;

use slipring::lifecycle::Settlement;
use slipring::store::{
    AppendBatch, ClaimBatch, ClaimEnd, Demand, ExtendBatch, Sent, SettleBatch, Settled, Store,
};
use slipring::{
    AdminStore, Delivery, Error, MessageId, MessageState, NewMessage, PeekFilter, QueueId,
    QueueName, QueueSettings, QueueStats, Receipt, Timestamp,
};
use slipring_postgres::PostgresStore;

/// When every test begins.
pub const START: Timestamp = Timestamp::from_millis(1_700_000_000_000);

/// So many seconds after [`START`].
pub fn at(seconds: u64) -> Timestamp {
    START.after(Duration::from_secs(seconds))
}

pub async fn queue(store: &PostgresStore, name: &str, settings: &QueueSettings) -> QueueId {
    let name = QueueName::new(name).unwrap();
    store.create_queue(&name, settings, START).await.expect("it can be created").0.id
}

pub async fn plain(store: &PostgresStore) -> QueueId {
    queue(store, "plain", &QueueSettings::default()).await
}

pub async fn try_send(
    store: &PostgresStore,
    queue: QueueId,
    messages: Vec<NewMessage>,
    now: Timestamp,
) -> Result<Vec<Sent>, Error> {
    let units = vec![u32::try_from(messages.len()).unwrap()];
    let batch = AppendBatch { queue, now, messages, units };
    store.append(batch).await?.into_iter().collect()
}

pub async fn send(store: &PostgresStore, queue: QueueId, bodies: &[&str]) -> Vec<MessageId> {
    let messages = bodies.iter().map(|body| NewMessage::new(body.as_bytes().to_vec())).collect();
    let sent = try_send(store, queue, messages, START).await.expect("the messages are taken");
    sent.into_iter().map(|sent| sent.id).collect()
}

pub async fn claim_with(
    store: &PostgresStore,
    queue: QueueId,
    demand: Demand,
    now: Timestamp,
) -> (Vec<Delivery>, ClaimEnd) {
    let batch = ClaimBatch { queue, now, demands: vec![demand] };
    let mut claimed = store.claim(batch).await.expect("the claim succeeds");
    (claimed.deliveries.remove(0), claimed.end)
}

pub async fn claim(
    store: &PostgresStore,
    queue: QueueId,
    up_to: u32,
    now: Timestamp,
) -> Vec<Delivery> {
    claim_with(store, queue, Demand { up_to, lease: None, session: false }, now).await.0
}

pub async fn settle(
    store: &PostgresStore,
    queue: QueueId,
    of: &Delivery,
    how: Settlement,
    now: Timestamp,
) -> Result<Settled, Error> {
    let batch = SettleBatch { queue, now, entries: vec![(of.receipt, how)] };
    store.settle(batch).await.expect("the settlement is taken").remove(0)
}

pub async fn ack_all(store: &PostgresStore, queue: QueueId, of: &[Delivery], now: Timestamp) {
    let entries = of.iter().map(|delivery| (delivery.receipt, Settlement::Ack)).collect();
    let answers = store.settle(SettleBatch { queue, now, entries }).await.unwrap();
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
}

pub async fn extend(
    store: &PostgresStore,
    queue: QueueId,
    of: &[Receipt],
    seconds: u64,
    now: Timestamp,
) -> Vec<Result<Timestamp, Error>> {
    let lease = Some(Duration::from_secs(seconds));
    let entries = of.iter().map(|receipt| (*receipt, lease)).collect();
    store.extend(ExtendBatch { queue, now, entries }).await.expect("the extension is taken")
}

pub async fn stats(store: &PostgresStore, queue: QueueId) -> QueueStats {
    store.stats(queue, START).await.expect("there are statistics")
}

/// Ready, delayed, leased, parked.
pub async fn counts(store: &PostgresStore, queue: QueueId) -> [u64; 4] {
    let stats = stats(store, queue).await;
    [stats.ready, stats.delayed, stats.leased, stats.parked]
}

pub async fn peek(store: &PostgresStore, queue: QueueId, state: MessageState) -> Vec<String> {
    let filter = PeekFilter { state: Some(state), limit: 1000 };
    let seen = store.peek(queue, filter, START).await.expect("the queue can be looked at");
    seen.iter().map(|peeked| text(&peeked.message.body)).collect()
}

pub fn bodies(of: &[Delivery]) -> Vec<String> {
    of.iter().map(|delivery| text(&delivery.message.body)).collect()
}

fn text(body: &[u8]) -> String {
    String::from_utf8_lossy(body).into_owned()
}
