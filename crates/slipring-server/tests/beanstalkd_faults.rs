//! What clients are told and given while the store fails.

// Helpers of tests may fail like tests.
#![allow(clippy::unwrap_used, clippy::panic)]

mod beanstalkd_client;

use std::sync::Arc;
use std::time::Duration;

use beanstalkd_client::TestServer;
use beanstalkd_client::running::{Serves, until};
use slipring::stores::MemoryStore;
use slipring::{ErrorKind, Fence, Limits, MessageId, QueueSettings, Receipt};
use slipring_conformance::fault::{Fault, FaultyStore, Verb};
use slipring_server::beanstalkd::Server;

/// A server over a store with faults.
fn start() -> (Arc<FaultyStore>, TestServer) {
    let store = FaultyStore::new(MemoryStore::shared());
    let server = TestServer::start_over(Arc::clone(&store) as _, <Server as Serves>::patient());
    (store, server)
}

/// A connection that holds job 1, whose time to run does not end in a test, is closed while the
/// store fails so often.
fn close_while_the_store_fails(store: &FaultyStore, server: &TestServer, faults: &[Fault]) {
    let mut holder = server.connect();
    holder.send("put 0 0 4294967295 1\r\na\r\nreserve\r\n");
    holder.expect("INSERTED 1\r\nRESERVED 1 1\r\na\r\n");
    for (nth, fault) in (1..).zip(faults) {
        store.plan(Verb::Settle, nth, *fault);
    }
    drop(holder);
    until(|| store.calls(Verb::Settle) > 0);
}

#[test]
fn the_jobs_of_a_closed_connection_are_ready_when_the_store_answers_again() {
    let (store, server) = start();
    let faults = [Fault::Before, Fault::Before];
    close_while_the_store_fails(&store, &server, &faults);
    server.wait_for_stat("current-connections", |count| count == 1);
    let mut other = server.connect();
    assert_eq!(other.ask("reserve-with-timeout 0"), "TIMED_OUT");
    other.send("reserve\r\n");
    until(|| {
        server.clock.advance(Duration::from_millis(100));
        store.calls(Verb::Settle) > faults.len() as u64
    });
    other.expect("RESERVED 1 1\r\na\r\n");
}

#[test]
fn a_job_that_was_given_back_without_an_answer_is_not_given_back_again() {
    let (store, server) = start();
    close_while_the_store_fails(&store, &server, &[Fault::After]);
    let mut other = server.connect();
    other.send("reserve\r\n");
    other.expect("RESERVED 1 1\r\na\r\n");
    until(|| {
        server.clock.advance(Duration::from_millis(100));
        store.calls(Verb::Settle) > 1
    });
    assert_eq!(other.ask("delete 1"), "DELETED");
}

#[test]
fn a_server_that_stops_does_not_wait_for_a_store_that_fails() {
    let (store, mut server) = start();
    close_while_the_store_fails(&store, &server, &[Fault::Before; 3]);
    server.wait_for_stat("current-connections", |count| count == 1);
    server.stop();
    assert!(store.calls(Verb::Settle) < 4);
}

#[test]
fn a_touch_says_that_the_store_failed_and_not_that_the_job_is_gone() {
    let (store, server) = start();
    let mut client = server.connect();
    for (id, tube) in [(1, "a"), (2, "b")] {
        client.send(format!("use {tube}\r\nwatch {tube}\r\nput 0 0 60 1\r\na\r\nreserve\r\n"));
        client.expect(format!("USING {tube}\r\nWATCHING {}\r\n", id + 1));
        client.expect(format!("INSERTED {id}\r\nRESERVED {id} 1\r\na\r\n"));
    }
    // The touches of another tube have answers of their own.
    store.plan(Verb::Extend, 1, Fault::Before);
    client.send("touch 1\r\ntouch 2\r\ntouch 3\r\n");
    client.expect("OUT_OF_MEMORY\r\nTOUCHED\r\nNOT_FOUND\r\n");
    store.plan(Verb::Extend, 1, Fault::After);
    assert_eq!(client.ask("touch 1"), "INTERNAL_ERROR");
    assert_eq!(client.ask("touch 1"), "TOUCHED");
}

