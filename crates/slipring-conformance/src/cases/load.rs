//! Loads: parts that no receive sees until all of them become ready at one moment.

use slipring::load::{KEPT, OPEN_MAX, PRIORITIES_MAX};
use slipring::{ErrorKind, LoadState, MessageState, PartInfo, QueueId};

use crate::bench::load::{Load, numbered, texts, try_begin};
use crate::bench::{Bench, bodies, m, ms, refused, s, settings};
use crate::case::{Case, case};

pub(super) const CASES: &[Case] = &[
    case!(a_load_is_seen_by_nobody_until_it_is_published, "S15.1"),
    case!(all_of_a_load_becomes_ready_at_one_moment, threads 4, "S15.1", "S15.3"),
    case!(an_abandoned_load_leaves_nothing, "S15.1", "S15.5"),
    case!(a_purge_of_the_queue_leaves_an_open_load_alone, "S15.1"),
    case!(a_part_is_stored_once, "S15.2"),
    case!(a_message_that_may_not_be_loaded_refuses_its_part, "S15.2"),
    case!(a_load_for_a_queue_that_it_does_not_suit_is_refused, "S15.2"),
    case!(what_a_message_carries_is_kept, "S15.2"),
    case!(a_load_has_at_most_sixteen_priorities, "S15.2", "S12.2"),
    case!(parts_one_after_the_other_keep_their_order, "S15.3"),
    case!(a_load_stands_between_what_was_sent_before_and_after, "S15.3", "S7.1"),
    case!(what_was_loaded_grows_old_like_other_messages, "S15.3", "S14.4"),
    case!(another_number_of_messages_is_not_published, "S15.4"),
    case!(a_load_for_which_there_is_no_room_is_not_published, "S15.4", "S12.2"),
    case!(a_published_load_stays_so, "S15.5"),
    case!(a_load_ends_with_its_queue, "S15.5"),
    case!(a_load_that_nobody_goes_on_with_ends_after_a_day, "S15.5"),
    case!(a_queue_has_so_many_open_loads_and_no_more, "S12.2"),
    case!(loaded_messages_are_messages_like_others, "S15.1", "S3.1"),
    case!(an_open_load_outlives_the_store_and_can_be_gone_on_with, needs Durable, "S15.1", "S15.5"),
    case!(several_processes_append_to_one_load, needs Shared, "S15.3"),
];

async fn a_load_is_seen_by_nobody_until_it_is_published(b: Bench) {
    let q = b.plain().await;
    let load = Load::begin(&q, &b).await;
    load.append(1, numbered(0, 100)).await;
    load.append(2, [m("urgent").priority(0)]).await;
    q.holds(0, 0, 0, 0).await;
    assert_eq!(q.stats().await.bytes, 0);
    assert!(q.peek_full(None, 100).await.is_empty());
    assert!(q.take(10).await.is_empty());
    assert_eq!(b.store().heads(&[q.id], b.now()).await.unwrap(), [None]);
    b.pass(s(1)).await;
    b.prune().await;
    let info = load.info().await.expect("it is listed");
    assert_eq!((info.state, info.parts, info.messages, info.bytes), (LoadState::Open, 2, 101, 506));
    load.publish(101).await;
    q.holds(101, 0, 0, 0).await;
    assert_eq!(q.stats().await.bytes, 506);
    assert_eq!(q.take(2).await, ["urgent", "00000"]);
    assert_eq!(q.drain().await.len(), 99);
}

async fn all_of_a_load_becomes_ready_at_one_moment(b: Bench) {
    const PARTS: u32 = 40;
    let q = b.plain().await;
    let load = Load::begin(&q, &b).await;
    let appends = (0..4_u32).map(|worker| {
        let load = load.on(&b);
        tokio::spawn(async move {
            for part in (worker..PARTS).step_by(4) {
                load.append(part, numbered(part * 50, 50)).await;
            }
        })
    });
    let looks = {
        let q = q.clone();
        tokio::spawn(async move {
            let whole = u64::from(PARTS) * 50;
            loop {
                let ready = q.stats().await.ready;
                assert!(ready == 0 || ready == whole, "{ready} of {whole} are ready");
                let taken = q.claim(1).await;
                if let [one] = &*taken {
                    assert_eq!(q.stats().await.ready, whole - 1);
                    q.ack(one).await.unwrap();
                    q.send(bodies(&taken).remove(0)).await;
                    return;
                }
                tokio::task::yield_now().await;
            }
        })
    };
    for append in appends.collect::<Vec<_>>() {
        append.await.expect("all parts are taken");
    }
    load.publish(u64::from(PARTS) * 50).await;
    looks.await.expect("no part is seen");
    let mut all = bodies(&q.claim(PARTS * 50).await);
    all.sort();
    assert!(all == texts(0, PARTS * 50), "each message is handed out once");
}

