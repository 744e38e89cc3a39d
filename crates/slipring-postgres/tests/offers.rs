//! Receives by SQL take messages that are offered, each its own (decisions 0043 and 0044): an offer
//! is no more than a hint, whatever becomes of the messages (S10.7).
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failed step fails the test")]

mod offers {
    pub mod ground;
    mod loads;
    mod retired;
    mod several;
}

use std::collections::BTreeSet;

use offers::ground::{Ground, numbered, receive, sorted};
use slipring::NewMessage;
use slipring::admin::AdminStore;
use slipring_conformance::verbs::{at, counts, try_send};
use slipring_testbed::{rotation_step, run};

#[tokio::test]
async fn each_receive_takes_the_next_of_the_messages_and_of_packs() {
    let ground = Ground::with(60).await;
    for pack in 0..3 {
        let pack = 60 + pack * 40..100 + pack * 40;
        let bodies = numbered(pack).join("','");
        run(&ground.user, &format!("SELECT slipring.send_batch('jobs', ARRAY['{bodies}'])")).await;
    }
    let mut done = Vec::new();
    let mut drawn = 0;
    while let Some(body) = ground.work().await {
        let now = ground.drawn(false).await;
        if now > drawn {
            // None was passed over while there was an offer.
            assert_eq!(now, drawn + 1);
            drawn = now;
        }
        done.push(body);
    }
    assert_eq!(done, numbered(0..180));
    assert!(drawn > 60, "only {drawn} by an offer");
    assert_eq!(ground.drawn(false).await, drawn, "no ticket is for what was handed out");
    assert_eq!(counts(&ground.store, ground.q).await, [0, 0, 0, 0]);
    let ranges = ground.ready_runs().await;
    assert!(ranges < 20, "{ranges}");
}

#[tokio::test]
async fn consumers_are_handed_different_messages_and_those_that_fail_give_theirs_back() {
    let ground = Ground::with(100).await;
    let done = ground.until_offered().await;
    let mut open = Vec::new();
    let mut held = Vec::new();
    for _ in 0..6 {
        let consumer = ground.begin().await;
        held.push(receive(&consumer, 1).await.remove(0).1);
        open.push(consumer);
    }
    assert_eq!(held.iter().collect::<BTreeSet<_>>().len(), 6);
    run(&open[0], "ROLLBACK").await;
    run(&open[1], "COMMIT").await;
    run(&open[2], "SAVEPOINT more").await;
    let again = receive(&open[2], 1).await.remove(0).1;
    assert!(!held.contains(&again));
    run(&open[2], "ROLLBACK TO more").await;
    run(&open[3], "PREPARE TRANSACTION 'offered'").await;
    let rest = ground.drain().await;
    run(&open[3], "COMMIT PREPARED 'offered'").await;
    for consumer in [&open[2], &open[4], &open[5]] {
        run(consumer, "COMMIT").await;
    }
    // Five are leased, the first one that was held came again.
    let seen = sorted(&[&done, &rest, &held[1..]]);
    assert_eq!(seen, numbered(0..100));
    assert_eq!(counts(&ground.store, ground.q).await, [0, 0, 5, 0]);
}

#[tokio::test]
async fn what_commits_late_between_the_messages_of_an_offer_is_not_lost() {
    let ground = Ground::with(20).await;
    let late = ground.begin().await;
    run(&late, "SELECT slipring.send('jobs', 'late'::text)").await;
    for n in 20..80 {
        ground.send(&format!("m{n:03}")).await;
    }
    let mut done = ground.until_offered().await;
    while done.len() < 40 {
        done.extend(ground.work().await);
    }
    assert!(ground.drawn(false).await > 10);
    run(&late, "COMMIT").await;
    let rest = ground.drain().await;
    assert!(rest.contains(&"late".to_owned()), "{rest:?}");
    let mut all = numbered(0..80);
    all.insert(0, "late".to_owned());
    assert_eq!(sorted(&[&done, &rest]), all);
}

#[tokio::test]
async fn what_a_server_or_a_batch_was_handed_since_is_not_handed_out_again() {
    let ground = Ground::with(90).await;
    let done = ground.until_offered().await;
    let server = ground.server(15).await;
    assert_eq!(server.len(), 15);
    let batch = ground.begin().await;
    let batched: Vec<_> = receive(&batch, 15).await.into_iter().map(|(_, body)| body).collect();
    assert_eq!(batched.len(), 15);
    let some = [ground.work().await.unwrap(), ground.work().await.unwrap()];
    run(&batch, "COMMIT").await;
    let rest = ground.drain().await;
    assert_eq!(sorted(&[&done, &server, &batched, &some, &rest]), numbered(0..90));
}

