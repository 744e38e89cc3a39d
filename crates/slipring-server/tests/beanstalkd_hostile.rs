//! Clients that mean no good, or cannot do better: the server lives on, serves the others, and
//! keeps its memory.

// Helpers of tests may fail like tests.
#![allow(clippy::unwrap_used, clippy::panic)]

mod beanstalkd_client;

use std::io::{ErrorKind, Write};
use std::time::Duration;

use beanstalkd_client::{Client, TestServer, connect};
use slipring_server::beanstalkd::Settings;

fn is_well(server: &TestServer) {
    let mut client = server.connect();
    client
        .send("use check\r\nwatch check\r\nignore default\r\nput 0 0 60 4\r\nwell\r\nreserve\r\n");
    client.expect("USING check\r\nWATCHING 2\r\nWATCHING 1\r\n");
    let inserted = String::from_utf8(client.line()).unwrap();
    let id = inserted.trim_end().strip_prefix("INSERTED ").unwrap().to_string();
    client.expect(format!("RESERVED {id} 4\r\nwell\r\n"));
    assert_eq!(client.ask(&format!("delete {id}")), "DELETED");
}

#[test]
fn a_connection_over_the_limit_is_told_so_and_closed() {
    let server = TestServer::start_with(Settings { connections_max: 2, ..Settings::default() });
    let mut first = server.connect();
    let mut second = server.connect();
    assert_eq!(first.ask("list-tube-used"), "USING default");
    assert_eq!(second.ask("list-tube-used"), "USING default");
    let mut third = server.connect();
    third.expect("OUT_OF_MEMORY\r\n");
    third.expect_end();
    drop(second);
    // The place of one that left is free, as soon as the server has noticed.
    let mut tries = 0..10_000;
    assert!(tries.any(|_| server.server.connections() < 2 || {
        std::thread::yield_now();
        false
    }));
    assert_eq!(server.connect().ask("list-tube-used"), "USING default");
}

#[test]
fn what_a_browser_sends_is_answered_once_and_not_obeyed() {
    // S16.1
    let server = TestServer::start();
    let long = "x".repeat(500);
    let too_long = format!("POST /{long} HTTP/1.1");
    let head = "host: localhost:11300\r\ncontent-type: text/plain\r\n\r\n";
    // Neither the URL nor the host is short enough to be looked at.
    let long_head = format!("Host: {long}.example\r\n\r\n");
    for (first, head, answer) in [
        ("POST / HTTP/1.1", head, "UNKNOWN_COMMAND\r\n"),
        ("PROPFIND / HTTP/1.1", head, "UNKNOWN_COMMAND\r\n"),
        ("\u{16}\u{3}\u{1} hello", head, "UNKNOWN_COMMAND\r\n"),
        (&*too_long, head, "BAD_FORMAT\r\n"),
        (&*too_long, &*long_head, "BAD_FORMAT\r\n"),
    ] {
        let mut client = server.connect();
        client.send(format!("{first}\r\n{head}use evil\r\nput 0 0 60 4\r\nevil\r\n"));
        client.expect(answer);
        client.expect_end();
    }
    assert_eq!(server.connect().ask("stats-tube evil"), "NOT_FOUND");
    // Its words in other places are nothing special, nor are long lines behind a command.
    assert_eq!(server.connect().ask("GET"), "UNKNOWN_COMMAND");
    let mut client = server.connect();
    client.send("GET me\r\nput 0 0 60 17\r\nGET / HTTP/1.1\r\n.\r\n");
    client.expect("UNKNOWN_COMMAND\r\nINSERTED 1\r\n");
    client.send(format!("{long}\r\nlist-tube-used\r\n"));
    client.expect("BAD_FORMAT\r\nUSING default\r\n");
}

#[test]
fn a_connection_watches_a_thousand_tubes_and_no_more() {
    let server = TestServer::start();
    let mut client = server.connect();
    for tube in 2..=1000 {
        assert_eq!(client.ask(&format!("watch t{tube}")), format!("WATCHING {tube}"));
    }
    assert_eq!(client.ask("watch one-more"), "OUT_OF_MEMORY");
    assert_eq!(client.ask("watch t7"), "WATCHING 1000");
    assert_eq!(client.ask("ignore t7"), "WATCHING 999");
    assert_eq!(client.ask("watch one-more"), "WATCHING 1000");
}

#[test]
fn hundreds_of_connections_with_half_a_command_leave_room_for_work() {
    let server = TestServer::start();
    let mut idle: Vec<_> = (0..400).map(|_| connect(server.address)).collect();
    for stream in &mut idle {
        stream.write_all(b"put 0 0 60 60000\r\nhalf a bo").unwrap();
    }
    is_well(&server);
    drop(idle);
    server.wait_for_stat("current-connections", |count| count == 1);
    let stats = server.connect().yaml("stats");
    let jobs = stats.iter().find(|(key, _)| key == "current-jobs-ready").unwrap();
    assert_eq!(jobs.1, "0", "half a body is no job");
}

#[test]
fn commands_that_come_byte_by_byte_are_answered() {
    let server = TestServer::start();
    let mut clients: Vec<_> = (0..20).map(|_| server.connect()).collect();
    let text = b"use slow\r\nput 0 0 60 5\r\nhello\r\nlist-tube-used\r\n";
    for byte in text {
        for client in &mut clients {
            client.send([*byte]);
        }
    }
    for client in &mut clients {
        client.expect("USING slow\r\n");
        assert!(client.line().starts_with(b"INSERTED "));
        client.expect("USING slow\r\n");
    }
}

