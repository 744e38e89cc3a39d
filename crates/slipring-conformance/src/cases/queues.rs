//! Queues themselves: created, configured, listed, deleted.

use std::collections::BTreeMap;
use std::time::Duration;

use slipring::lifecycle::Settlement;
use slipring::store::SettleBatch;
use slipring::{
    Backoff, DedupScope, Durability, ErrorKind, QueueId, QueueName, QueueSettings, Reconfigured,
    Timestamp,
};

use crate::bench::{Bench, START, m, ms, refused, s, settings};
use crate::case::{Case, case};

pub(super) const CASES: &[Case] = &[
    case!(every_setting_comes_back_as_it_was_set, "S14.2"),
    case!(creating_again_with_equal_settings_returns_the_queue, "S14.2"),
    case!(creating_again_with_parts_of_milliseconds_returns_the_queue, "S14.2"),
    case!(creating_again_with_other_settings_is_refused, "S14.2"),
    case!(changed_settings_are_what_counts_for_creating_again, "S14.2"),
    case!(queues_are_listed_by_name, "S14.1"),
    case!(names_of_every_allowed_kind_are_told_apart, "S14.1"),
    case!(settings_are_replaced_as_a_whole, "S14.2"),
    case!(settings_that_somebody_else_has_changed_are_not_replaced, "S14.6"),
    case!(fifo_is_fixed_at_creation, "S7.3"),
    case!(configuring_a_queue_that_is_not_there_is_refused, "S14.2"),
    case!(a_deleted_queue_is_gone_with_all_that_was_in_it, "S4.2"),
    case!(receipts_of_a_deleted_queue_find_their_messages_gone, "S3.5", "S4.2"),
    case!(a_queue_made_again_is_another_queue, "S4.2"),
    case!(deleting_one_queue_leaves_the_others, "S4.2"),
    case!(a_thousand_queues_are_one_like_the_other, "S12.1"),
    case!(a_queue_is_deleted_if_there_is_nothing_in_it, "S12.7"),
    case!(a_queue_with_anything_in_it_is_not_deleted_as_an_empty_one, "S12.7"),
];

fn unusual() -> QueueSettings {
    QueueSettings {
        visibility_timeout: s(1 << 32),
        max_attempts: Some(1_000_000),
        backoff: Backoff::Exponential { base: ms(1), max: s(86_400) },
        dead_letter: Some(QueueName::new("dead/letters;(1)").unwrap()),
        retention: Some(s(1_209_600)),
        delay: ms(900_001),
        durability: Durability::Relaxed,
        fifo: true,
        dedup_window: s(301),
        dedup_scope: DedupScope::Group,
        paused: true,
        paused_until: Some(Timestamp::from_millis(1 << 45)),
        messages_max: Some(u64::from(u32::MAX) + 1),
        bytes_max: Some(1 << 40),
        message_bytes_max: 12_345,
        in_flight_max: 20_000,
        attributes: BTreeMap::from([
            ("tag".to_owned(), "ä \"quoted\"\n".to_owned()),
            (String::new(), "{}".to_owned()),
        ]),
    }
}

async fn every_setting_comes_back_as_it_was_set(b: Bench) {
    let q = b.named("unusual", unusual()).await;
    assert_eq!(q.info.settings, unusual());
    assert_eq!((q.info.created_at, q.info.modified_at), (START, START));
    let listed = b.store().queues().await.unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(*listed[0], q.info);
    let more = settings(|to| to.backoff = Backoff::Fixed { delay: ms(7) });
    let q = b.queue(more.clone()).await;
    assert_eq!(q.info.settings, more);
}

async fn creating_again_with_equal_settings_returns_the_queue(b: Bench) {
    let q = b.named("again", unusual()).await;
    b.advance(s(9));
    let (info, new) = b.store().create_queue(&q.info.name, &unusual(), b.now()).await.unwrap();
    assert!(!new);
    assert_eq!(info, q.info);
    assert_eq!(b.store().queues().await.unwrap().len(), 1);
}

async fn creating_again_with_parts_of_milliseconds_returns_the_queue(b: Bench) {
    let parts = Duration::from_micros(1500);
    let odd = settings(|to| {
        to.visibility_timeout = parts;
        to.retention = Some(s(60) + parts);
        to.delay = parts;
        to.dedup_window = parts;
        to.backoff = Backoff::Exponential { base: parts, max: s(1) + parts };
    });
    let name = QueueName::new("odd").unwrap();
    let create = async || b.store().create_queue(&name, &odd, b.now()).await.unwrap();
    let (made, new) = create().await;
    let (again, second) = create().await;
    assert_eq!((again.id, new, second), (made.id, true, false));
    b.store().configure(made.id, &odd, b.now()).await.unwrap();
    assert!(!create().await.1);
}

async fn creating_again_with_other_settings_is_refused(b: Bench) {
    let q = b.plain().await;
    q.send("a").await;
    for other in [settings(|to| to.delay = s(1)), settings(|to| to.fifo = true), unusual()] {
        let answer = b.store().create_queue(&q.info.name, &other, b.now()).await;
        let error = refused(answer, ErrorKind::QueueExists);
        assert!(error.to_string().contains(q.info.name.as_str()), "the error names the queue");
    }
    q.holds(1, 0, 0, 0).await;
}

