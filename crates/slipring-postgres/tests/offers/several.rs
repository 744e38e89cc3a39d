//! Receives of several messages take parts of an offer (decision 0044).

use std::collections::BTreeSet;
use std::time::Duration;

use slipring_conformance::verbs::counts;
use slipring_testbed::{one, rotation_step, run, soon};

use super::ground::{Ground, numbered, receive, sorted, work};

/// Advisory locks of this session.
const LOCKS: &str =
    "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()";

/// When the newest offer was made; it may have several rows.
const NEWEST_MADE: &str =
    "SELECT made_ms FROM slipring.offer WHERE several ORDER BY first DESC LIMIT 1";

/// A queue of messages, one by one and in packs by turns, numbered as they were sent.
async fn mixed(singles: u32, pack: u32, times: u32) -> (Ground, Vec<String>) {
    let ground = Ground::with(0).await;
    let mut sent = 0..;
    let mut names =
        |n| sent.by_ref().take(n as usize).map(|n| format!("m{n:04}")).collect::<Vec<_>>();
    let mut all = Vec::new();
    for _ in 0..times {
        for body in names(singles) {
            ground.send(&body).await;
            all.push(body);
        }
        let bodies = names(pack);
        let batch = format!("SELECT slipring.send_batch('jobs', ARRAY['{}'])", bodies.join("','"));
        run(&ground.user, &batch).await;
        all.extend(bodies);
    }
    (ground, all)
}

/// The first receive, which is under the queue's lock, and then an offer that lasts, however slow
/// the machine is.
async fn begun(ground: &Ground, n: usize) -> Vec<String> {
    let done = work(&ground.user, n).await;
    ground.offer(n).await;
    assert!(ground.left(true).await > 0, "nothing was offered");
    run(&ground.user, "UPDATE slipring.offer SET made_ms = made_ms + 3600000").await;
    done
}

async fn drain(ground: &Ground, n: usize) -> Vec<String> {
    let mut done = Vec::new();
    loop {
        let got = work(&ground.user, n).await;
        if got.is_empty() {
            return done;
        }
        done.extend(got);
    }
}

#[tokio::test]
async fn each_receive_takes_the_next_parts_in_order_and_what_it_took_is_acked_as_a_whole() {
    let (ground, all) = mixed(30, 40, 10).await;
    let mut done = begun(&ground, 40).await;
    loop {
        let got = work(&ground.user, 40).await;
        assert!(got.len() <= 40);
        if got.is_empty() {
            break;
        }
        done.extend(got);
    }
    assert_eq!(done, all);
    assert!(ground.drawn(true).await > 10, "hardly any by an offer");
    assert_eq!(counts(&ground.store, ground.q).await, [0, 0, 0, 0]);
    let ranges = ground.ready_runs().await;
    assert!(ranges < 20, "{ranges} ranges are left");
}

#[tokio::test]
async fn consumers_take_different_parts_and_those_that_fail_give_theirs_back() {
    let (ground, all) = mixed(50, 24, 8).await;
    let mut seen = begun(&ground, 30).await;
    let mut held = Vec::new();
    let mut open = Vec::new();
    let drawn = ground.drawn(true).await;
    for _ in 0..6 {
        let consumer = ground.begin().await;
        let got: Vec<_> = receive(&consumer, 30).await.into_iter().map(|(_, body)| body).collect();
        assert!(!got.is_empty());
        held.push(got);
        open.push(consumer);
    }
    assert!(ground.drawn(true).await >= drawn + 6, "not each by an offer");
    let together = held.concat();
    assert_eq!(together.iter().collect::<BTreeSet<_>>().len(), together.len());
    run(&open[0], "ROLLBACK").await;
    run(&open[1], "PREPARE TRANSACTION 'parts'").await;
    for consumer in &open[2..] {
        run(consumer, "COMMIT").await;
    }
    // All but those that a transaction still has.
    seen.extend(drain(&ground, 30).await);
    seen.extend(drain(&ground, 1).await);
    run(&open[1], "COMMIT PREPARED 'parts'").await;
    assert_eq!(sorted(&[&seen, &held[1..].concat()]), all);
    let leased = u64::try_from(held[1..].concat().len()).unwrap();
    assert_eq!(counts(&ground.store, ground.q).await, [0, 0, leased, 0]);
}

