//! Jobs that are released at once, over and over, among good ones (S11.1).

// Helpers of tests may fail like tests.
#![allow(clippy::unwrap_used, clippy::panic)]

mod beanstalkd_client;

use std::io::{Read, Write};

use beanstalkd_client::{Client, TestServer};

/// Puts jobs of one letter with a priority; their numbers follow each other.
fn put<S: Read + Write>(client: &mut Client<S>, body: char, priority: u32, count: usize) {
    for _ in 0..count {
        let reply = client.ask(&format!("put {priority} 0 60 1\r\n{body}"));
        assert!(reply.starts_with("INSERTED"), "{reply}");
    }
}

/// Reserves a job: its number and whether it is poison.
fn reserve<S: Read + Write>(client: &mut Client<S>) -> (u64, bool) {
    let reply = client.ask("reserve-with-timeout 0");
    let id = reply.strip_prefix("RESERVED ").and_then(|rest| rest.strip_suffix(" 1"));
    let id = id.and_then(|id| id.parse().ok()).unwrap_or_else(|| panic!("got {reply}"));
    (id, client.line() == b"p\r\n")
}

/// Reserves so many jobs, releases poison at once with a priority and deletes the others; answers
/// how many were poison.
fn work<S: Read + Write>(client: &mut Client<S>, reservations: usize, priority: u32) -> usize {
    let mut poisons = 0;
    for _ in 0..reservations {
        let (id, poison) = reserve(client);
        if poison {
            poisons += 1;
            assert_eq!(client.ask(&format!("release {id} {priority} 0")), "RELEASED");
        } else {
            assert_eq!(client.ask(&format!("delete {id}")), "DELETED");
        }
    }
    poisons
}

#[test]
fn a_released_job_is_reserved_again_at_once_three_times() {
    // S7.2
    let server = TestServer::start();
    let mut client = server.connect();
    put(&mut client, 'p', 1024, 1);
    put(&mut client, 'g', 1024, 3);
    for _ in 0..4 {
        assert_eq!(reserve(&mut client), (1, true));
        assert_eq!(client.ask("release 1 1024 0"), "RELEASED");
    }
    assert_eq!(reserve(&mut client), (2, false));
}

#[test]
fn jobs_that_are_released_at_once_leave_the_others_nine_reservations_of_ten() {
    // S11.1
    for poisons in [1, 10] {
        let server = TestServer::start();
        let mut client = server.connect();
        put(&mut client, 'p', 0, poisons);
        put(&mut client, 'g', 1024, 220);
        assert_eq!(work(&mut client, 4 * poisons, 0), 4 * poisons, "in their place at first");
        assert_eq!(work(&mut client, 200, 0), 2, "one of a hundred, of the best priority too");
    }
}

#[test]
fn a_tube_of_poison_does_not_stop_the_other_tubes_of_its_watchers() {
    // S7.6, S11.1
    let server = TestServer::start();
    let mut client = server.connect();
    put(&mut client, 'p', 0, 1);
    assert_eq!(work(&mut client, 4, 0), 4);
    assert_eq!(client.ask("use good"), "USING good");
    assert_eq!(client.ask("watch good"), "WATCHING 2");
    put(&mut client, 'g', 1024, 250);
    let poisons = work(&mut client, 220, 0);
    assert!((1..=3).contains(&poisons), "{poisons} of 220");
}
