//! Sending: what is stored, and under which number.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use slipring::store::AppendBatch;
use slipring::{ErrorKind, Headers, MessageId, MessageState, NewMessage, QueueId};

use crate::bench::{Bench, START, m, ms, p, refused, s, settings};
use crate::case::{Case, case};

pub(super) const CASES: &[Case] = &[
    case!(a_sent_message_is_ready_at_once, "S2.4", "S7.1"),
    case!(the_first_message_of_a_fresh_store_is_number_one, needs Counted, "S7.1"),
    case!(numbers_grow_within_a_queue_and_are_unique_over_all, "S7.1"),
    case!(a_number_is_never_used_again, "S4.1"),
    case!(everything_that_was_sent_is_delivered, "S2.1"),
    case!(a_message_without_anything_has_the_defaults, "S12.1"),
    case!(bodies_of_any_bytes_come_back_unchanged, "S2.1"),
    case!(a_body_of_a_mebibyte_comes_back_unchanged, "S12.1"),
    case!(an_empty_body_is_a_message, "S2.1"),
    case!(headers_and_groups_keep_their_unicode, "S7.5"),
    case!(empty_headers_and_names_do_not_break_anything, "S7.5"),
    case!(the_time_of_sending_is_the_time_given, "S13.1"),
    case!(a_send_to_a_queue_that_is_not_there_is_refused, "S12.2"),
    case!(an_empty_batch_stores_nothing, "S9.1"),
    case!(priorities_from_the_first_to_the_last_are_kept, "S7.1"),
];

async fn a_sent_message_is_ready_at_once(b: Bench) {
    let q = b.plain().await;
    let sent = q.try_send("a").await.unwrap();
    assert!(!sent.duplicate);
    assert_eq!(sent.due, None);
    q.holds(1, 0, 0, 0).await;
    assert_eq!(q.take(10).await, ["a"]);
}

async fn the_first_message_of_a_fresh_store_is_number_one(b: Bench) {
    let q = b.plain().await;
    assert_eq!(q.send("a").await, MessageId(1));
    assert_eq!(q.send("b").await, MessageId(2));
    assert_eq!(q.send_all(["c", "d"]).await, [MessageId(3), MessageId(4)]);
}

async fn numbers_grow_within_a_queue_and_are_unique_over_all(b: Bench) {
    let queues = [b.plain().await, b.plain().await, b.plain().await];
    let mut seen = BTreeSet::new();
    let mut last = [MessageId(0); 3];
    for round in 0..20 {
        let at = round % 3;
        let ids = queues[at].send_all((0..=round).map(|n| n.to_string())).await;
        assert!(ids.is_sorted(), "numbers grow in the order of sending");
        assert!(ids[0] > last[at], "later sends have higher numbers");
        last[at] = ids[round];
        let before = seen.len();
        seen.extend(ids);
        assert_eq!(seen.len(), before + round + 1, "no number comes twice");
    }
}

async fn a_number_is_never_used_again(b: Bench) {
    let q = b.plain().await;
    let mut last = MessageId(0);
    let mut seen = BTreeSet::new();
    for _ in 0..5 {
        let id = q.send("a").await;
        assert!(id > last);
        last = id;
        seen.insert(id);
        let taken = q.claim_one().await;
        q.ack(&taken).await.unwrap();
    }
    for _ in 0..3 {
        let doomed = b.plain().await;
        assert!(seen.insert(doomed.send("b").await));
        b.store().delete_queue(doomed.id).await.unwrap();
    }
    assert!(q.send("c").await > last);
}

async fn everything_that_was_sent_is_delivered(b: Bench) {
    let q = b.plain().await;
    let headers = Headers::from([("a".to_owned(), "1".to_owned()), ("b".into(), "2".into())]);
    let sent = NewMessage {
        body: Bytes::from_static(b"body"),
        priority: p(7),
        delay: Some(s(3)),
        lease: Some(s(90)),
        group: Some("group".into()),
        dedup_id: Some("dedup".into()),
        headers: Some(Arc::new(headers)),
    };
    let id = q.send(sent.clone()).await;
    b.pass(s(3)).await;
    let delivery = q.claim_one().await;
    let got = delivery.message;
    assert_eq!(got.id, id);
    assert_eq!(got.body, sent.body);
    assert_eq!(got.priority, sent.priority);
    assert_eq!(got.sent_at, START);
    assert_eq!(got.attempts, 1);
    assert_eq!(got.first_received_at, Some(START.after(s(3))));
    assert_eq!(got.delay, s(3));
    assert_eq!(got.lease, sent.lease);
    assert_eq!(got.group, sent.group);
    assert_eq!(got.dedup_id, sent.dedup_id);
    assert_eq!(got.headers, sent.headers);
    assert_eq!(got.dead_letter_source, None);
}

