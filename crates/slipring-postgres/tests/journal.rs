//! The rotation of the journal beside many open leases: a step copies some of them, and others go
//! on between two steps.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failed step fails the test")]

use std::time::Duration;

use slipring::lifecycle::Settlement;
use slipring::{Delivery, Store, Timestamp};
use slipring_conformance::verbs::{ack_all, at, claim, counts, drain, extend, plain, settle};
use slipring_testbed::{Cluster, one, rotation_step, run};

/// Leases of servers and of users of SQL, of one message each.
const SERVERS: usize = 2200;
const USERS: usize = 300;
/// Leases that one step copies at most.
const STEP: i64 = 1000;
/// When every lease is over.
const FAR: Timestamp = Timestamp::from_millis(4_000_000_000_000);

#[tokio::test]
async fn a_step_copies_some_leases_and_others_go_on_between_two_of_them() {
    let cluster = Cluster::shared();
    let (database, store, client) = cluster.opened().await;
    let q = plain(&store).await;
    run(&client, "SET synchronous_commit = off").await;
    let all = SERVERS + USERS + 100;
    let send = format!(
        "SELECT slipring.send_batch('plain', array_agg(n::text ORDER BY n))
         FROM generate_series(1, {all}) n"
    );
    run(&client, &send).await;
    for _ in 0..USERS {
        run(&client, "SELECT FROM slipring.receive('plain', 1, '1 hour')").await;
    }
    let mut held: Vec<Delivery> = Vec::new();
    for _ in 0..SERVERS {
        held.extend(claim(&store, q, 1, at(0)).await);
    }
    assert_eq!(held.len(), SERVERS);
    let worker = cluster.client(&database).await;
    let rows = async || one(&worker, "SELECT count(*) FROM slipring.lease").await;
    let generation =
        async || one(&worker, "SELECT pg_sequence_last_value('slipring.journal')").await;
    let begun = generation().await;
    let (mut ended, mut back, mut steps) = (0, 0, 0);
    let rotations = async {
        // Whatever the old generations had is gone then.
        while generation().await < begun + 3 {
            let before = rows().await;
            rotation_step(&worker, "journal", at(1)).await;
            let copied = rows().await - before;
            assert!(copied <= STEP, "{copied} leases in one step");
            if copied > 0 {
                steps += 1;
                // Some that were copied, and some that were not.
                for place in [ended, SERVERS / 2 + ended] {
                    ack_all(&store, q, &held[place..=place], at(1)).await;
                    extend(&store, q, &[held[place + 700].receipt], 60, at(1)).await[0]
                        .as_ref()
                        .unwrap();
                    let nack = Settlement::Nack {
                        delay: Some(Duration::ZERO),
                        priority: None,
                        reason: None,
                    };
                    settle(&store, q, &held[place + 300], nack, at(1)).await.unwrap();
                    back += 1;
                }
                ended += 1;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(120), rotations).await.expect("it gets there");
    assert!(steps >= 6, "{steps} steps copied leases");
    let leased = (SERVERS + USERS) as u64 - 2 * ended as u64 - back;
    assert_eq!(counts(&store, q).await, [100 + back, 0, leased, 0]);
    while counts(&store, q).await[2] > 0 {
        store.expire(FAR).await.unwrap();
    }
    let mut left: Vec<usize> =
        drain(&store, q).await.iter().map(|body| body.parse().unwrap()).collect();
    left.sort_unstable();
    let acked: Vec<usize> = (0..ended)
        .flat_map(|n| [n, SERVERS / 2 + n])
        .map(|n| std::str::from_utf8(&held[n].message.body).unwrap().parse().unwrap())
        .collect();
    let expected: Vec<usize> = (1..=all).filter(|n| !acked.contains(n)).collect();
    assert_eq!(left, expected);
}