#[tokio::test]
async fn what_others_were_handed_since_is_left_out_of_a_part() {
    let (ground, all) = mixed(60, 60, 4).await;
    let mut seen = begun(&ground, 24).await;
    // Single messages, which have offers of their own or none, and a server's.
    let single = ground.begin().await;
    let mut held: Vec<_> = receive(&single, 1).await.into_iter().map(|(_, body)| body).collect();
    held.extend(ground.server(7).await);
    seen.extend(work(&ground.user, 24).await);
    run(&single, "COMMIT").await;
    seen.extend(drain(&ground, 24).await);
    seen.extend(drain(&ground, 1).await);
    assert_eq!(sorted(&[&seen, &held]), all);
}

#[tokio::test]
async fn what_commits_late_or_was_given_back_comes_again_while_offers_follow_each_other() {
    let (ground, mut all) = mixed(80, 64, 2).await;
    let late = ground.begin().await;
    run(&late, "SELECT slipring.send_batch('jobs', ARRAY['late', 'later'])").await;
    let more = numbered(0..300);
    for body in &more {
        ground.send(body).await;
    }
    let mut seen = begun(&ground, 16).await;
    let failing = ground.begin().await;
    assert!(!receive(&failing, 16).await.is_empty());
    run(&failing, "ROLLBACK").await;
    run(&late, "COMMIT").await;
    seen.extend(drain(&ground, 16).await);
    seen.extend(drain(&ground, 1).await);
    all.extend(more);
    all.extend(["late".to_owned(), "later".to_owned()]);
    all.sort();
    assert_eq!(sorted(&[&seen]), all);
}

#[tokio::test]
async fn an_offer_that_begins_anew_passes_over_what_was_offered_a_moment_ago() {
    let ground = Ground::with(0).await;
    let send = "SELECT slipring.send('jobs', 'm' || n) FROM generate_series(1, 12000) n";
    run(&ground.user, send).await;
    begun(&ground, 16).await;
    let back = |column: &str| {
        format!(
            "UPDATE slipring.offer
             SET made_ms = (SELECT slipring.now_ms()) + 3600000, {column} = {column} - 2000
             WHERE made_ms = ({NEWEST_MADE})"
        )
    };
    let consumer = ground.begin().await;
    let held = receive(&consumer, 16).await;
    // The front is due, the last offer counts: what the consumer has is not among the next.
    run(&ground.user, &back("front_ms")).await;
    let newest = "SELECT max(first) FROM slipring.offer WHERE several";
    let before = one(&ground.user, newest).await;
    while one(&ground.user, newest).await == before {
        assert!(!work(&ground.user, 16).await.is_empty());
    }
    let again = format!(
        "SELECT count(*) FROM slipring.offer o WHERE o.several AND o.made_ms = ({NEWEST_MADE})
         AND lower(o.ready) <= (SELECT min(id) FROM slipring.peek('jobs', 'ready', 1))"
    );
    assert_eq!(one(&ground.user, &again).await, 0, "{} are held", held.len());
    run(&consumer, "ROLLBACK").await;
    // The next time it is due, and the time after.
    let first = &held[0].1;
    let mut seen = false;
    for _ in 0..2 {
        run(&ground.user, &back("front_ms")).await;
        let before = one(&ground.user, newest).await;
        while one(&ground.user, newest).await == before {
            let got = work(&ground.user, 16).await;
            assert!(!got.is_empty(), "nothing was offered any more");
            seen = seen || got.contains(first);
        }
    }
    while !seen {
        let got = work(&ground.user, 16).await;
        assert!(!got.is_empty(), "{first} did not come again");
        seen = got.contains(first);
    }
}

