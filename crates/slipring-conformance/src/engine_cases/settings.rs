//! Changes of some settings of a queue, beside others who change others.

use std::convert::Infallible;

use slipring::{Clock, Queue, QueueSettings};

use crate::bench::{Bench, s, settings};
use crate::case::{Case, case};

use super::{EngineBench, within};

pub(super) const CASES: &[Case] = &[
    case!(changes_at_the_same_time_all_stay, threads 4, "S14.6"),
    case!(a_change_keeps_what_another_process_has_changed, "S14.6"),
    case!(a_change_that_is_refused_changes_nothing, "S14.6"),
];

async fn tag(queue: &Queue, key: String) {
    let tagged = |present: &QueueSettings| {
        let mut settings = present.clone();
        settings.attributes.insert(key.clone(), "set".to_owned());
        Ok::<_, Infallible>(settings)
    };
    let Ok(_) = queue.change(tagged).await.expect("the settings can be changed");
}

async fn changes_at_the_same_time_all_stay(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    let tasks: Vec<_> = (0..20)
        .map(|n| {
            let q = q.clone();
            tokio::spawn(async move { tag(&q, n.to_string()).await })
        })
        .collect();
    for task in tasks {
        within("a change", task).await.unwrap();
    }
    assert_eq!(q.info().settings.attributes.len(), 20);
    let stored = e.bench.store().queues().await.unwrap();
    assert_eq!(stored[0].settings, q.info().settings);
}

async fn a_change_keeps_what_another_process_has_changed(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    let now = e.bench.clock.now();
    let theirs = settings(|to| to.visibility_timeout = s(77));
    // Past this engine, which has not heard of it yet.
    e.bench.store().configure(q.id(), &theirs, now).await.unwrap();
    tag(&q, "ours".to_owned()).await;
    let both = q.info().settings.clone();
    assert_eq!((both.visibility_timeout, both.attributes.len()), (s(77), 1));
    assert_eq!(e.bench.store().queues().await.unwrap()[0].settings, both);
    // Back to what this engine believes it to be still: that is a change too.
    e.bench.store().configure(q.id(), &theirs, now).await.unwrap();
    let back = |_: &QueueSettings| Ok::<_, Infallible>(both.clone());
    let Ok(_) = q.change(back).await.unwrap();
    assert_eq!(e.bench.store().queues().await.unwrap()[0].settings, both);
}

async fn a_change_that_is_refused_changes_nothing(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    let before = q.info();
    assert_eq!(q.change(|_| Err("no")).await.unwrap(), Err("no"));
    let too_long = |_: &QueueSettings| {
        Ok::<_, Infallible>(settings(|to| to.visibility_timeout = s((1 << 32) + 1)))
    };
    assert!(q.change(too_long).await.is_err());
    assert_eq!(q.info(), before);
    assert_eq!(*e.bench.store().queues().await.unwrap()[0], *before);
}
