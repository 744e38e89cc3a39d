//! Tables of messages are let go of, or hidden for a moment, beside receives by SQL, which have
//! not the queue's lock.

use std::cell::Cell;
use std::time::Duration;

use slipring::store::Store;
use slipring_conformance::verbs::counts;
use slipring_testbed::{one, rotation_step, run};
use tokio_postgres::Client;

use super::ground::{Ground, receive, work};

/// After the queue was locked and its state read.
const READ: (&str, &str) = ("acks_take", "true");
/// The same in a turn of lapses, before it selects leases.
const READ_TO_LAPSE: (&str, &str) = ("settle_next", "true");
/// The same where a table's leases are moved.
const READ_TO_MOVE: (&str, &str) = ("leases_meeting", "true");

/// Lets the owner's step begin, which halts, commits the consumer's transaction, and lets the step
/// go on; `over` says that it was so.
async fn commit_within(
    ground: &Ground,
    owner: &Client,
    consumer: &Client,
    (halt, over): ((&str, &str), &Cell<bool>),
    step: impl Future<Output = ()>,
) {
    let meanwhile = async {
        run(consumer, "COMMIT").await;
        over.set(true);
    };
    ground.cluster.amid(&ground.database, owner, halt, step, meanwhile).await;
}

#[tokio::test]
async fn a_table_is_not_let_go_of_whose_last_message_was_handed_out_meanwhile() {
    let ground = Ground::in_use().await;
    ground.drain().await;
    // It takes in all acks: nothing is leased, as far as the state knows.
    run(&ground.user, "SELECT slipring.purge('jobs')").await;
    ground.send("kept").await;
    let owner = ground.cluster.client(&ground.database).await;
    let mut moment = ground.now().await;
    let marked = "SELECT count(*) FROM (SELECT * FROM slipring.state ORDER BY seq DESC LIMIT 1) s
        WHERE generation_mark IS NOT NULL";
    while one(&owner, marked).await == 0 {
        moment = moment.after(Duration::from_secs(1));
        rotation_step(&owner, "queues", moment).await;
    }
    let consumer = ground.begin().await;
    let (receipt, body) = receive(&consumer, 1).await.remove(0);
    assert_eq!(body, "kept");
    // Transactions of other tests that are older than the mark keep a step from its work.
    let over = Cell::new(false);
    let retiring = async {
        while !over.get() {
            moment = moment.after(Duration::from_secs(1));
            rotation_step(&owner, "queues", moment).await;
        }
    };
    commit_within(&ground, &owner, &consumer, (READ, &over), retiring).await;
    for part in ["queues", "journal", "shelf"].iter().cycle().take(30) {
        moment = moment.after(Duration::from_secs(1));
        rotation_step(&owner, part, moment).await;
    }
    run(&ground.user, &format!("SELECT slipring.nack('{receipt}', '0 s')")).await;
    assert_eq!(ground.work().await.as_deref(), Some("kept"));
}

/// A queue with a message in its oldest table and five in a table `ahead` generations later, whose
/// deletion was rolled back; and a session of the owner.
async fn deletion_rolled_back(ahead: i64) -> (Ground, Client) {
    let ground = Ground::in_use().await;
    ground.send("old").await;
    let owner = ground.cluster.client(&ground.database).await;
    let low = "SELECT generation_low FROM slipring.state ORDER BY seq DESC LIMIT 1";
    let next = format!("SELECT setval(generation, ({low}) + {ahead}) FROM slipring.queue");
    run(&owner, &next).await;
    for n in 0..5 {
        ground.send(&format!("new {n}")).await;
    }
    let delete =
        "BEGIN; SELECT slipring.store_delete_queue(queue_id) FROM slipring.queue; ROLLBACK";
    run(&owner, delete).await;
    (ground, owner)
}

const ALL: [&str; 6] = ["new 0", "new 1", "new 2", "new 3", "new 4", "old"];

#[tokio::test]
async fn a_deletion_that_is_rolled_back_hides_no_table_from_receives() {
    for ahead in [1, 2] {
        let (ground, _owner) = deletion_rolled_back(ahead).await;
        let mut bodies = work(&ground.user, 10).await;
        bodies.extend(ground.drain().await);
        bodies.sort();
        assert_eq!(bodies, ALL, "{ahead}");
    }
}

#[tokio::test]
async fn a_deletion_that_is_rolled_back_lets_no_table_be_emptied() {
    // After an import all three tables may be in use.
    for ahead in [1, 2] {
        let (ground, owner) = deletion_rolled_back(ahead).await;
        run(&ground.user, "SELECT slipring.pause('jobs'); SELECT slipring.resume('jobs')").await;
        let mut moment = ground.now().await;
        for _ in 0..10 {
            moment = moment.after(Duration::from_secs(1));
            rotation_step(&owner, "queues", moment).await;
        }
        let mut bodies = ground.drain().await;
        bodies.sort();
        assert_eq!(bodies, ALL, "{ahead}");
    }
}