async fn changed_settings_are_what_counts_for_creating_again(b: Bench) {
    let q = b.plain().await;
    let changed = settings(|to| to.delay = s(1));
    q.configure(&changed).await.unwrap();
    let create =
        async |with: &QueueSettings| b.store().create_queue(&q.info.name, with, b.now()).await;
    assert!(!create(&changed).await.unwrap().1);
    refused(create(&QueueSettings::default()).await, ErrorKind::QueueExists);
}

async fn queues_are_listed_by_name(b: Bench) {
    assert!(b.store().queues().await.unwrap().is_empty());
    for name in ["b", "a", "c", "B", "a.b", "$"] {
        b.named(name, QueueSettings::default()).await;
    }
    let listed = b.store().queues().await.unwrap();
    let names: Vec<_> = listed.iter().map(|info| info.name.as_str()).collect();
    assert_eq!(names, ["$", "B", "a", "a.b", "b", "c"]);
}

async fn names_of_every_allowed_kind_are_told_apart(b: Bench) {
    let long = "x".repeat(200);
    let longer_by_case = "X".repeat(200);
    let names = ["a-+/;.$_()9", "A-+/;.$_()9", "0", "00", &long, &longer_by_case, "..", "/"];
    let mut queues = Vec::new();
    for name in names {
        queues.push((name, b.named(name, QueueSettings::default()).await));
    }
    for (name, q) in &queues {
        q.send(*name).await;
    }
    for (name, q) in &queues {
        assert_eq!(q.drain().await, [*name]);
    }
}

async fn settings_are_replaced_as_a_whole(b: Bench) {
    let q = b.queue(settings(|to| to.delay = s(5))).await;
    b.advance(s(1));
    let new = settings(|to| {
        to.visibility_timeout = s(3);
        to.attributes.insert("k".into(), "v".into());
    });
    let info = q.configure(&new).await.unwrap();
    assert_eq!((&info.settings, info.id), (&new, q.id));
    assert_eq!((info.created_at, info.modified_at), (START, START.after(s(1))));
    assert_eq!(*b.store().queues().await.unwrap()[0], info);
    q.send("a").await;
    assert_eq!(q.claim_one().await.deadline, START.after(s(4)));
}

async fn settings_that_somebody_else_has_changed_are_not_replaced(b: Bench) {
    let q = b.queue(QueueSettings::default()).await;
    let (one, other) = (settings(|to| to.delay = s(1)), settings(|to| to.delay = s(2)));
    let Reconfigured::Done(first) = q.reconfigure(q.info.modified_at, &one).await else {
        panic!("nobody else has changed them");
    };
    assert_eq!(first.settings, one);
    // In the same millisecond, and after the clock was set back, a change is a change.
    assert!(first.modified_at > q.info.modified_at);
    let late = q.reconfigure(q.info.modified_at, &other).await;
    assert_eq!(late, Reconfigured::Others(first.clone()));
    assert_eq!(*b.store().queues().await.unwrap()[0], first);
    let Reconfigured::Done(second) = q.reconfigure(first.modified_at, &other).await else {
        panic!("that is how old they are");
    };
    assert!(second.settings == other && second.modified_at > first.modified_at);
    let third = q.configure(&one).await.unwrap();
    assert!(third.modified_at > second.modified_at);
    assert_eq!(q.reconfigure(second.modified_at, &other).await, Reconfigured::Others(third));
}

async fn fifo_is_fixed_at_creation(b: Bench) {
    for fifo in [false, true] {
        let q = b.queue(settings(|to| to.fifo = fifo)).await;
        refused(q.configure(&settings(|to| to.fifo = !fifo)).await, ErrorKind::Invalid);
        let listed = b.store().queues().await.unwrap();
        assert!(listed.iter().any(|info| info.id == q.id && info.settings.fifo == fifo));
    }
}

async fn configuring_a_queue_that_is_not_there_is_refused(b: Bench) {
    let default = QueueSettings::default();
    let answer = b.store().configure(QueueId(77), &default, b.now()).await;
    refused(answer, ErrorKind::QueueNotFound);
    refused(b.store().delete_queue(QueueId(77)).await, ErrorKind::QueueNotFound);
}

async fn a_deleted_queue_is_gone_with_all_that_was_in_it(b: Bench) {
    let q = b.queue(settings(|to| to.retention = Some(s(60)))).await;
    let ids = q.send_all([m("leased"), m("ready"), m("delayed").delay(s(1))]).await;
    q.claim_one().await;
    b.store().delete_queue(q.id).await.unwrap();
    refused(b.store().stats(q.id, b.now()).await, ErrorKind::QueueNotFound);
    refused(b.store().delete_queue(q.id).await, ErrorKind::QueueNotFound);
    assert!(b.store().queues().await.unwrap().is_empty());
    for id in ids {
        assert_eq!(b.lookup(id).await, None);
        refused(b.cancel(id).await, ErrorKind::MessageGone);
    }
    b.advance(s(100));
    for pass in [b.due().await, b.expire().await, b.prune().await] {
        assert_eq!((pass.ready.len(), pass.next), (0, None));
    }
}

