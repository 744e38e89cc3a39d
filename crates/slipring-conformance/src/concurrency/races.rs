//! Two or more calls for the same thing at the same moment.

use std::collections::BTreeSet;
use std::future::Future;

use slipring::store::{AppendBatch, ClaimBatch, Demand};
use slipring::{ErrorKind, MoveRequest, QueueName, QueueSettings};

use crate::bench::{Bench, m, s, settings};
use crate::case::{Case, case};

pub(super) const CASES: &[Case] = &[
    case!(concurrent_sends_get_numbers_of_their_own, threads 4, "S7.1", "S9.2"),
    case!(concurrent_receives_never_share_a_message, threads 4, "S3.1"),
    case!(of_many_acks_at_once_one_counts, threads 4, "S3.5", "S4.1"),
    case!(of_many_claims_by_number_one_wins, threads 4, "S3.1"),
    case!(an_ack_and_a_lapse_at_once_agree, threads 4, "S3.4", "S4.1"),
    case!(a_dedup_id_sent_by_many_at_once_is_stored_once, threads 4, "S8.1"),
    case!(a_limit_holds_against_many_at_once, threads 4, "S12.2"),
    case!(dead_letters_and_redrives_at_once_lose_nothing, threads 4, "S6.3", "S6.4"),
    case!(queues_that_are_dead_letter_queues_of_each_other_do_not_deadlock, threads 4, "S6.3"),
    case!(a_queue_may_go_while_everybody_uses_it, threads 4, "S4.2"),
    case!(of_many_creations_of_a_queue_one_is_new, threads 4, "S14.2"),
];

/// Runs `count` tasks at once and gathers what they answer.
async fn at_once<T, F>(count: u64, task: impl Fn(u64) -> F) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let tasks: Vec<_> = (0..count).map(|nth| tokio::spawn(task(nth))).collect();
    let mut answers = Vec::new();
    for task in tasks {
        answers.push(task.await.expect("the task does not panic"));
    }
    answers
}

async fn concurrent_sends_get_numbers_of_their_own(b: Bench) {
    let queues = [b.plain().await, b.plain().await];
    let answers = at_once(8, |nth| {
        let q = queues[nth as usize % 2].clone();
        async move {
            let mut all = Vec::new();
            for round in 0..20 {
                let ids = q.send_all((0..5).map(|n| format!("{nth} {round} {n}"))).await;
                assert!(ids.is_sorted(), "a unit keeps its order");
                assert!(all.last() < ids.first(), "and so do the sends of one caller");
                all.extend(ids);
            }
            all
        }
    })
    .await;
    let all: BTreeSet<_> = answers.into_iter().flatten().collect();
    assert_eq!(all.len(), 8 * 20 * 5);
    for q in &queues {
        q.holds(400, 0, 0, 0).await;
    }
}

async fn concurrent_receives_never_share_a_message(b: Bench) {
    let q = b.plain().await;
    q.send_all((0..600).map(|n| n.to_string())).await;
    let taken = at_once(6, |nth| {
        let q = q.clone();
        async move {
            let mut all = Vec::new();
            loop {
                let list = q.take(1 + nth as u32 * 3).await;
                if list.is_empty() {
                    return all;
                }
                all.extend(list);
            }
        }
    })
    .await;
    let all: Vec<_> = taken.into_iter().flatten().collect();
    let unique: BTreeSet<_> = all.iter().cloned().collect();
    assert_eq!((all.len(), unique.len()), (600, 600));
}

async fn of_many_acks_at_once_one_counts(b: Bench) {
    let q = b.plain().await;
    for _ in 0..20 {
        q.send("a").await;
        let delivery = q.claim_one().await;
        let answers = at_once(6, |_| {
            let (q, delivery) = (q.clone(), delivery.clone());
            async move { q.ack(&delivery).await }
        })
        .await;
        let (right, wrong): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
        assert_eq!(right.len(), 1);
        assert!(wrong.iter().all(|e| e.as_ref().unwrap_err().kind() == ErrorKind::MessageGone));
    }
}

async fn of_many_claims_by_number_one_wins(b: Bench) {
    let q = b.plain().await;
    for _ in 0..20 {
        let id = q.send("a").await;
        let answers = at_once(6, |nth| {
            let q = q.clone();
            async move {
                if nth == 0 {
                    q.claim(1).await.len()
                } else {
                    q.claim_message(id).await.iter().len()
                }
            }
        })
        .await;
        assert_eq!(answers.iter().sum::<usize>(), 1);
        q.purge(1).await;
    }
}

async fn an_ack_and_a_lapse_at_once_agree(b: Bench) {
    let q = b.plain().await;
    for _ in 0..50 {
        q.send("a").await;
        let late = q.claim_one().await;
        b.advance(s(30));
        let taken = at_once(2, |nth| {
            let (b, q, late) = (b.clone(), q.clone(), late.clone());
            async move {
                if nth == 0 {
                    return q.ack(&late).await.is_ok();
                }
                b.expire().await;
                !q.claim(1).await.is_empty()
            }
        })
        .await;
        assert_ne!(taken[0], taken[1], "either the ack counts or somebody else has the message");
        q.purge(1).await;
    }
}