async fn an_abandoned_load_leaves_nothing(b: Bench) {
    let q = b.plain().await;
    let (kept, left) = (Load::begin(&q, &b).await, Load::begin(&q, &b).await);
    left.append(0, numbered(100, 50)).await;
    kept.append(0, numbered(0, 2)).await;
    left.append(1, [m("other").priority(7)]).await;
    left.abandon().await.unwrap();
    assert_eq!(left.info().await, None);
    refused(left.try_append(2, numbered(0, 1)).await, ErrorKind::LoadGone);
    refused(left.try_publish(51).await, ErrorKind::LoadGone);
    refused(left.abandon().await, ErrorKind::LoadGone);
    q.send(m("sent").priority(7)).await;
    kept.publish(2).await;
    b.pass(s(1)).await;
    b.prune().await;
    q.holds(3, 0, 0, 0).await;
    assert_eq!(q.drain().await, ["sent", "00000", "00001"]);
    assert_eq!(q.stats().await.bytes, 0);
}

async fn a_purge_of_the_queue_leaves_an_open_load_alone(b: Bench) {
    let q = b.plain().await;
    let load = Load::begin(&q, &b).await;
    load.append(0, numbered(0, 10)).await;
    q.send("x").await;
    b.advance(s(1));
    assert_eq!(q.purge(5).await, 1);
    load.append(1, numbered(10, 10)).await;
    load.publish(20).await;
    q.holds(20, 0, 0, 0).await;
    b.advance(s(1));
    assert_eq!(q.purge(8).await, 20);
    q.holds(0, 0, 0, 0).await;
}

async fn a_part_is_stored_once(b: Bench) {
    let q = b.plain().await;
    let load = Load::begin(&q, &b).await;
    load.append(3, numbered(0, 4)).await;
    assert!(!load.try_append(3, numbered(0, 4)).await.expect("it is there"));
    refused(load.try_append(3, numbered(0, 5)).await, ErrorKind::Invalid);
    refused(load.try_append(3, vec![m("a"), m("b"), m("c"), m("d")]).await, ErrorKind::Invalid);
    load.append(9, numbered(4, 1)).await;
    let part = |part, messages, checksum| PartInfo { part, messages, checksum };
    assert_eq!(load.parts(0, 9).await, [part(3, 4, 20), part(9, 1, 5)]);
    assert_eq!(load.parts(4, 9).await, [part(9, 1, 5)]);
    assert_eq!(load.parts(0, 1).await, [part(3, 4, 20)]);
    load.publish(5).await;
    assert_eq!(q.drain().await.len(), 5);
}

async fn a_message_that_may_not_be_loaded_refuses_its_part(b: Bench) {
    let q = b.queue(settings(|to| to.message_bytes_max = 9)).await;
    let load = Load::begin(&q, &b).await;
    for (bad, kind) in [
        (m("a").delay(ms(1)), ErrorKind::Invalid),
        (m("a").dedup_id("id"), ErrorKind::Invalid),
        (m("0123456789"), ErrorKind::LimitExceeded),
    ] {
        let error = refused(load.try_append(0, vec![m("good"), bad]).await, kind);
        assert!(error.context().contains(&("index", "1".to_owned())), "{error}");
    }
    assert!(load.parts(0, 9).await.is_empty());
    load.append(0, ["good"]).await;
    load.publish(1).await;
    assert_eq!(q.drain().await, ["good"]);
}

async fn a_load_for_a_queue_that_it_does_not_suit_is_refused(b: Bench) {
    for settings in [settings(|to| to.fifo = true), settings(|to| to.delay = s(1))] {
        let q = b.queue(settings).await;
        refused(try_begin(&b, q.id).await, ErrorKind::Invalid);
    }
    refused(try_begin(&b, QueueId(77_777)).await, ErrorKind::QueueNotFound);
}

async fn what_a_message_carries_is_kept(b: Bench) {
    let q = b.plain().await;
    let load = Load::begin(&q, &b).await;
    let mut whole = m("whole").group("g").priority(5);
    whole.lease = Some(s(3));
    let headers = [("k".to_owned(), "v".to_owned()), ("\0".to_owned(), "\0".to_owned())].into();
    whole.headers = Some(std::sync::Arc::new(headers));
    load.append(0, [whole.clone(), m("bare").priority(5)]).await;
    load.publish(2).await;
    let taken = q.claim(2).await;
    let message = &taken[0].message;
    assert_eq!((&message.body, message.priority), (&whole.body, whole.priority));
    assert_eq!((&message.group, &message.headers), (&whole.group, &whole.headers));
    assert_eq!((message.lease, taken[0].deadline), (whole.lease, b.now().after(s(3))));
    assert_eq!((&taken[1].message.group, &taken[1].message.headers), (&None, &None));
}