async fn receipts_of_a_deleted_queue_find_their_messages_gone(b: Bench) {
    let q = b.plain().await;
    q.send("a").await;
    let delivery = q.claim_one().await;
    b.store().delete_queue(q.id).await.unwrap();
    refused(q.extend(&delivery, s(1)).await, ErrorKind::MessageGone);
    let entries = vec![(delivery.receipt, Settlement::Ack)];
    let batch = SettleBatch { queue: q.id, now: b.now(), entries };
    let answer = b.store().settle(batch).await.unwrap().remove(0);
    refused(answer, ErrorKind::MessageGone);
}

async fn a_queue_made_again_is_another_queue(b: Bench) {
    let old = b.named("phoenix", QueueSettings::default()).await;
    old.send_all(["a", "b"]).await;
    let held = old.claim_one().await;
    b.store().delete_queue(old.id).await.unwrap();
    let new = b.named("phoenix", unusual()).await;
    assert_ne!(new.id, old.id, "numbers of queues are not used again");
    new.holds(0, 0, 0, 0).await;
    new.configure(&settings(|to| to.fifo = true)).await.unwrap();
    new.send("c").await;
    refused(old.ack(&held).await, ErrorKind::MessageGone);
    assert_eq!(new.drain().await, ["c"]);
}

async fn deleting_one_queue_leaves_the_others(b: Bench) {
    let (one, two) = (b.plain().await, b.plain().await);
    one.send("a").await;
    let id = two.send("b").await;
    b.store().delete_queue(one.id).await.unwrap();
    assert_eq!(b.lookup(id).await.unwrap().queue, two.id);
    assert_eq!(two.drain().await, ["b"]);
}

async fn a_thousand_queues_are_one_like_the_other(b: Bench) {
    let mut queues = Vec::new();
    for n in 0..1000 {
        let q = b.plain().await;
        q.send(m(&n.to_string()).delay(s(n % 2))).await;
        queues.push(q);
    }
    b.pass(s(1)).await;
    let heads = queues.iter().map(|q| q.id).collect::<Vec<_>>();
    let heads = b.store().heads(&heads, b.now()).await.unwrap();
    assert!(heads.iter().all(Option::is_some));
    for (n, q) in queues.iter().enumerate().step_by(37) {
        assert_eq!(q.drain().await, [n.to_string()]);
    }
}

/// Whether the store deletes a queue in which there is nothing.
async fn deletes(b: &Bench, q: &crate::QueueBench) -> bool {
    let listed = b.store().queues().await.unwrap();
    let seen = listed.iter().find(|info| info.id == q.id).unwrap().modified_at;
    b.store().delete_if_empty(q.id, seen).await.unwrap()
}

async fn a_queue_is_deleted_if_there_is_nothing_in_it(b: Bench) {
    let able = b.store().capabilities().deletes_if_empty;
    let (q, other) = (b.named("q", QueueSettings::default()).await, b.plain().await);
    other.send("a").await;
    q.send("a").await;
    assert_eq!(q.drain().await, ["a"]);
    assert_eq!(deletes(&b, &q).await, able);
    let left = if able { vec![other.id] } else { vec![q.id, other.id] };
    let listed = b.store().queues().await.unwrap();
    let mut listed: Vec<QueueId> = listed.iter().map(|info| info.id).collect();
    listed.sort();
    assert_eq!(listed, left);
    if able {
        refused(b.store().stats(q.id, b.now()).await, ErrorKind::QueueNotFound);
        let again = b.named("q", QueueSettings::default()).await;
        again.send("late").await;
        assert_eq!(again.drain().await, ["late"]);
    }
}

async fn a_queue_with_anything_in_it_is_not_deleted_as_an_empty_one(b: Bench) {
    let (q, parked) = (b.plain().await, b.plain().await);
    q.send("ready").await;
    assert!(!deletes(&b, &q).await);
    let held = q.claim_one().await;
    assert!(!deletes(&b, &q).await, "leased");
    q.nack_for(&held, s(60)).await.unwrap();
    assert!(!deletes(&b, &q).await, "delayed");
    parked.send("a").await;
    let held = parked.claim_one().await;
    parked.park(&held).await.unwrap();
    assert!(!deletes(&b, &parked).await, "parked");
    let known = b.plain().await;
    known.send(m("a").dedup_id("id")).await;
    known.drain().await;
    assert!(!deletes(&b, &known).await, "an id is remembered");
    let loaded = b.plain().await;
    let begun = b.store().begin_load(loaded.id, b.now()).await.unwrap();
    assert!(!deletes(&b, &loaded).await, "a load is open");
    b.store().abandon_load(begun.id).await.unwrap();
    let changed = b.plain().await;
    let seen = b.now();
    b.advance(s(1));
    changed.configure(&settings(|to| to.delay = s(1))).await.unwrap();
    assert!(!b.store().delete_if_empty(changed.id, seen).await.unwrap(), "its settings are others");
    assert_eq!(b.store().queues().await.unwrap().len(), 5);
}
