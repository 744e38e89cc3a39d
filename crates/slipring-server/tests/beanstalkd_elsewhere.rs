//! What other servers on the store have just done to the queues behind tubes.

// Helpers of tests may fail like tests.
#![allow(clippy::unwrap_used, clippy::panic)]

mod beanstalkd_client;

use std::sync::Arc;
use std::time::Duration;

use beanstalkd_client::TestServer;
use beanstalkd_client::running::{Serves, shared_store};
use slipring::{AdminStore, Clock, QueueName, QueueSettings};
use slipring_conformance::fault::{Fault, FaultyStore, Verb};
use slipring_server::beanstalkd::Server;
use tempfile::TempDir;

fn start() -> (TempDir, Arc<FaultyStore>, TestServer) {
    let (folder, store) = shared_store();
    let server = TestServer::start_over(Arc::clone(&store) as _, <Server as Serves>::patient());
    (folder, store, server)
}

/// Puts a job into a tube, so that this server has a queue for it.
fn put(server: &TestServer, tube: &str) {
    let mut client = server.connect();
    client.send(format!("use {tube}\r\nput 0 0 60 1\r\na\r\n"));
    client.expect(format!("USING {tube}\r\nINSERTED "));
    client.line();
    drop(client);
    server.wait_for_stat("current-producers", |count| count == 0);
}

#[test]
fn a_reserve_does_not_ask_a_queue_that_was_deleted_elsewhere_again_and_again() {
    let (_folder, store, server) = start();
    put(&server, "default");
    server.delete_elsewhere(&store, "default");
    let before = store.calls(Verb::Claim);
    let mut client = server.connect();
    assert_eq!(client.ask("reserve-with-timeout 0"), "TIMED_OUT");
    assert!(store.calls(Verb::Claim) <= before + 2);
    // One who waits is given the first job of the next queue.
    put(&server, "default");
    client.send("reserve\r\n");
    client.expect("RESERVED ");
    client.line();
    client.expect("a\r\n");
    server.delete_elsewhere(&store, "default");
    client.send("reserve\r\n");
    server.wait_for_stat("current-waiting", |count| count == 1);
    put(&server, "default");
    client.expect("RESERVED ");
}

#[test]
fn a_tube_whose_queue_was_deleted_elsewhere_is_empty_or_gone() {
    let (_folder, store, server) = start();
    let mut client = server.connect();
    assert_eq!(client.ask("use used"), "USING used");
    for (command, tube, reply) in [
        ("kick 10", "used", "KICKED 0"),
        ("peek-ready", "used", "NOT_FOUND"),
        ("peek-delayed", "used", "NOT_FOUND"),
        ("peek-buried", "used", "NOT_FOUND"),
        ("pause-tube used 0", "used", "PAUSED"),
        ("pause-tube left 0", "left", "NOT_FOUND"),
        ("stats-tube left", "left", "NOT_FOUND"),
    ] {
        put(&server, tube);
        server.delete_elsewhere(&store, tube);
        assert_eq!(client.ask(command), reply, "{command}");
    }
    put(&server, "used");
    server.delete_elsewhere(&store, "used");
    let stats = client.yaml("stats-tube used");
    assert!(stats.contains(&("current-jobs-ready".to_owned(), "0".to_owned())), "{stats:?}");
}

#[test]
fn a_job_whose_queue_was_deleted_elsewhere_is_not_found() {
    let (_folder, store, server) = start();
    let mut client = server.connect();
    for command in ["touch ID", "release ID 0 0", "bury ID 0", "delete ID"] {
        put(&server, "default");
        client.send("reserve\r\n");
        client.expect("RESERVED ");
        let line = String::from_utf8(client.line()).unwrap();
        client.expect("a\r\n");
        let id = line.split(' ').next().unwrap();
        server.delete_elsewhere(&store, "default");
        assert_eq!(client.ask(&command.replace("ID", id)), "NOT_FOUND", "{command}");
    }
}

#[test]
fn a_put_whose_queue_was_made_and_deleted_elsewhere_is_to_be_tried_again() {
    let (_folder, store, server) = start();
    let settings = QueueSettings { delay: Duration::from_secs(1), ..QueueSettings::default() };
    let name = QueueName::new("t").unwrap();
    let made = store.create_queue(&name, &settings, server.clock.now());
    let (queue, _) = server.runtime.block_on(made).unwrap();
    // The put is told that there is such a queue, and then looks for it.
    store.plan(Verb::QueueChanges, 1, Fault::Hang);
    let mut client = server.connect();
    client.send("use t\r\nput 0 0 60 1\r\na\r\n");
    server.runtime.block_on(async {
        store.hanging(1).await;
        store.delete_queue(queue.id).await.unwrap();
    });
    store.release();
    client.expect("USING t\r\nOUT_OF_MEMORY\r\n");
    client.send("put 0 0 60 1\r\na\r\n");
    client.expect("INSERTED ");
}
