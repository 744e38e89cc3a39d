//! Clients that take their time over beanstalkd: who announces much and sends nothing takes nothing
//! from others, and who is late is let go.

#![allow(clippy::unwrap_used, clippy::panic)]

mod beanstalkd_client;

use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::time::Duration;

use beanstalkd_client::TestServer;
use slipring_server::beanstalkd::Settings;

/// Waits until something holds that other threads bring about.
fn until(mut holds: impl FnMut() -> bool) {
    assert!((0..100_000).any(|_| holds()), "it never did");
}

/// Whether the other side has closed, as far as one can see now.
fn is_closed(stream: &mut TcpStream) -> bool {
    stream.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
    match stream.read(&mut [0; 256]) {
        Ok(bytes) => bytes == 0,
        Err(error) => error.kind() == ErrorKind::ConnectionReset,
    }
}

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
