//! Tubes as such: using, watching and waiting make nothing that lasts, and a connection that waits
//! hears of a queue that is made later, by whomever.

// Helpers of tests may fail like tests.
#![allow(clippy::unwrap_used, clippy::panic)]

mod beanstalkd_client;

use std::sync::Arc;
use std::time::Duration;

use beanstalkd_client::TestServer;
use beanstalkd_client::running::Serves;
use slipring::stores::MemoryStore;
use slipring::{NewMessage, QueueSettings};
use slipring_conformance::fault::{Fault, FaultyStore, Verb};
use slipring_server::beanstalkd::{Server, Settings};

impl TestServer {
    fn queues(&self) -> usize {
        self.runtime.block_on(self.engine.queues()).unwrap().len()
    }

    /// Makes a queue as another protocol does.
    fn make(&self, name: &str, body: Option<&'static str>) {
        self.runtime.block_on(async {
            let queue = self.engine.create_queue(name, QueueSettings::default()).await.unwrap();
            if let Some(body) = body {
                queue.send(NewMessage::new(body)).await.unwrap();
            }
        });
    }
}

#[test]
fn using_watching_and_waiting_make_no_queue() {
    // S12.7
    let server = TestServer::start();
    let mut clients: Vec<_> = (0..5).map(|_| server.connect()).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        for tube in 0..200 {
            client.send(format!("use u{number}-{tube}\r\nwatch w{number}-{tube}\r\n"));
            client.expect(format!("USING u{number}-{tube}\r\nWATCHING {}\r\n", tube + 2));
        }
        assert_eq!(client.ask("reserve-with-timeout 0"), "TIMED_OUT");
        client.send("reserve\r\n");
    }
    server.wait_for_stat("current-waiting", |count| count == 5);
    assert_eq!(server.queues(), 0);
    let stats = server.connect().yaml("stats-tube w0-0");
    assert!(stats.contains(&("current-waiting".to_owned(), "1".to_owned())), "{stats:?}");
    drop(clients);
    server.wait_for_stat("current-connections", |count| count == 1);
    server.wait_for_stat("current-tubes", |count| count == 1);
    assert_eq!(server.connect().ask("stats-tube w0-0"), "NOT_FOUND");
}

#[test]
fn a_tube_is_used_and_watched_also_while_the_store_cannot_answer() {
    // Clients take these two for granted: with a refusal that they do not look at, they would put
    // and reserve in another tube.
    let store = FaultyStore::new(MemoryStore::shared());
    let shared = Arc::clone(&store);
    let server = TestServer::start_over(shared, <Server as Serves>::patient());
    let mut before = server.connect();
    before.send("use a\r\nput 0 0 60 3\r\njob\r\n");
    before.expect("USING a\r\nINSERTED 1\r\n");
    drop(before);
    server.wait_for_stat("current-connections", |count| count == 1);
    // No connection refers to the tube, so the next watch asks the store whether it has jobs.
    store.plan(Verb::Stats, 1, Fault::Before);
    let asked = store.calls(Verb::Stats);
    let mut client = server.connect();
    client.send("watch a\r\nignore default\r\nuse b\r\nuse a\r\n");
    client.expect("WATCHING 2\r\nWATCHING 1\r\nUSING b\r\nUSING a\r\n");
    assert_eq!(store.calls(Verb::Stats), asked + 1);
    client.send("reserve\r\n");
    client.expect("RESERVED 1 3\r\njob\r\n");
    let stats = client.yaml("stats-tube a");
    assert!(stats.contains(&("total-jobs".to_owned(), "1".to_owned())), "{stats:?}");
}

#[test]
fn one_who_waits_is_given_the_first_job_of_a_tube_by_whatever_protocol() {
    let server = TestServer::start();
    let mut waiting: Vec<_> = ["a", "b"]
        .map(|tube| {
            let mut client = server.connect();
            assert_eq!(client.ask(&format!("watch {tube}")), "WATCHING 2");
            client.send("reserve\r\n");
            client
        })
        .into_iter()
        .collect();
    server.wait_for_stat("current-waiting", |count| count == 2);
    server.connect().send("use a\r\nput 0 0 60 5\r\nfirst\r\n");
    waiting[0].expect("RESERVED 1 5\r\nfirst\r\n");
    server.make("b", Some("second"));
    waiting[1].expect("RESERVED 2 6\r\nsecond\r\n");
    // A queue that was there before the reserve.
    let mut late = server.connect();
    assert_eq!(late.ask("watch c"), "WATCHING 2");
    server.make("c", Some("third"));
    late.send("reserve\r\n");
    late.expect("RESERVED 3 5\r\nthird\r\n");
}

