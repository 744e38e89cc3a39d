//! Tables of messages are let go of, or hidden for a moment, beside receives by SQL, which have
//! not the queue's lock.

use std::cell::Cell;
use std::time::Duration;

use slipring_testbed::{one, rotation_step, run};

use super::ground::{Ground, receive};

/// Whoever asks for it waits here for a lock of the test, with the queue's lock in its hands, after
/// it has read what is leased.
const HALT: &str = "ALTER FUNCTION slipring.acks_take RENAME TO acks_taken;
    CREATE FUNCTION slipring.acks_take(
        p_queue slipring.queue, p_state slipring.state, p_now_ms bigint) RETURNS slipring.state
    LANGUAGE plpgsql AS $$ BEGIN
        IF current_setting('test.halt', true) = 'on' THEN
            PERFORM pg_advisory_xact_lock(77);
        END IF;
        RETURN slipring.acks_taken(p_queue, p_state, p_now_ms);
    END $$";

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
    run(&owner, HALT).await;
    run(&owner, "SET test.halt = on").await;
    let keeper = ground.cluster.client(&ground.database).await;
    run(&keeper, "SELECT pg_advisory_lock(77)").await;
    let halted = "SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
        WHERE l.locktype = 'advisory' AND l.objid = 77 AND NOT l.granted
        AND d.datname = current_database()";
    let over = Cell::new(false);
    // Transactions of other tests that are older than the mark keep a step from its work.
    let retiring = async {
        while !over.get() {
            moment = moment.after(Duration::from_secs(1));
            rotation_step(&owner, "queues", moment).await;
        }
    };
    let meanwhile = async {
        while one(&ground.user, halted).await == 0 {}
        run(&consumer, "COMMIT").await;
        run(&keeper, "SELECT pg_advisory_unlock(77)").await;
        over.set(true);
    };
    tokio::join!(retiring, meanwhile);
    run(&owner, "SET test.halt = off").await;
    for part in ["queues", "journal", "shelf"].iter().cycle().take(30) {
        moment = moment.after(Duration::from_secs(1));
        rotation_step(&owner, part, moment).await;
    }
    run(&ground.user, &format!("SELECT slipring.nack('{receipt}', '0 s')")).await;
    assert_eq!(ground.work().await.as_deref(), Some("kept"));
}

#[tokio::test]
async fn a_deletion_that_is_rolled_back_hides_no_table_from_receives() {
    let ground = Ground::in_use().await;
    ground.send("old").await;
    let owner = ground.cluster.client(&ground.database).await;
    let mut moment = ground.now().await;
    let second = "SELECT count(*) FROM slipring.queue WHERE pg_sequence_last_value(generation) >
        (SELECT generation_low FROM slipring.state ORDER BY seq DESC LIMIT 1)";
    while one(&owner, second).await == 0 {
        moment = moment.after(Duration::from_secs(1));
        rotation_step(&owner, "queues", moment).await;
    }
    for n in 0..5 {
        ground.send(&format!("new {n}")).await;
    }
    let delete =
        "BEGIN; SELECT slipring.store_delete_queue(queue_id) FROM slipring.queue; ROLLBACK";
    run(&owner, delete).await;
    let got = receive(&ground.user, 10).await;
    let receipts: Vec<_> = got.iter().map(|(receipt, _)| receipt.as_str()).collect();
    run(&ground.user, &format!("SELECT slipring.ack(ARRAY['{}'])", receipts.join("','"))).await;
    let mut bodies: Vec<_> = got.into_iter().map(|(_, body)| body).collect();
    bodies.extend(ground.drain().await);
    bodies.sort();
    assert_eq!(bodies, ["new 0", "new 1", "new 2", "new 3", "new 4", "old"]);
}