#[tokio::test]
async fn an_offer_is_as_large_as_receives_are_fast_and_the_next_is_made_at_half_of_it() {
    let ground = Ground::with(0).await;
    let send =
        "SELECT slipring.send_batch('jobs', array_agg(format('m%5s', n) || repeat('.', 370)))
        FROM generate_series(1, 12000) n GROUP BY n / 6000";
    run(&ground.user, send).await;
    let rows = "SELECT count(*) FROM slipring.offer WHERE several";
    let draw = |n: u32| {
        format!(
            "SELECT count(nextval(slipring.ticket(queue_id, true)))
             FROM slipring.queue, generate_series(1, {n})"
        )
    };
    let made = |age_ms: i32| {
        format!(
            "UPDATE slipring.offer SET made_ms = (SELECT slipring.now_ms()) - {age_ms}
             WHERE made_ms = ({NEWEST_MADE})"
        )
    };
    let mut seen = begun(&ground, 40).await;
    assert_eq!(one(&ground.user, rows).await, 1);
    one(&ground.user, &draw(100)).await;
    ground.offer(40).await;
    assert_eq!(one(&ground.user, rows).await, 1, "more than half of it was left");
    // Half is drawn in no time: twice as much is offered, and of that again the half.
    for (drawn, more) in [(60, 2), (450, 4)] {
        run(&ground.user, &made(-60_000)).await;
        let before = one(&ground.user, rows).await;
        one(&ground.user, &draw(drawn)).await;
        ground.offer(40).await;
        assert_eq!(one(&ground.user, rows).await, before + more);
    }
    // Each of its rows has parts of its own, in order.
    let run_of = "SELECT count(*) FROM slipring.offer o JOIN slipring.offer p ON p.past = o.first
        WHERE o.several AND p.several AND lower(o.ready) <= p.ids[cardinality(p.ids)]";
    assert_eq!(one(&ground.user, run_of).await, 0);
    // Much later: half as much.
    run(&ground.user, &made(1_200)).await;
    let before = one(&ground.user, rows).await;
    one(&ground.user, &draw(1_000)).await;
    ground.offer(40).await;
    let more = one(&ground.user, rows).await - before;
    assert!((1..=2).contains(&more), "{more} rows");
    seen.extend(drain(&ground, 40).await);
    seen.extend(drain(&ground, 1).await);
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 12_000);
}

#[tokio::test]
async fn offers_of_parts_outlive_rotations_purges_and_deletion() {
    let (ground, all) = mixed(100, 6, 4).await;
    let mut done = begun(&ground, 20).await;
    let owner = ground.cluster.client(&ground.database).await;
    let mut moment = ground.now().await;
    for part in ["queues", "journal", "shelf"].iter().cycle().take(30) {
        moment = moment.after(Duration::from_secs(1));
        rotation_step(&owner, part, moment).await;
        if part == &"shelf" {
            ground.offer(12).await;
        }
        done.extend(work(&ground.user, 12).await);
    }
    let drawn = ground.drawn(true).await;
    // Until the queue rotates: what is copied to the shelf is not offered.
    assert!(drawn > 10, "hardly any by an offer: {drawn}");
    done.extend(drain(&ground, 20).await);
    done.extend(drain(&ground, 1).await);
    assert_eq!(sorted(&[&done]), all);
    for n in 0..100 {
        ground.send(&format!("n{n}")).await;
    }
    begun(&ground, 10).await;
    run(&ground.user, "SELECT slipring.purge('jobs')").await;
    assert!(work(&ground.user, 10).await.is_empty());
    assert_eq!(counts(&ground.store, ground.q).await, [0, 0, 0, 0]);
}

#[tokio::test]
async fn large_bodies_are_offered_in_small_parts_and_stay_below_what_a_receive_may_have() {
    let ground = Ground::with(0).await;
    for _ in 0..120 {
        run(&ground.user, "SELECT slipring.send('jobs', repeat('x', 900000))").await;
    }
    begun(&ground, 8).await;
    let sizes = "SELECT max(s)::bigint FROM slipring.offer o CROSS JOIN LATERAL unnest(o.sizes) s";
    assert_eq!(one(&ground.user, sizes).await, 1);
    let bytes = "SELECT sum(length(body)) FROM slipring.receive('jobs', 1000)";
    let got = soon("a receive", ground.user.query_one(bytes, &[])).await.unwrap();
    let got: i64 = got.get(0);
    assert!((900_000..=67_108_864).contains(&got), "{got}");
}