async fn a_message_without_anything_has_the_defaults(b: Bench) {
    let q = b.plain().await;
    q.send("a").await;
    let seen = q.only(MessageState::Ready).await;
    assert_eq!(seen.until, None);
    assert_eq!(seen.queue, q.id);
    let got = seen.message;
    assert_eq!((got.attempts, got.first_received_at), (0, None));
    assert_eq!((got.priority, got.delay, got.lease), (p(1024), s(0), None));
    assert_eq!((got.group, got.dedup_id, got.dead_letter_source), (None, None, None));
    assert!(got.headers.is_none_or(|headers| headers.is_empty()));
}

async fn bodies_of_any_bytes_come_back_unchanged(b: Bench) {
    let q = b.plain().await;
    let all: Vec<u8> = (0..=255).collect();
    for body in [&all[..], b"\0", b"'; DROP TABLE messages; --", b"\r\n", &[0xff, 0xfe, 0xc3]] {
        q.send(NewMessage::new(Bytes::copy_from_slice(body))).await;
        let delivery = q.claim_one().await;
        assert_eq!(delivery.message.body, body);
        q.ack(&delivery).await.unwrap();
    }
}

async fn a_body_of_a_mebibyte_comes_back_unchanged(b: Bench) {
    let q = b.plain().await;
    let body: Bytes =
        (0..1_u32 << 20).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    q.send(NewMessage::new(body.clone())).await;
    assert_eq!(q.stats().await.bytes, 1 << 20);
    assert!(q.claim_one().await.message.body == body, "the body has changed");
}

async fn an_empty_body_is_a_message(b: Bench) {
    let q = b.plain().await;
    q.send("").await;
    q.holds(1, 0, 0, 0).await;
    assert_eq!(q.stats().await.bytes, 0);
    assert!(q.claim_one().await.message.body.is_empty());
}

async fn headers_and_groups_keep_their_unicode(b: Bench) {
    let q = b.plain().await;
    let headers = Headers::from([
        ("schlüssel".to_owned(), "wert \u{1f980}\n\t\"'".to_owned()),
        ("空".to_owned(), String::new()),
        (String::new(), "no name".to_owned()),
        ("nul\u{0}".to_owned(), "\u{0}\u{1}0".to_owned()),
    ]);
    let mut sent = m("a").group("グループ/é\u{0}").dedup_id("ключ\u{0}end");
    sent.headers = Some(Arc::new(headers));
    q.send(sent.clone()).await;
    let got = q.claim_one().await.message;
    assert_eq!((got.group, got.dedup_id, got.headers), (sent.group, sent.dedup_id, sent.headers));
}

async fn empty_headers_and_names_do_not_break_anything(b: Bench) {
    for fifo in [false, true] {
        let q = b.queue(settings(|to| to.fifo = fifo)).await;
        let mut sent = m("a").group("").dedup_id("");
        sent.headers = Some(Arc::default());
        q.send(sent).await;
        let got = q.claim_one().await;
        assert_eq!(got.message.body, "a");
        assert!(got.message.headers.as_ref().is_none_or(|headers| headers.is_empty()));
        q.ack(&got).await.unwrap();
        q.holds(0, 0, 0, 0).await;
    }
}

async fn the_time_of_sending_is_the_time_given(b: Bench) {
    let q = b.plain().await;
    b.advance(ms(12_345));
    let id = q.send("a").await;
    b.pass(s(100)).await;
    let seen = b.lookup(id).await.unwrap();
    assert_eq!(seen.message.sent_at, START.after(ms(12_345)));
}

async fn a_send_to_a_queue_that_is_not_there_is_refused(b: Bench) {
    let q = b.plain().await;
    let missing = QueueId(q.id.0 + 1000);
    let batch =
        AppendBatch { queue: missing, now: b.now(), messages: vec![m("a")], units: vec![1] };
    refused(b.store().append(batch).await, ErrorKind::QueueNotFound);
    b.store().delete_queue(q.id).await.unwrap();
    let batch = AppendBatch { queue: q.id, now: b.now(), messages: vec![m("a")], units: vec![1] };
    refused(b.store().append(batch).await, ErrorKind::QueueNotFound);
}

async fn an_empty_batch_stores_nothing(b: Bench) {
    let q = b.plain().await;
    assert!(q.append(Vec::new()).await.is_empty());
    assert!(q.append(vec![Vec::new(), Vec::new()]).await.is_empty());
    q.holds(0, 0, 0, 0).await;
    assert_eq!(q.claim(1).await, []);
}

async fn priorities_from_the_first_to_the_last_are_kept(b: Bench) {
    let q = b.plain().await;
    for priority in [u32::MAX, 1 << 31, 1024, 1023, 1, 0] {
        q.send(m(&priority.to_string()).priority(priority)).await;
    }
    let taken = q.claim(10).await;
    let seen: Vec<u32> = taken.iter().map(|delivery| delivery.message.priority.0).collect();
    assert_eq!(seen, [0, 1, 1023, 1024, 1 << 31, u32::MAX]);
}