#[test]
fn a_reserve_that_does_not_wait_finds_a_tube_that_has_got_its_first_job() {
    // S5.5
    let server = TestServer::start();
    let mut polling = server.connect();
    for tube in ["a", "b", "c", "d"] {
        polling.send(format!("watch {tube}\r\n"));
    }
    polling.expect("WATCHING 2\r\nWATCHING 3\r\nWATCHING 4\r\nWATCHING 5\r\n");
    assert_eq!(polling.ask("reserve-with-timeout 0"), "TIMED_OUT");
    let mut sending = server.connect();
    let mut put = |tube: &str, id: u64| {
        sending.send(format!("use {tube}\r\nput 0 0 60 1\r\n{tube}\r\n"));
        sending.expect(format!("USING {tube}\r\nINSERTED {id}\r\n"));
    };
    put("a", 1);
    polling.send("reserve-with-timeout 0\r\n");
    polling.expect("RESERVED 1 1\r\na\r\n");
    // Beside a tube that has a job.
    put("a", 2);
    put("b", 3);
    polling.send("reserve-with-timeout 0\r\nreserve-with-timeout 0\r\n");
    polling.expect("RESERVED 2 1\r\na\r\nRESERVED 3 1\r\nb\r\n");
    assert_eq!(polling.ask("reserve-with-timeout 0"), "TIMED_OUT");
    server.make("c", Some("c"));
    polling.send("reserve-with-timeout 0\r\n");
    polling.expect("RESERVED 4 1\r\nc\r\n");
    put("d", 5);
    polling.send("reserve-with-timeout 0\r\nreserve-with-timeout 0\r\n");
    polling.expect("RESERVED 5 1\r\nd\r\nTIMED_OUT\r\n");
}

#[test]
fn one_who_was_told_of_a_queue_hears_of_the_next_ones_too() {
    // S2.4, S12.7: told between two receives, and while it waits.
    let server = TestServer::start();
    let tubes: Vec<String> = (0..40).map(|number| format!("t{number}")).collect();
    let mut client = server.connect();
    for (number, tube) in tubes.iter().enumerate() {
        client.send(format!("watch {tube}\r\n"));
        client.expect(format!("WATCHING {}\r\n", number + 2));
    }
    assert_eq!(client.ask("reserve-with-timeout 0"), "TIMED_OUT");
    for (number, pair) in tubes.chunks(2).enumerate() {
        server.make(&pair[0], Some("between"));
        let first = 2 * number + 1;
        client.send("reserve\r\n");
        client.expect(format!("RESERVED {first} 7\r\nbetween\r\n"));
        client.send("reserve\r\n");
        server.wait_for_stat("current-waiting", |count| count == 1);
        server.make(&pair[1], Some("meanwhile"));
        client.expect(format!("RESERVED {} 9\r\nmeanwhile\r\n", first + 1));
    }
}

#[test]
fn a_queue_that_is_made_meanwhile_does_not_prolong_a_wait() {
    let server = TestServer::start();
    let mut client = server.connect();
    assert_eq!(client.ask("watch a"), "WATCHING 2");
    client.send("reserve-with-timeout 5\r\nlist-tube-used\r\n");
    server.wait_for_stat("current-waiting", |count| count == 1);
    server.clock.advance(Duration::from_secs(3));
    server.make("a", None);
    server.make("b", None);
    server.wait_for_stat("current-waiting", |count| count == 1);
    server.clock.advance(Duration::from_secs(2));
    client.expect("TIMED_OUT\r\nUSING default\r\n");
}

#[test]
fn a_tube_that_is_deleted_and_made_again_is_waited_for() {
    let server = TestServer::start();
    server.make("a", None);
    let mut client = server.connect();
    client.send("watch a\r\nignore default\r\nreserve\r\n");
    client.expect("WATCHING 2\r\nWATCHING 1\r\n");
    server.wait_for_stat("current-waiting", |count| count == 1);
    server.runtime.block_on(async {
        let queue = server.engine.queue("a").await.unwrap();
        server.engine.delete_queue(&queue).await.unwrap();
    });
    server.wait_for_stat("current-waiting", |count| count == 1);
    server.make("a", Some("again"));
    client.expect("RESERVED 1 5\r\nagain\r\n");
}