#[tokio::test]
async fn a_receive_takes_few_locks_where_others_have_some_of_every_pack() {
    let (ground, _) = mixed(0, 64, 40).await;
    // The first receive is under the queue's lock.
    work(&ground.user, 1).await;
    let others = ground.cluster.begin(&ground.database, "READ COMMITTED").await;
    let tables = "SELECT c.relname FROM pg_class c JOIN pg_namespace s ON s.oid = c.relnamespace
        WHERE s.nspname = 'slipring' AND c.relname ~ '^message_[0-9]+_[0-9]+$' AND c.relkind = 'r'";
    for row in ground.user.query(tables, &[]).await.unwrap() {
        let table: String = row.get(0);
        run(&others, &format!("SELECT FROM slipring.{table} FOR KEY SHARE")).await;
    }
    let consumer = ground.begin().await;
    let got = receive(&consumer, 1000).await.len();
    let locks = one(&consumer, LOCKS).await;
    assert!(got > 0);
    assert!(locks <= 66, "{locks} locks for {got} messages");
}

#[tokio::test]
async fn in_flight_max_bounds_what_receives_beside_each_other_are_handed() {
    let ground = Ground::with(700).await;
    run(&ground.user, "SELECT slipring.configure('jobs', '{\"in_flight_max\": 40000}')").await;
    work(&ground.user, 1).await;
    // A hundred may be handed as many at once: 400 each.
    // The one that was acked counts until that is taken in.
    assert!((399..=400).contains(&work(&ground.user, 500).await.len()));
    run(&ground.user, "SELECT slipring.configure('jobs', '{\"in_flight_max\": 250}')").await;
    // That would be two, and is under the lock, which knows what others have.
    assert_eq!(receive(&ground.user, 200).await.len(), 200);
    assert_eq!(receive(&ground.user, 200).await.len(), 50);
    assert_eq!(counts(&ground.store, ground.q).await[2], 250);
}

#[tokio::test]
async fn a_pack_that_others_hold_is_in_the_way_of_no_message_behind_it() {
    // S10.7
    let ground = Ground::with(1).await;
    ground.work().await;
    let pack = numbered(0..64).join("','");
    run(&ground.user, &format!("SELECT slipring.send_batch('jobs', ARRAY['{pack}'])")).await;
    for n in 100..130 {
        ground.send(&format!("m{n}")).await;
    }
    let holder = ground.begin().await;
    assert_eq!(receive(&holder, 64).await.len(), 64);
    assert_eq!(one(&ground.user, "SELECT slipring.ready('jobs')::int::bigint").await, 1);
    assert_eq!(ground.server(1).await, ["m100"]);
    assert_eq!(work(&ground.user, 10).await.len(), 10);
    assert_eq!(ground.server(100).await.len(), 19);
    assert_eq!(one(&ground.user, "SELECT slipring.ready('jobs')::int::bigint").await, 0);
}

#[tokio::test]
async fn a_part_that_is_too_large_for_all_is_in_the_way_no_longer_than_its_offer_lasts() {
    let ground = Ground::with(0).await;
    let send = "SELECT slipring.send('jobs', 'm' || n) FROM generate_series(1, 1000) n";
    run(&ground.user, send).await;
    let pack = numbered(0..64).join("','");
    run(&ground.user, &format!("SELECT slipring.send_batch('jobs', ARRAY['{pack}'])")).await;
    run(&ground.user, send).await;
    begun(&ground, 40).await;
    let head =
        "SELECT coalesce(max(o.sizes[t.last + 2 - o.first]), 0)::bigint FROM slipring.offer o
        CROSS JOIN (SELECT pg_sequence_last_value(slipring.ticket(q.queue_id, true)) AS last
            FROM slipring.queue q WHERE q.name = 'jobs') t";
    while one(&ground.user, head).await < 64 {
        assert!(!work(&ground.user, 40).await.is_empty());
    }
    let stuck = ground.drawn(true).await;
    work(&ground.user, 40).await;
    assert_eq!(ground.drawn(true).await, stuck);
    // Its offer is over, others follow.
    run(&ground.user, "UPDATE slipring.offer SET made_ms = slipring.now_ms() - 2000").await;
    while ground.drawn(true).await == stuck {
        assert!(!work(&ground.user, 40).await.is_empty(), "nothing was drawn any more");
    }
}