async fn a_load_has_at_most_sixteen_priorities(b: Bench) {
    let q = b.plain().await;
    let load = Load::begin(&q, &b).await;
    let of = |n: usize| m("a").priority(1024 + n as u32);
    load.append(0, (0..PRIORITIES_MAX).map(of)).await;
    let error = load.try_append(1, vec![of(2), of(PRIORITIES_MAX)]).await;
    let error = refused(error, ErrorKind::LimitExceeded);
    assert!(error.context().contains(&("index", "1".to_owned())), "{error}");
    load.publish(PRIORITIES_MAX as u64).await;
    let given = q.claim(50).await;
    assert!(given.iter().map(|given| given.message.priority.0).eq(1024..1040));
}

async fn parts_one_after_the_other_keep_their_order(b: Bench) {
    let q = b.plain().await;
    let load = Load::begin(&q, &b).await;
    for part in 0..40 {
        load.append(part * 3, numbered(part * 7, 7)).await;
    }
    load.publish(280).await;
    let taken = q.claim(280).await;
    assert!(taken.iter().map(|delivery| delivery.message.id).is_sorted());
    assert_eq!(bodies(&taken), texts(0, 280));
}

async fn a_load_stands_between_what_was_sent_before_and_after(b: Bench) {
    let q = b.plain().await;
    q.send_all(["before 1", "before 2"]).await;
    let load = Load::begin(&q, &b).await;
    load.append(0, ["load 1", "load 2"]).await;
    load.publish(2).await;
    q.send_all(["after 1", "after 2"]).await;
    let wanted = ["before 1", "before 2", "load 1", "load 2", "after 1", "after 2"];
    assert_eq!(q.peek(MessageState::Ready).await, wanted);
    assert_eq!(q.drain().await, wanted);
}

async fn what_was_loaded_grows_old_like_other_messages(b: Bench) {
    let q = b.queue(settings(|to| to.retention = Some(s(60)))).await;
    let load = Load::begin(&q, &b).await;
    load.append(0, ["a"]).await;
    load.publish(1).await;
    b.advance(s(50));
    b.prune().await;
    q.holds(1, 0, 0, 0).await;
    for _ in 0..2 {
        b.advance(s(61));
        b.prune().await;
    }
    q.holds(0, 0, 0, 0).await;
}

async fn another_number_of_messages_is_not_published(b: Bench) {
    let q = b.plain().await;
    let load = Load::begin(&q, &b).await;
    load.append(0, numbered(0, 3)).await;
    for number in [0, 2, 4] {
        refused(load.try_publish(number).await, ErrorKind::Invalid);
    }
    q.holds(0, 0, 0, 0).await;
    load.append(1, numbered(3, 1)).await;
    load.publish(4).await;
    q.holds(4, 0, 0, 0).await;
    let empty = Load::begin(&q, &b).await;
    empty.publish(0).await;
    q.holds(4, 0, 0, 0).await;
}

async fn a_load_for_which_there_is_no_room_is_not_published(b: Bench) {
    for settings in
        [settings(|to| to.messages_max = Some(5)), settings(|to| to.bytes_max = Some(25))]
    {
        let q = b.queue(settings).await;
        let first = q.send("00000").await;
        let load = Load::begin(&q, &b).await;
        load.append(0, numbered(1, 5)).await;
        refused(load.try_publish(5).await, ErrorKind::LimitExceeded);
        q.holds(1, 0, 0, 0).await;
        b.cancel(first).await.unwrap();
        load.publish(5).await;
        q.holds(5, 0, 0, 0).await;
        assert_eq!(q.drain().await.len(), 5);
    }
}

async fn a_published_load_stays_so(b: Bench) {
    let q = b.plain().await;
    let load = Load::begin(&q, &b).await;
    load.append(0, numbered(0, 3)).await;
    load.publish(3).await;
    load.publish(3).await;
    q.holds(3, 0, 0, 0).await;
    refused(load.try_append(1, numbered(3, 1)).await, ErrorKind::WrongState);
    refused(load.abandon().await, ErrorKind::WrongState);
    assert_eq!(load.info().await.map(|info| info.state), Some(LoadState::Published));
    assert_eq!(q.drain().await.len(), 3);
    load.publish(3).await;
    q.holds(0, 0, 0, 0).await;
    b.advance(KEPT);
    b.advance(s(1));
    b.prune().await;
    assert_eq!(load.info().await, None);
}