#[test]
fn a_deleted_queue_does_not_hide_the_jobs_of_the_others() {
    // S5.5
    let server = TestServer::start();
    for name in ["a", "b", "c"] {
        server.make(name, None);
    }
    let mut client = server.connect();
    client.send("watch a\r\nwatch b\r\nwatch c\r\nreserve-with-timeout 0\r\n");
    client.expect("WATCHING 2\r\nWATCHING 3\r\nWATCHING 4\r\nTIMED_OUT\r\n");
    server.runtime.block_on(async {
        for name in ["a", "b"] {
            let queue = server.engine.queue(name).await.unwrap();
            server.engine.delete_queue(&queue).await.unwrap();
        }
        let queue = server.engine.queue("c").await.unwrap();
        queue.send(NewMessage::new("ready")).await.unwrap();
    });
    client.send("reserve-with-timeout 0\r\n");
    client.expect("RESERVED 1 5\r\nready\r\n");
}

#[test]
fn tubes_are_limited_per_connection_and_altogether() {
    // S12.7
    let settings = Settings { watched_max: 20, tubes_max: 30, ..Settings::default() };
    let server = TestServer::start_with(settings);
    let mut greedy = [server.connect(), server.connect()];
    for (number, client) in greedy.iter_mut().enumerate() {
        for tube in 2..=20 {
            let answer = client.ask(&format!("watch {number}-{tube}"));
            let crowded = number == 1 && tube > 11;
            if crowded {
                assert_eq!(answer, "OUT_OF_MEMORY", "{number}-{tube}");
            } else {
                assert_eq!(answer, format!("WATCHING {tube}"));
            }
        }
    }
    assert_eq!(greedy[0].ask("watch one-more"), "OUT_OF_MEMORY");
    assert_eq!(greedy[1].ask("watch 0-2"), "WATCHING 12", "one that is known");
    let mut modest = server.connect();
    for tube in 2..=10 {
        assert_eq!(modest.ask(&format!("watch m{tube}")), format!("WATCHING {tube}"));
    }
    modest.send("use m1\r\nput 0 0 60 1\r\na\r\n");
    modest.expect("USING m1\r\nINSERTED 1\r\n");
}

#[test]
fn the_limits_and_policies_of_the_queue_hold_for_the_tube() {
    let server = TestServer::start();
    let settings = QueueSettings {
        max_attempts: Some(1),
        messages_max: Some(1),
        message_bytes_max: 4,
        ..QueueSettings::default()
    };
    let made = server.engine.create_queue("small", settings);
    server.runtime.block_on(made).unwrap();
    let mut client = server.connect();
    client.send("use small\r\nwatch small\r\nput 0 0 60 5\r\nhello\r\nput 0 0 60 4\r\nhell\r\n");
    client.expect("USING small\r\nWATCHING 2\r\nJOB_TOO_BIG\r\nINSERTED 1\r\n");
    client.send("put 0 0 60 4\r\nfull\r\n");
    // S12.2
    client.expect("OUT_OF_MEMORY\r\n");
    // S6.2: its attempts are used up, so it is buried.
    client.send("reserve\r\nrelease 1 0 0\r\n");
    client.expect("RESERVED 1 4\r\nhell\r\nBURIED\r\n");
    let stats = client.yaml("stats-job 1");
    assert!(stats.contains(&("state".to_owned(), "buried".to_owned())), "{stats:?}");
}

#[test]
fn what_is_done_to_a_tube_that_nobody_has_mentioned_is_counted() {
    let server = TestServer::start();
    for (tube, command, key) in
        [("a", "pause-tube a 60", "cmd-pause-tube"), ("b", "delete 3", "cmd-delete")]
    {
        server.make(tube, Some("one"));
        server.runtime.block_on(async {
            let queue = server.engine.queue(tube).await.unwrap();
            queue.send(NewMessage::new("another")).await.unwrap();
        });
        let mut client = server.connect();
        let answer = client.ask(command);
        assert!(["PAUSED", "DELETED"].contains(&&*answer), "{answer}");
        let stats = client.yaml(&format!("stats-tube {tube}"));
        assert!(stats.contains(&(key.to_owned(), "1".to_owned())), "{stats:?}");
    }
}