async fn a_dedup_id_sent_by_many_at_once_is_stored_once(b: Bench) {
    let q = b.plain().await;
    for round in 0..20 {
        let sent = at_once(6, |_| {
            let q = q.clone();
            async move { q.try_send(m("a").dedup_id(format!("{round}"))).await.unwrap() }
        })
        .await;
        assert_eq!(sent.iter().filter(|sent| !sent.duplicate).count(), 1);
        assert!(sent.iter().all(|one| one.id == sent[0].id));
    }
    q.holds(20, 0, 0, 0).await;
}

async fn a_limit_holds_against_many_at_once(b: Bench) {
    let q = b
        .queue(settings(|to| {
            to.messages_max = Some(50);
            to.in_flight_max = 7;
        }))
        .await;
    let stored = at_once(8, |_| {
        let q = q.clone();
        async move {
            let mut stored = 0;
            for _ in 0..10 {
                stored += u32::from(q.try_send("a").await.is_ok());
            }
            stored
        }
    })
    .await;
    assert_eq!(stored.iter().sum::<u32>(), 50);
    let taken = at_once(8, |_| {
        let q = q.clone();
        async move { q.claim(3).await.len() }
    })
    .await;
    assert_eq!(taken.iter().sum::<usize>(), 7);
}

async fn dead_letters_and_redrives_at_once_lose_nothing(b: Bench) {
    let dead = b.plain().await;
    let q = b.source_of(&dead, 1).await;
    let ids = q.send_all((0..30).map(|n| n.to_string())).await;
    at_once(6, |nth| {
        let (b, q, dead, ids) = (b.clone(), q.clone(), dead.clone(), ids.clone());
        async move {
            for round in 0..60 {
                match nth {
                    0 | 1 => {
                        for delivery in q.claim(3).await {
                            q.nack(&delivery).await.unwrap();
                        }
                    }
                    2 | 3 => {
                        let request = MoveRequest { source: dead.id, target: None, limit: 4 };
                        b.store().move_messages(request, b.now()).await.unwrap();
                    }
                    _ => {
                        let id = ids[(round * 7) % ids.len()];
                        let seen = b.lookup(id).await.expect("the message is in one of the two");
                        assert!(seen.queue == q.id || seen.queue == dead.id);
                    }
                }
                tokio::task::yield_now().await;
            }
        }
    })
    .await;
    let mut all = q.drain().await;
    all.extend(dead.drain().await);
    let unique: BTreeSet<_> = all.iter().collect();
    assert_eq!((all.len(), unique.len()), (30, 30));
}

async fn queues_that_are_dead_letter_queues_of_each_other_do_not_deadlock(b: Bench) {
    let to = |name: &str| {
        settings(|to| {
            to.max_attempts = Some(1);
            to.dead_letter = QueueName::new(name).ok();
        })
    };
    let queues = [b.named("one", to("two")).await, b.named("two", to("one")).await];
    for q in &queues {
        q.send_all((0..20).map(|n| n.to_string())).await;
    }
    at_once(6, |nth| {
        let (b, q) = (b.clone(), queues[nth as usize % 2].clone());
        async move {
            for round in 0..50 {
                let taken = q.claim(2).await;
                if round % 3 == 0 {
                    b.pass(s(30)).await;
                }
                for delivery in taken {
                    // Its lease may have been ended by the pass of another task.
                    let _ = q.nack(&delivery).await;
                }
                tokio::task::yield_now().await;
            }
        }
    })
    .await;
    b.pass(s(30)).await;
    let total = queues[0].stats().await.ready + queues[1].stats().await.ready;
    assert_eq!(total, 40, "all are ready in one of the two");
}

async fn a_queue_may_go_while_everybody_uses_it(b: Bench) {
    let name = QueueName::new("short-lived").unwrap();
    at_once(5, |nth| {
        let (b, name) = (b.clone(), name.clone());
        async move {
            for _ in 0..40 {
                let (store, now) = (b.store(), b.now());
                let made = store.create_queue(&name, &QueueSettings::default(), now).await;
                let queue = made.unwrap().0.id;
                let outcome = match nth {
                    0 => store.delete_queue(queue).await,
                    1 => store.purge(queue, 10, now).await.map(|_| ()),
                    2 => {
                        let demands = vec![Demand { up_to: 3, lease: None, session: false }];
                        store.claim(ClaimBatch { queue, now, demands }).await.map(|_| ())
                    }
                    _ => {
                        let messages = vec![m("a"), m("b")];
                        let batch = AppendBatch { queue, now, messages, units: vec![1, 1] };
                        store.append(batch).await.map(|_| ())
                    }
                };
                if let Err(error) = outcome {
                    assert_eq!(error.kind(), ErrorKind::QueueNotFound, "{error}");
                }
                tokio::task::yield_now().await;
            }
        }
    })
    .await;
    let left = b.store().queues().await.unwrap();
    for info in left {
        b.store().delete_queue(info.id).await.unwrap();
    }
    assert_eq!(b.expire().await.next, None);
}

async fn of_many_creations_of_a_queue_one_is_new(b: Bench) {
    for round in 0..10 {
        let name = QueueName::new(&format!("queue-{round}")).unwrap();
        let made = at_once(6, |_| {
            let (b, name) = (b.clone(), name.clone());
            async move {
                let settings = QueueSettings::default();
                b.store().create_queue(&name, &settings, b.now()).await.unwrap()
            }
        })
        .await;
        assert_eq!(made.iter().filter(|(_, new)| *new).count(), 1);
        assert!(made.iter().all(|(info, _)| info.id == made[0].0.id));
    }
}
