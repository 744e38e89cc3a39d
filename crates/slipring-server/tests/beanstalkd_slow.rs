//! Clients that take their time over beanstalkd: who announces much and sends nothing takes nothing
//! from others, and who is late is let go.

#![allow(clippy::unwrap_used, clippy::panic)]

mod beanstalkd_client;

use std::net::Shutdown;
use std::time::Duration;

use beanstalkd_client::TestServer;
use beanstalkd_client::running::{is_closed, until};
use slipring_server::beanstalkd::Settings;

#[test]
fn silence_and_half_a_command_end_a_beanstalkd_connection() {
    // S12.5
    let server = TestServer::start_with(Settings::default());
    let mut idle = server.connect();
    assert_eq!(idle.ask("list-tube-used"), "USING default");
    let mut holder = server.connect();
    holder.send("put 0 0 36000 1\r\na\r\nreserve\r\n");
    holder.expect("INSERTED 1\r\nRESERVED 1 1\r\na\r\n");
    let mut waiting = server.connect();
    waiting.send("reserve\r\n");
    server.wait_for_stat("current-waiting", |count| count == 1);
    let mut half = [server.connect(), server.connect()];
    half[0].send("list-tube");
    half[1].send("put 0 0 60 60000\r\nhalf a bo");
    for client in &mut half {
        until(|| {
            server.clock.advance(Duration::from_millis(100));
            is_closed(&mut client.stream)
        });
    }
    for client in [&mut idle, &mut holder, &mut waiting] {
        assert!(!is_closed(&mut client.stream));
    }
    until(|| {
        server.clock.advance(Duration::from_secs(60));
        is_closed(&mut idle.stream)
    });
    assert!(!is_closed(&mut holder.stream) && !is_closed(&mut waiting.stream));
}

#[test]
fn a_body_that_keeps_coming_is_taken_though_others_stall() {
    // S12.5
    let settings = Settings { arriving_bytes_max: 1, ..Settings::default() };
    let server = TestServer::start_with(settings);
    let mut stalled: Vec<_> = (0..200).map(|_| server.connect()).collect();
    for client in &mut stalled {
        client.send("put 0 0 60 65535\r\nhalf a bo");
    }
    let mut client = server.connect();
    for number in 1..=20 {
        client.send(format!("put 0 0 60 60000\r\n{}\r\n", "x".repeat(60_000)));
        client.expect(format!("INSERTED {number}\r\n"));
    }
}

#[test]
fn who_waits_for_a_job_keeps_no_room_from_bodies_that_arrive() {
    // S12.5
    let settings = Settings { arriving_bytes_max: 1, ..Settings::default() };
    let server = TestServer::start_with(settings);
    let mut waiting: Vec<_> = (0..4).map(|_| server.connect()).collect();
    for client in &mut waiting {
        client.send("reserve\r\n");
    }
    server.wait_for_stat("current-waiting", |count| count == 4);
    for client in &mut waiting {
        client.send("list-tube-used\r\n".repeat(4000));
    }
    let mut client = server.connect();
    assert_eq!(client.ask("use elsewhere"), "USING elsewhere");
    for number in 1..=20 {
        client.send(format!("put 0 0 60 60000\r\n{}", "x".repeat(40_000)));
        client.send(format!("{}\r\n", "x".repeat(20_000)));
        client.expect(format!("INSERTED {number}\r\n"));
    }
}

#[test]
fn who_waits_for_a_job_keeps_no_turn_from_those_with_many_commands() {
    // S12.4
    let server = TestServer::start();
    let mut waiting: Vec<_> = (0..20).map(|_| server.connect()).collect();
    for client in &mut waiting {
        client.send(format!("{}reserve\r\n", "list-tube-used\r\n".repeat(20)));
    }
    server.wait_for_stat("current-waiting", |count| count == 20);
    let mut many: Vec<_> = (0..20).map(|_| server.connect()).collect();
    for client in &mut many {
        client.send("list-tube-used\r\n".repeat(4_000));
    }
    for client in &mut many {
        client.expect("USING default\r\n".repeat(4_000));
    }
    for client in &mut waiting {
        client.expect("USING default\r\n".repeat(20));
    }
}

#[test]
fn the_silence_of_a_connection_begins_when_its_wait_ends() {
    // S12.5: as long a wait as a connection may be silent.
    let server = TestServer::start_with(Settings::default());
    let mut client = server.connect();
    client.send("reserve-with-timeout 3600\r\n");
    server.wait_for_stat("current-waiting", |count| count == 1);
    server.clock.advance(Duration::from_secs(3600));
    client.expect("TIMED_OUT\r\n");
    assert_eq!(client.ask("list-tube-used"), "USING default");
    until(|| {
        server.clock.advance(Duration::from_secs(60));
        is_closed(&mut client.stream)
    });
}

#[test]
fn the_silence_of_a_connection_begins_when_its_last_job_has_run_out() {
    // S12.5
    let server = TestServer::start_with(Settings::default());
    let mut client = server.connect();
    client.send("put 0 0 7200 1\r\na\r\nreserve\r\n");
    client.expect("INSERTED 1\r\nRESERVED 1 1\r\na\r\n");
    server.clock.advance(Duration::from_secs(7200));
    server.wait_for_stat("job-timeouts", |count| count == 1);
    assert_eq!(client.ask("list-tube-used"), "USING default");
}

#[test]
fn a_client_that_left_is_noticed_behind_commands_that_are_not_read_yet() {
    let server = TestServer::start();
    for half in [true, false] {
        let mut client = server.connect();
        client.send("reserve\r\n");
        server.wait_for_stat("current-waiting", |count| count == 1);
        client.send("list-tube-used\r\n".repeat(1_000));
        if half {
            client.stream.shutdown(Shutdown::Write).unwrap();
            until(|| {
                server.clock.advance(Duration::from_millis(500));
                let stats = server.connect().yaml("stats");
                stats.contains(&("current-waiting".to_owned(), "0".to_owned()))
            });
            client.expect("TIMED_OUT\r\n");
            client.expect("USING default\r\n".repeat(1_000));
            client.expect_end();
        } else {
            drop(client);
            until(|| {
                server.clock.advance(Duration::from_millis(500));
                server.server.connections() == 0
            });
        }
    }
}
