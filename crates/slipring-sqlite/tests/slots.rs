//! Many far delays: what waits in slots behaves as if it stood in its exact order.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use slipring::store::Store;
use slipring::{AdminStore, MessageId, MessageState, NewMessage, PeekFilter, QueueId, Timestamp};
use slipring_conformance::verbs::{at, claim, counts, plain, try_send};
use slipring_sqlite::SqliteStore;
use support::{number, open};

/// More than stand in their exact order whatever their delay.
const MANY: u64 = 14_000;
const DAY: u64 = 86_400_000;
const SENT: u64 = 1_000;
const IN_SLOTS: &str = "SELECT count(*) FROM item WHERE due_ms IS NOT NULL";

fn ms(ms: u64) -> Timestamp {
    Timestamp::from_millis(ms)
}

/// The messages that are expected to be delayed, in the order in which they are due.
#[derive(Default)]
struct Expected(BTreeSet<(u64, u64)>);

impl Expected {
    fn take_due(&mut self, now_ms: u64) -> BTreeSet<u64> {
        let later = self.0.split_off(&(now_ms + 1, 0));
        std::mem::replace(&mut self.0, later).into_iter().map(|(_, id)| id).collect()
    }

    fn first(&self, count: usize) -> Vec<u64> {
        self.0.iter().take(count).map(|(_, id)| *id).collect()
    }

    fn take_first(&mut self, count: usize) {
        for _ in 0..count {
            self.0.pop_first();
        }
    }

    fn remove(&mut self, id: u64) {
        self.0.retain(|(_, other)| *other != id);
    }
}

/// Sends messages with delays that differ, from `from_ms` on, spread over so many days.
async fn send_spread(
    store: &Arc<SqliteStore>,
    q: QueueId,
    (from_ms, spread_ms): (u64, u64),
    count: u64,
    expected: &mut Expected,
) {
    for first in (0..count).step_by(1000) {
        let delays = (first..count.min(first + 1000))
            .map(|n| from_ms + n.wrapping_mul(0x9E37_79B9_7F4A_7C15) % spread_ms);
        let delays: Vec<u64> = delays.collect();
        let message = |delay: &u64| NewMessage::new("x").delay(Duration::from_millis(*delay));
        let unit = delays.iter().map(message).collect();
        let sent = try_send(store, q, unit, ms(SENT)).await.unwrap();
        for (sent, delay) in sent.iter().zip(delays) {
            assert!(sent.due.unwrap() <= ms(SENT + delay), "a pass comes in time");
            assert!(sent.due.unwrap() > ms(SENT), "nothing is sent to what is to be opened");
            expected.0.insert((SENT + delay, sent.id.0));
        }
    }
}

/// The ids of the delayed messages that are shown first.
async fn shown(store: &Arc<SqliteStore>, q: QueueId, limit: u32, now: u64) -> Vec<u64> {
    let filter = PeekFilter { state: Some(MessageState::Delayed), limit };
    let shown = store.peek(q, filter, ms(now)).await.unwrap();
    shown.iter().map(|shown| shown.message.id.0).collect()
}

/// What the engine does: turns at the moments that the store names, until `end`.
async fn run(store: &Arc<SqliteStore>, q: QueueId, now: &mut Timestamp, end: Timestamp) {
    loop {
        let next = store.due_in(q, *now).await.unwrap().next;
        match next {
            Some(next) if next <= end => *now = next.max(*now),
            _ => break,
        }
    }
    *now = end;
    while store.due_in(q, end).await.unwrap().next == Some(end) {}
}

#[tokio::test]
async fn far_delays_end_in_time_and_are_shown_in_order() {
    // S5.1, S5.3
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(folder.path());
    let q = plain(&store).await;
    let mut expected = Expected::default();
    send_spread(&store, q, (1, 12 * DAY), MANY, &mut expected).await;
    let waiting = number(folder.path(), IN_SLOTS);
    assert!((3_500..=4_000).contains(&waiting), "{waiting} wait in slots");
    assert_eq!(shown(&store, q, 1000, SENT).await, expected.first(1000));
    let (mut now, mut ready) = (ms(SENT), 0);
    for hours in [0, 1, 2, 3, 5, 12, 24, 48, 100, 200, 250, 280, 289] {
        let end = SENT + hours * DAY / 24 + 1;
        run(&store, q, &mut now, ms(end)).await;
        ready += expected.take_due(end).len();
        let left = expected.0.len();
        assert_eq!(counts(&store, q).await, [ready as u64, left as u64, 0, 0], "{hours} h");
        assert_eq!(shown(&store, q, 10, end).await, expected.first(10), "{hours} h");
        store.close().await.unwrap();
        store = open(folder.path());
    }
    assert_eq!(number(folder.path(), IN_SLOTS), 0);
    assert_eq!((ready as u64, expected.0.len()), (MANY, 0));
}

