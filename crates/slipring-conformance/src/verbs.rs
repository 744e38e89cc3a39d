//! Short verbs for a store's own tests: each says which store, which queue and what time it is.
//! Calls that a test does not expect to fail panic.

use std::sync::Arc;

use slipring::lifecycle::Settlement;
use slipring::store::{
    AppendBatch, ClaimBatch, ClaimEnd, Demand, ExtendBatch, Sent, SettleBatch, Settled,
};
use slipring::{
    Delivery, Error, MessageId, MessageState, NewMessage, PeekFilter, QueueId, QueueName,
    QueueSettings, QueueStats, Receipt, Store, Timestamp,
};

pub use crate::bench::{START, bodies};
use crate::bench::{Sendable, m, s, text};

/// So many seconds after [`START`].
pub fn at(seconds: u64) -> Timestamp {
    START.after(s(seconds))
}

/// A queue with these settings, made if it is not there.
pub async fn queue(store: &Arc<impl Store>, name: &str, settings: &QueueSettings) -> QueueId {
    let name = QueueName::new(name).unwrap();
    store.create_queue(&name, settings, START).await.expect("it can be created").0.id
}

/// The queue `plain` with default settings, made if it is not there.
pub async fn plain(store: &Arc<impl Store>) -> QueueId {
    queue(store, "plain", &QueueSettings::default()).await
}

/// Sends messages as one unit; answers the first error.
///
/// # Errors
/// Whatever the store refuses the call or one of the messages with.
pub async fn try_send(
    store: &Arc<impl Store>,
    queue: QueueId,
    messages: Vec<NewMessage>,
    now: Timestamp,
) -> Result<Vec<Sent>, Error> {
    let units = vec![u32::try_from(messages.len()).unwrap()];
    let batch = AppendBatch { queue, now, messages, units };
    store.append(batch).await?.into_iter().collect()
}

/// Sends texts as one unit at the time [`START`]; answers their numbers.
pub async fn send(store: &Arc<impl Store>, queue: QueueId, texts: &[&str]) -> Vec<MessageId> {
    let messages = texts.iter().map(|text| m(text).message()).collect();
    let sent = try_send(store, queue, messages, START).await.expect("the messages are taken");
    sent.into_iter().map(|sent| sent.id).collect()
}

/// One receive, and why it ended.
pub async fn claim_with(
    store: &Arc<impl Store>,
    queue: QueueId,
    demand: Demand,
    now: Timestamp,
) -> (Vec<Delivery>, ClaimEnd) {
    let batch = ClaimBatch { queue, now, demands: vec![demand] };
    let mut claimed = store.claim(batch).await.expect("the claim succeeds");
    (claimed.deliveries.remove(0), claimed.end)
}

/// One receive with the queue's lease.
pub async fn claim(
    store: &Arc<impl Store>,
    queue: QueueId,
    up_to: u32,
    now: Timestamp,
) -> Vec<Delivery> {
    claim_with(store, queue, Demand { up_to, lease: None, session: false }, now).await.0
}

/// Receives until it is handed messages: a receive ends while others keep the queue.
pub async fn handed(
    store: &Arc<impl Store>,
    queue: QueueId,
    up_to: u32,
    now: Timestamp,
) -> Vec<Delivery> {
    loop {
        let list = claim(store, queue, up_to, now).await;
        if !list.is_empty() {
            return list;
        }
    }
}

/// Settles one delivery.
///
/// # Errors
/// What the store answers for that delivery.
pub async fn settle(
    store: &Arc<impl Store>,
    queue: QueueId,
    of: &Delivery,
    how: Settlement,
    now: Timestamp,
) -> Result<Settled, Error> {
    let batch = SettleBatch { queue, now, entries: vec![(of.receipt, how)] };
    store.settle(batch).await.expect("the settlement is taken").remove(0)
}

/// Acks deliveries, all of which must still be leased.
pub async fn ack_all(store: &Arc<impl Store>, queue: QueueId, of: &[Delivery], now: Timestamp) {
    let entries = of.iter().map(|delivery| (delivery.receipt, Settlement::Ack)).collect();
    let answers = store.settle(SettleBatch { queue, now, entries }).await.unwrap();
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
}

/// Prolongs leases to so many seconds from `now`; answers lease by lease.
pub async fn extend(
    store: &Arc<impl Store>,
    queue: QueueId,
    of: &[Receipt],
    seconds: u64,
    now: Timestamp,
) -> Vec<Result<Timestamp, Error>> {
    let entries = of.iter().map(|receipt| (*receipt, Some(s(seconds)).into())).collect();
    store.extend(ExtendBatch { queue, now, entries }).await.expect("the extension is taken")
}

/// The queue's statistics at the time [`START`].
pub async fn stats(store: &Arc<impl Store>, queue: QueueId) -> QueueStats {
    store.stats(queue, START).await.expect("there are statistics")
}

/// Ready, delayed, leased, parked.
pub async fn counts(store: &Arc<impl Store>, queue: QueueId) -> [u64; 4] {
    let stats = stats(store, queue).await;
    [stats.ready, stats.delayed, stats.leased, stats.parked]
}

/// The texts of the messages in a state.
pub async fn peek(store: &Arc<impl Store>, queue: QueueId, state: MessageState) -> Vec<String> {
    let filter = PeekFilter { state: Some(state), limit: 1000 };
    let seen = store.peek(queue, filter, START).await.expect("the queue can be looked at");
    seen.iter().map(|peeked| text(&peeked.message.body)).collect()
}

/// Receives and acks until there is nothing ready; answers the texts in order.
pub async fn drain(store: &Arc<impl Store>, queue: QueueId) -> Vec<String> {
    let mut all = Vec::new();
    loop {
        let taken = claim(store, queue, 100, START).await;
        if taken.is_empty() {
            return all;
        }
        ack_all(store, queue, &taken, START).await;
        all.extend(bodies(&taken));
    }
}