#[tokio::test]
async fn a_removal_that_meets_a_new_lease_leaves_the_others_their_end() {
    let ground = Ground::in_use().await;
    run(&ground.user, "SELECT slipring.purge('jobs')").await;
    ground.send("old").await;
    let until = ground.now().await;
    while ground.now().await == until {}
    ground.send("new").await;
    let consumer = ground.begin().await;
    let receive = "SELECT convert_from(body, 'UTF8') FROM slipring.receive('jobs', 1, '1 day')";
    assert_eq!(consumer.query_one(receive, &[]).await.unwrap().get::<_, String>(0), "old");
    assert_eq!(ground.server(1).await, ["new"]);
    let owner = ground.cluster.client(&ground.database).await;
    let remove = format!(
        "BEGIN; SET LOCAL search_path = pg_catalog, slipring;
         SELECT slipring.remove_old(slipring.queue_lock({}), {}, 100, false); COMMIT",
        ground.q.0,
        until.as_millis()
    );
    let over = Cell::new(false);
    commit_within(&ground, &owner, &consumer, (READ, &over), run(&owner, &remove)).await;
    let later = ground.now().await.after(Duration::from_secs(3600));
    ground.store.expire_in(ground.q, later).await.unwrap();
    assert_eq!(ground.drain().await, ["new"]);
}

#[tokio::test]
async fn a_lease_that_is_moved_as_it_commits_leaves_the_others_their_end() {
    let ground = Ground::in_use().await;
    run(&ground.user, "SELECT slipring.purge('jobs')").await;
    for body in ["old", "new"] {
        ground.send(body).await;
    }
    let consumer = ground.begin().await;
    let receive = "SELECT convert_from(body, 'UTF8') FROM slipring.receive('jobs', 1, '1 day')";
    assert_eq!(consumer.query_one(receive, &[]).await.unwrap().get::<_, String>(0), "old");
    let before = ground.now().await;
    while ground.now().await == before {}
    assert_eq!(ground.server(1).await, ["new"]);
    let owner = ground.cluster.client(&ground.database).await;
    // Where others need the table, it retires whatever is ready in it.
    let move_leased = format!(
        "BEGIN; SET LOCAL search_path = pg_catalog, slipring;
         SELECT slipring.retire_leased(q, (slipring.live_table_names(q, slipring.state_read(q)))[1],
             {})
         FROM slipring.queue_lock({}) q; COMMIT",
        before.as_millis() + 1,
        ground.q.0
    );
    let over = Cell::new(false);
    let moving = run(&owner, &move_leased);
    commit_within(&ground, &owner, &consumer, (READ_TO_MOVE, &over), moving).await;
    assert_eq!(one(&ground.user, "SELECT count(*) FROM slipring.item").await, 1, "old was moved");
    assert_eq!(counts(&ground.store, ground.q).await, [0, 0, 2, 0]);
    let later = ground.now().await.after(Duration::from_secs(3600));
    ground.store.expire_in(ground.q, later).await.unwrap();
    assert_eq!(ground.drain().await, ["new"]);
}

#[tokio::test]
async fn a_lease_that_commits_while_others_lapse_lapses_too() {
    let ground = Ground::in_use().await;
    run(&ground.user, "SELECT slipring.purge('jobs')").await;
    let take = async |client: &Client, body: &str, lease: &str| {
        ground.send(body).await;
        let receive = format!(
            "SELECT convert_from(body, 'UTF8') FROM slipring.receive('jobs', 1, '{lease}')"
        );
        let got: String = client.query_one(&receive, &[]).await.unwrap().get(0);
        assert_eq!(got, body);
    };
    take(&ground.user, "lapses", "20 s").await;
    take(&ground.user, "lasts", "1 day").await;
    let consumer = ground.begin().await;
    take(&consumer, "before the first", "10 s").await;
    take(&consumer, "after the first", "40 s").await;
    let owner = ground.cluster.client(&ground.database).await;
    let later = ground.now().await.after(Duration::from_secs(60));
    let lapse = format!("SELECT slipring.store_expire_in({}, {})", ground.q.0, later.as_millis());
    let over = Cell::new(false);
    let lapsing = run(&owner, &lapse);
    commit_within(&ground, &owner, &consumer, (READ_TO_LAPSE, &over), lapsing).await;
    for _ in 0..2 {
        ground.store.expire_in(ground.q, later).await.unwrap();
    }
    let mut lapsed = ground.drain().await;
    lapsed.sort();
    assert_eq!(lapsed, ["after the first", "before the first", "lapses"]);
}