#[tokio::test]
async fn a_batch_of_which_one_was_left_has_that_one_alone() {
    let ground = Ground::with(80).await;
    let done = ground.until_offered().await;
    let rest = 80 - done.len();
    for round in 0..4 {
        let others = ground.begin().await;
        assert_eq!(receive(&others, rest - 1 - round).await.len(), rest - 1 - round);
        // The others' messages are in the way, so that it sees all there is and finds one.
        let last = receive(&ground.user, 5).await;
        assert_eq!(last.len(), 1);
        assert!(receive(&ground.user, 1).await.is_empty(), "round {round}");
        run(&others, "ROLLBACK").await;
    }
    let held = ground.server(100).await;
    assert_eq!(held.len(), rest - 4);
}

#[tokio::test]
async fn offers_outlive_rotations_and_what_they_name_is_found_or_left() {
    let ground = Ground::with(120).await;
    let mut done = ground.until_offered().await;
    let owner = ground.cluster.client(&ground.database).await;
    let mut moment = ground.now().await;
    for part in ["queues", "journal", "shelf"].iter().cycle().take(60) {
        moment = moment.after(std::time::Duration::from_secs(1));
        rotation_step(&owner, part, moment).await;
        done.extend(ground.work().await);
    }
    let rest = ground.drain().await;
    assert_eq!(sorted(&[&done, &rest]), numbered(0..120));
    assert_eq!(counts(&ground.store, ground.q).await, [0, 0, 0, 0]);
}

#[tokio::test]
async fn a_more_urgent_message_goes_before_those_that_are_offered() {
    let ground = Ground::with(60).await;
    ground.until_offered().await;
    let urgent = NewMessage::new("urgent").priority(1);
    try_send(&ground.store, ground.q, vec![urgent], at(0)).await.unwrap();
    assert_eq!(ground.work().await.unwrap(), "urgent");
}

#[tokio::test]
async fn what_was_purged_or_was_in_a_deleted_queue_is_not_handed_out() {
    let ground = Ground::with(60).await;
    ground.until_offered().await;
    run(&ground.user, "SELECT slipring.purge('jobs')").await;
    assert_eq!(ground.work().await, None);
    for n in 0..60 {
        ground.send(&format!("n{n}")).await;
    }
    ground.until_offered().await;
    ground.store.delete_queue(ground.q).await.unwrap();
    run(&ground.user, "SELECT slipring.create_queue('jobs')").await;
    ground.send("new").await;
    assert_eq!(ground.drain().await, ["new"]);
}

#[tokio::test]
async fn what_failed_comes_first_again_when_the_offer_is_over() {
    // S7.1
    let ground = Ground::with(120).await;
    let done = ground.until_offered().await;
    let failing = ground.begin().await;
    let body = receive(&failing, 1).await.remove(0).1;
    run(&failing, "ROLLBACK").await;
    let behind = ground.work().await.unwrap();
    assert!(behind > body, "the offer goes on");
    run(&ground.user, "UPDATE slipring.offer SET made_ms = made_ms - 2000").await;
    assert_eq!(ground.work().await, Some(body));
    let rest = ground.drain().await;
    assert_eq!(rest, numbered(u32::try_from(done.len()).unwrap() + 2..120));
}

#[tokio::test]
async fn offers_leave_room_for_in_flight_max_and_keep_no_message_where_it_is_reached() {
    let ground = Ground::with(300).await;
    run(&ground.user, "SELECT slipring.configure('jobs', '{\"in_flight_max\": 150}')").await;
    let done = ground.until_offered().await.len();
    // One after the other, so that nobody folds: the queue's lock is in other hands.
    let holder = ground.cluster.holder(&ground.database, ground.q).await;
    let consumer = ground.cluster.client(&ground.database).await;
    run(&consumer, "SET lock_timeout = '1 ms'").await;
    let mut held = 0;
    while let Ok(rows) = consumer.query("SELECT FROM slipring.receive('jobs')", &[]).await {
        held += rows.len();
        assert!(held <= 150, "{held} are in flight");
        if rows.is_empty() {
            break;
        }
    }
    assert!(held > 0);
    drop(holder);
    let rest = 300 - done - held;
    let more = ground.server(300).await.len();
    assert!(held + more <= 150, "{held} and {more}");
    assert!(rest > more);
}