#[test]
fn garbage_is_refused_line_by_line() {
    let server = TestServer::start();
    let mut client = server.connect();
    assert_eq!(client.ask("list-tube-used"), "USING default");
    let mut state: u32 = 1;
    for _ in 0..200 {
        // Lines of any bytes but the first letters of commands.
        let line: Vec<u8> = (0..300)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 24) as u8 | 0x80
            })
            .collect();
        client.send(&line[..100]);
        client.send(b"\r\n");
        client.expect("UNKNOWN_COMMAND\r\n");
        client.send(&line);
        client.send(b"\r\n");
        client.expect("BAD_FORMAT\r\n");
    }
    is_well(&server);
}

#[test]
fn a_client_that_never_reads_is_not_read_from_for_ever() {
    let server = TestServer::start();
    let mut stream = connect(server.address);
    stream.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
    let flood = "list-tubes-watched\r\n".repeat(5000);
    let mut sent = 0;
    let stuck = loop {
        match stream.write(flood.as_bytes()) {
            Ok(count) => sent += count,
            Err(error) => break error,
        }
        assert!(sent < 200 << 20, "the server goes on reading and buffers the replies");
    };
    assert!(matches!(stuck.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{stuck}");
    is_well(&server);
    // When it reads at last, it gets what it is owed.
    Client::new(stream).expect("OK 14\r\n---\n- default\n\r\nOK 14\r\n");
}

#[test]
fn large_bodies_beyond_the_room_for_them_are_refused_and_skipped() {
    // S12.3
    // Room for one body.
    let settings = Settings { arriving_bytes_max: 1, ..Settings::default() };
    let server = TestServer::start_with(settings);
    // One that has read much reads more at a time, and a body that comes at once is never half.
    let put = || {
        let mut other = server.connect();
        other.send("put 0 0 60 65535\r\n");
        other.send("list-tube-used\r\n".repeat(4095));
        other.send("x".repeat(65535 - 16 * 4095));
        other.send("\r\n");
        let refused = other.line() == b"OUT_OF_MEMORY\r\n";
        assert_eq!(other.ask("list-tube-used"), "USING default");
        refused
    };
    let beside_a_slow_one = || {
        let mut slow = server.connect();
        slow.send(format!("put 0 0 60 65535\r\n{}", "x".repeat(65_000)));
        // Whose bytes come first has the room; a body that comes at once needs none.
        let refused = (0..20).filter(|_| put()).count();
        slow.send("x".repeat(535));
        slow.send("\r\n");
        refused > 0 && slow.line().starts_with(b"INSERTED ")
    };
    assert!((0..100).any(|_| beside_a_slow_one()), "there is room for both, or for neither");
    is_well(&server);
}

#[test]
fn one_who_does_not_read_keeps_no_small_answer_and_no_wait_from_others() {
    // S12.6: answers have 64 MiB, and a job might weigh as much.
    const BODY_BYTES: usize = 24 << 20;
    let settings = Settings { job_bytes_max: 64 << 20, ..Settings::default() };
    let server = TestServer::start_with(settings);
    let mut slow = server.connect();
    slow.send(format!("put 0 0 60 {BODY_BYTES}\r\n{}\r\n", "x".repeat(BODY_BYTES)));
    slow.expect("INSERTED 1\r\n");
    slow.send("reserve\r\n");
    slow.expect(format!("RESERVED 1 {BODY_BYTES}\r\n"));
    let mut client = server.connect();
    client.send("put 0 0 60 1\r\na\r\n");
    client.expect("INSERTED 2\r\n");
    for command in ["peek 2", "peek-ready", "reserve-job 2"] {
        client.send(format!("{command}\r\n"));
        let word = if command.starts_with("peek") { "FOUND" } else { "RESERVED" };
        client.expect(format!("{word} 2 1\r\na\r\n"));
    }
    client.send("release 2 0 0\r\nreserve\r\n");
    client.expect("RELEASED\r\nRESERVED 2 1\r\na\r\n");
}

#[test]
fn a_long_list_waits_for_its_room() {
    // S12.6
    const BODY_BYTES: usize = (64 << 20) - (64 << 10);
    let settings = Settings { job_bytes_max: 64 << 20, ..Settings::default() };
    let server = TestServer::start_with(settings);
    let mut client = server.connect();
    for tube in 0..999 {
        assert!(client.ask(&format!("watch {tube:0>200}")).starts_with("WATCHING"));
    }
    let mut slow = server.connect();
    slow.send(format!("put 0 0 60 {BODY_BYTES}\r\n{}\r\n", "x".repeat(BODY_BYTES)));
    slow.expect("INSERTED 1\r\n");
    for command in ["list-tubes-watched", "list-tubes"] {
        slow.send("reserve\r\n");
        slow.expect(format!("RESERVED 1 {BODY_BYTES}\r\n"));
        client.send(format!("use t\r\n{command}\r\n"));
        client.expect("USING t\r\n");
        assert!(client.has_no_more(), "{command} did not wait");
        // When the other one has read there is room.
        slow.bytes(BODY_BYTES + 2);
        assert!(client.text().len() > 200_000);
        slow.send("release 1 0 0\r\n");
        slow.expect("RELEASED\r\n");
    }
}

#[test]
fn binary_bodies_and_bodies_of_commands_stay_bodies() {
    let server = TestServer::start();
    let mut client = server.connect();
    let bodies: [Vec<u8>; 4] =
        [(0..=255).collect(), b"delete 1\r\nquit\r\n".to_vec(), vec![0; 1000], Vec::new()];
    for (n, body) in bodies.iter().enumerate() {
        client.send(format!("put 0 0 60 {}\r\n", body.len()));
        client.send(body);
        client.send("\r\nreserve\r\n");
        let id = n + 1;
        client.expect(format!("INSERTED {id}\r\nRESERVED {id} {}\r\n", body.len()));
        client.expect(body);
        client.expect("\r\n");
    }
}