#[test]
fn a_list_without_all_tubes_is_no_answer_and_their_counters_go_on() {
    let (store, server) = start();
    for (id, tube) in [(1, "a"), (2, "b")] {
        let mut client = server.connect();
        client.send(format!("use {tube}\r\nput 0 0 60 1\r\na\r\n"));
        client.expect(format!("USING {tube}\r\nINSERTED {id}\r\n"));
    }
    server.wait_for_stat("current-connections", |count| count == 1);
    let mut client = server.connect();
    for command in ["stats", "list-tubes"] {
        store.plan(Verb::Stats, 1, Fault::Before);
        assert_eq!(client.ask(command), "OUT_OF_MEMORY");
    }
    client.send("list-tubes\r\n");
    assert_eq!(client.text(), "---\n- default\n- a\n- b\n");
    let stats = client.yaml("stats-tube a");
    assert!(stats.contains(&("total-jobs".to_owned(), "1".to_owned())), "{stats:?}");
}

#[test]
fn a_put_that_finds_no_queue_and_no_room_for_one_fails_alone() {
    let store = FaultyStore::with_calls_of(MemoryStore::shared(), Some(1));
    let limits = Limits { queues_max: 1, ..Limits::default() };
    let patient = <Server as Serves>::patient();
    let server = TestServer::start_within(Arc::clone(&store) as _, patient, limits);
    store.plan(Verb::Append, 2, Fault::Hang);
    let mut client = server.connect();
    client.send("put 0 0 60 1\r\na\r\nput 0 0 60 1\r\nb\r\n");
    server.runtime.block_on(async {
        store.hanging(1).await;
        let queue = server.engine.queue("default").await.unwrap();
        server.engine.delete_queue(&queue).await.unwrap();
        server.engine.create_queue("other", QueueSettings::default()).await.unwrap();
    });
    store.release();
    client.expect("INSERTED 1\r\nOUT_OF_MEMORY\r\n");
    let stats = client.yaml("stats");
    assert!(stats.contains(&("total-jobs".to_owned(), "1".to_owned())), "{stats:?}");
}

#[test]
fn no_body_is_read_to_delete_or_to_kick_a_job() {
    let (store, server) = start();
    let mut client = server.connect();
    client.send("put 0 0 60 1\r\na\r\nput 0 60 60 1\r\nb\r\ndelete 1\r\nkick-job 2\r\n");
    client.expect("INSERTED 1\r\nINSERTED 2\r\nDELETED\r\nKICKED\r\n");
    client.send("delete 1\r\nkick-job 1\r\nkick-job 2\r\n");
    client.expect("NOT_FOUND\r\nNOT_FOUND\r\nNOT_FOUND\r\n");
    assert_eq!(store.calls(Verb::Lookup), 0);
    let stats = client.yaml("stats-job 2");
    assert!(stats.contains(&("kicks".to_owned(), "1".to_owned())), "{stats:?}");
    let stats = client.yaml("stats-tube default");
    assert!(stats.contains(&("cmd-delete".to_owned(), "1".to_owned())), "{stats:?}");
}

#[test]
fn a_touch_while_the_engine_closes_ends_the_connection_as_other_commands_do() {
    let (store, server) = start();
    let mut client = server.connect();
    client.send("put 0 0 60 1\r\na\r\nreserve\r\n");
    client.expect("INSERTED 1\r\nRESERVED 1 1\r\na\r\n");
    // While a send is under way the engine refuses new calls, and still knows its queues.
    store.plan(Verb::Append, 1, Fault::Hang);
    let mut sending = server.connect();
    sending.send("put 0 0 60 1\r\nb\r\n");
    server.runtime.block_on(store.hanging(1));
    let engine = server.engine.clone();
    let closing = server.runtime.spawn(async move { engine.shutdown().await });
    let queue = server.runtime.block_on(server.engine.queue("default")).unwrap();
    let receipt = Receipt { queue: queue.id(), message: MessageId(99), fence: Fence(1) };
    until(|| {
        let extended = server.runtime.block_on(queue.extend(vec![(receipt, None)]));
        extended.is_err_and(|error| error.kind() == ErrorKind::Closed)
    });
    client.send("touch 1\r\n");
    client.expect_end();
    store.release();
    server.runtime.block_on(closing).unwrap();
}
