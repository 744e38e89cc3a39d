//! Queues that puts have made go when their tubes are left empty, and no put is lost by that.

// Helpers of tests may fail like tests.
#![allow(clippy::unwrap_used, clippy::panic)]

mod beanstalkd_client;

use std::sync::Arc;
use std::time::Duration;

use beanstalkd_client::TestServer;
use beanstalkd_client::running::{Serves, until};
use slipring::stores::MemoryStore;
use slipring::{Limits, QueueSettings, Store};
use slipring_conformance::fault::{Fault, FaultyStore, Verb};
use slipring_server::beanstalkd::Server;

/// Longer than the server waits between two looks.
const A_LOOK_LATER: Duration = Duration::from_secs(16);

impl TestServer {
    fn over(store: Arc<dyn Store>) -> TestServer {
        TestServer::start_over(store, <Server as Serves>::patient())
    }

    fn names(&self) -> Vec<String> {
        let queues = self.runtime.block_on(self.engine.queues()).unwrap();
        queues.iter().map(|queue| queue.name().to_string()).collect()
    }

    /// Lets the server look until these queues are left, and then once more.
    fn leaves(&self, names: &[&str]) {
        let looked = || {
            self.clock.advance(A_LOOK_LATER);
            self.names() == names
        };
        until(looked);
        until(looked);
    }

    /// A job in a tube, and its end.
    fn use_up(&self, tube: &str) {
        let mut client = self.connect();
        client.send(format!("use {tube}\r\nput 0 0 60 1\r\na\r\n"));
        client.expect(format!("USING {tube}\r\nINSERTED "));
        let id = client.line();
        client.send([b"delete ", id.as_slice()].concat());
        client.expect("DELETED\r\n");
        drop(client);
        self.wait_for_stat("current-connections", |count| count == 1);
    }
}

#[test]
fn the_queue_of_a_tube_that_is_left_empty_goes() {
    // S12.7
    let server = TestServer::over(MemoryStore::shared());
    server.use_up("left");
    let mut client = server.connect();
    client.send("use full\r\nput 0 0 60 1\r\na\r\nuse used\r\nput 0 0 60 1\r\na\r\ndelete 3\r\n");
    client.expect("USING full\r\nINSERTED 2\r\nUSING used\r\nINSERTED 3\r\nDELETED\r\n");
    server.leaves(&["full", "used"]);
    // What was in use goes when it is not any more, and one with a job when that has left.
    assert_eq!(client.ask("delete 2"), "DELETED");
    drop(client);
    server.leaves(&[]);
}

#[test]
fn a_queue_that_somebody_asked_for_stays() {
    // S12.7
    let server = TestServer::over(MemoryStore::shared());
    for tube in ["asked", "set", "plain", "gone"] {
        server.use_up(tube);
    }
    server.runtime.block_on(async {
        let engine = &server.engine;
        let made = engine.create_queue("asked", QueueSettings::default()).await;
        assert_eq!(made.unwrap().info().settings.attributes.len(), 0);
        let accepted = engine.queue_or_create("plain", &QueueSettings::default()).await;
        assert_eq!(accepted.unwrap().info().settings.attributes.len(), 0);
        let set = engine.queue("set").await.unwrap();
        let longer = |settings: &QueueSettings| {
            let delay = Duration::from_secs(1);
            Ok::<_, ()>(QueueSettings { delay, ..settings.clone() })
        };
        set.change(longer).await.unwrap().unwrap();
        engine.create_queue("fresh", QueueSettings::default()).await.unwrap();
    });
    server.leaves(&["asked", "fresh", "plain", "set"]);
}

#[test]
fn queues_that_an_earlier_server_left_empty_go_too() {
    // S12.7
    let store: Arc<dyn Store> = MemoryStore::shared();
    let mut before = TestServer::over(Arc::clone(&store));
    before.use_up("left");
    before.stop();
    assert_eq!(before.names(), ["left"]);
    let server = TestServer::over(store);
    assert_eq!(server.names(), ["left"]);
    server.leaves(&[]);
}

#[test]
fn a_put_that_comes_while_its_queue_goes_is_stored() {
    // S1.1, S12.7
    let store = FaultyStore::new(MemoryStore::shared());
    let server = TestServer::over(Arc::clone(&store) as _);
    server.use_up("t");
    store.plan(Verb::Append, 1, Fault::Hang);
    let mut client = server.connect();
    client.send("use t\r\nput 0 0 60 1\r\nb\r\n");
    server.runtime.block_on(async {
        store.hanging(1).await;
        let queue = server.engine.queue("t").await.unwrap();
        assert!(server.engine.delete_queue_if_empty(&queue).await.unwrap());
    });
    store.release();
    client.expect("USING t\r\nINSERTED 2\r\n");
    assert_eq!(client.ask("watch t"), "WATCHING 2");
    client.send("reserve\r\n");
    client.expect("RESERVED 2 1\r\nb\r\n");
}

#[test]
fn a_put_finds_room_for_its_queue_where_others_are_left_empty() {
    // S12.1, S12.7
    let most = 20;
    let limits = Limits { queues_max: most, ..Limits::default() };
    let patient = <Server as Serves>::patient();
    let server = TestServer::start_within(MemoryStore::shared(), patient, limits);
    server.use_up("left");
    server.runtime.block_on(async {
        for number in 1..most {
            let (name, settings) = (format!("q{number}"), QueueSettings::default());
            server.engine.create_queue(&name, settings).await.unwrap();
        }
    });
    let mut client = server.connect();
    client.send("use new\r\nput 0 0 60 1\r\na\r\n");
    client.expect("USING new\r\nINSERTED 2\r\n");
    client.send("use further\r\nput 0 0 60 1\r\na\r\n");
    client.expect("USING further\r\nOUT_OF_MEMORY\r\n");
}