async fn a_load_ends_with_its_queue(b: Bench) {
    let q = b.plain().await;
    let other = b.plain().await;
    let load = Load::begin(&q, &b).await;
    let kept = Load::begin(&other, &b).await;
    load.append(0, numbered(0, 30)).await;
    b.store().delete_queue(q.id).await.unwrap();
    let error = load.try_append(1, numbered(0, 1)).await.expect_err("the queue is gone");
    assert!(matches!(error.kind(), ErrorKind::LoadGone | ErrorKind::QueueNotFound), "{error}");
    let error = load.try_publish(30).await.expect_err("the queue is gone");
    assert!(matches!(error.kind(), ErrorKind::LoadGone | ErrorKind::QueueNotFound), "{error}");
    assert_eq!(load.info().await, None);
    assert!(kept.info().await.is_some());
    kept.append(0, ["a"]).await;
    kept.publish(1).await;
    assert_eq!(other.drain().await, ["a"]);
}

async fn a_load_that_nobody_goes_on_with_ends_after_a_day(b: Bench) {
    let q = b.plain().await;
    let load = Load::begin(&q, &b).await;
    load.append(0, numbered(0, 3)).await;
    b.advance(KEPT - s(1));
    b.prune().await;
    load.append(1, numbered(3, 3)).await;
    b.advance(KEPT - s(1));
    b.prune().await;
    assert!(load.info().await.is_some());
    b.advance(s(2));
    b.prune().await;
    assert_eq!(load.info().await, None);
    refused(load.try_publish(6).await, ErrorKind::LoadGone);
    q.send("a").await;
    assert_eq!(q.drain().await, ["a"]);
}

async fn a_queue_has_so_many_open_loads_and_no_more(b: Bench) {
    let (q, other) = (b.plain().await, b.plain().await);
    let mut loads = Vec::new();
    for _ in 0..OPEN_MAX {
        loads.push(Load::begin(&q, &b).await);
    }
    let error = refused(try_begin(&b, q.id).await, ErrorKind::LimitExceeded);
    assert!(error.to_string().contains("loads_open_max"), "{error}");
    Load::begin(&other, &b).await;
    loads[0].publish(0).await;
    loads[1].abandon().await.unwrap();
    Load::begin(&q, &b).await;
    Load::begin(&q, &b).await;
    refused(try_begin(&b, q.id).await, ErrorKind::LimitExceeded);
}

async fn loaded_messages_are_messages_like_others(b: Bench) {
    let q = b.plain().await;
    let load = Load::begin(&q, &b).await;
    load.append(0, ["a", "b"]).await;
    load.append(1, ["c", "d", "e"]).await;
    load.publish(5).await;
    let taken = q.claim_for(3, s(10)).await;
    assert_eq!(bodies(&taken), ["a", "b", "c"]);
    q.ack(&taken[0]).await.unwrap();
    q.nack_for(&taken[1], s(0)).await.unwrap();
    q.holds(3, 0, 1, 0).await;
    assert_eq!(q.take(1).await, ["b"]);
    b.pass(s(10)).await;
    assert_eq!(q.peek(MessageState::Ready).await, ["c", "d", "e"]);
    let seen = q.peek_full(Some(MessageState::Ready), 9).await;
    let last = seen.last().expect("three are ready").message.id;
    assert_eq!(b.lookup(last).await.map(|seen| seen.queue), Some(q.id));
    b.cancel(last).await.unwrap();
    assert_eq!(q.drain().await, ["c", "d"]);
}

async fn an_open_load_outlives_the_store_and_can_be_gone_on_with(b: Bench) {
    let q = b.plain().await;
    let load = Load::begin(&q, &b).await;
    load.append(0, numbered(0, 10)).await;
    load.append(1, [m("urgent").priority(1)]).await;
    b.reopen().await;
    q.holds(0, 0, 0, 0).await;
    assert_eq!(load.parts(0, 9).await.len(), 2);
    assert!(!load.try_append(0, numbered(0, 10)).await.unwrap());
    load.append(2, numbered(10, 10)).await;
    load.publish(21).await;
    b.reopen().await;
    q.holds(21, 0, 0, 0).await;
    assert_eq!(load.info().await.map(|info| info.state), Some(LoadState::Published));
    assert_eq!(q.take(2).await, ["urgent", "00000"]);
    assert_eq!(q.drain().await.len(), 19);
}

async fn several_processes_append_to_one_load(b: Bench) {
    let q = b.plain().await;
    let other = b.second_handle().await;
    let load = Load::begin(&q, &b).await;
    let there = load.on(&other);
    for part in 0..10 {
        let of = if part % 2 == 0 { &load } else { &there };
        of.append(part, numbered(part * 5, 5)).await;
    }
    q.on(&other).holds(0, 0, 0, 0).await;
    there.publish(50).await;
    q.holds(50, 0, 0, 0).await;
    assert_eq!(bodies(&q.claim(50).await), texts(0, 50));
}