#[tokio::test]
async fn what_is_late_after_a_long_stop_becomes_ready_at_once() {
    // S5.5: passes go on without a pause until nothing that is due is left.
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let q = plain(&store).await;
    let mut expected = Expected::default();
    send_spread(&store, q, (DAY, 12 * DAY), MANY, &mut expected).await;
    store.close().await.unwrap();
    let store = open(folder.path());
    let deadlines = store.deadlines(0).await.unwrap();
    let now = SENT + 7 * DAY;
    let due = deadlines.queues.iter().find(|of| of.queue == q).unwrap().due.unwrap();
    assert!(due <= ms(SENT + 2 * DAY), "it is told at the start when the first slot is opened");
    while store.due_in(q, ms(now)).await.unwrap().next.is_some_and(|next| next <= ms(now)) {}
    let due = expected.take_due(now);
    let ready = due.len() as u64;
    assert_eq!(counts(&store, q).await, [ready, MANY - ready, 0, 0]);
    let mut handed_out = BTreeSet::new();
    while handed_out.len() < due.len() {
        let some = claim(&store, q, 1000, ms(now)).await;
        assert!(!some.is_empty());
        handed_out.extend(some.iter().map(|delivery| delivery.receipt.message.0));
    }
    assert_eq!(handed_out, due);
}

#[tokio::test]
async fn kicks_take_what_is_due_first_and_single_messages_leave_slots() {
    // S6.6, S2.1, S14.5
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let q = plain(&store).await;
    let mut expected = Expected::default();
    send_spread(&store, q, (10 * DAY, DAY), MANY, &mut expected).await;
    assert!(number(folder.path(), IN_SLOTS) > 3_000);
    let last = expected.0.iter().rev();
    let by_id: BTreeMap<u64, u64> = last.map(|(due, id)| (*id, *due)).collect();
    // Sent last, so in slots if not due first.
    let (cancelled, kicked) =
        (*by_id.keys().next_back().unwrap(), *by_id.keys().nth_back(1).unwrap());
    for id in [cancelled, kicked] {
        let found = store.lookup(MessageId(id), ms(SENT)).await.unwrap().unwrap();
        assert_eq!((found.until, found.state), (Some(ms(by_id[&id])), MessageState::Delayed));
    }
    store.cancel(MessageId(cancelled), ms(SENT)).await.unwrap();
    store.kick_message(MessageId(kicked), ms(SENT)).await.unwrap();
    expected.remove(cancelled);
    expected.remove(kicked);
    let mut ready = 1;
    for count in [1, 150, 3_000, 2_000] {
        assert_eq!(shown(&store, q, 20, SENT).await, expected.first(20), "before {count}");
        assert_eq!(store.kick(q, count, ms(SENT)).await.unwrap(), u64::from(count));
        expected.take_first(count as usize);
        ready += u64::from(count);
        let left = expected.0.len() as u64;
        assert_eq!(counts(&store, q).await, [ready, left, 0, 0], "after {count}");
    }
    assert_eq!(shown(&store, q, 1000, SENT).await, expected.first(1000));
    // Beyond all that there are.
    let left = expected.0.len() as u64;
    assert_eq!(store.kick(q, u32::MAX, ms(SENT)).await.unwrap(), left);
    send_spread(&store, q, (10 * DAY, DAY), MANY, &mut expected).await;
    while store.purge(q, 1000, ms(SENT)).await.unwrap() > 0 {}
    assert_eq!(counts(&store, q).await, [0, 0, 0, 0]);
    assert_eq!(number(folder.path(), "SELECT count(*) FROM item"), 0);
}

#[tokio::test]
async fn few_and_large_and_short_delays_are_exact() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let q = plain(&store).await;
    let mut expected = Expected::default();
    send_spread(&store, q, (1, 12 * DAY), 10_000, &mut expected).await;
    let day = Duration::from_secs(86_400);
    let large = NewMessage::new(vec![b'x'; 4096]).delay(12 * day);
    let short = NewMessage::new("x").delay(Duration::from_secs(600));
    try_send(&store, q, vec![large, short], at(1)).await.unwrap();
    assert_eq!(number(folder.path(), IN_SLOTS), 0);
    // Priorities are apart in the log, not here.
    let far = |priority| NewMessage::new("x").delay(12 * day).priority(priority);
    let sent = try_send(&store, q, vec![far(7), far(3)], at(1)).await.unwrap();
    assert_eq!(number(folder.path(), IN_SLOTS), 2);
    assert!(sent.iter().all(|sent| sent.due.unwrap() < at(1).after(12 * day)));
}
