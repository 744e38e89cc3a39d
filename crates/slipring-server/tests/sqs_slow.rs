//! Clients that take their time over SQS: who announces much and sends nothing takes nothing
//! from others, and who is late is let go.

#![allow(clippy::unwrap_used, clippy::panic)]

mod sqs_client;

use std::time::Duration;

use serde_json::json;
use slipring_server::sqs::Settings;
use sqs_client::running::is_closed;
use sqs_client::{TestServer, until};

#[test]
fn bodies_that_are_announced_and_do_not_come_take_no_room() {
    // S12.5
    let settings = Settings { arriving_bytes_max: 1, ..Settings::default() };
    let server = TestServer::start_with(settings);
    let mut stalled: Vec<_> = (0..200).map(|_| server.connect()).collect();
    for client in &mut stalled {
        client.send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 8000000\r\n\r\nA");
    }
    let mut client = server.connect();
    let url = client.create("q", json!({}));
    for _ in 0..20 {
        client.put(&url, &"x".repeat(1 << 20));
    }
}

#[test]
fn a_body_that_has_come_in_part_takes_its_room() {
    // S12.3
    let settings = Settings { arriving_bytes_max: 1, ..Settings::default() };
    let server = TestServer::start_with(settings);
    let mut client = server.connect();
    let url = client.create("q", json!({}));
    let in_part = || {
        let mut large = server.connect();
        large.send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 8388608\r\n\r\n");
        large.send(vec![b'x'; 8_300_000]);
        large
    };
    let mut large = in_part();
    let body = json!({ "QueueUrl": url, "MessageBody": "x".repeat(200_000) });
    until(|| {
        // It is refused itself where bytes of the others come before its last ones.
        if is_closed(large.stream.get_mut()) {
            large = in_part();
        }
        // One that is refused loses its connection, for its body is not read.
        let mut client = server.connect();
        client.call("SendMessage", body.clone()).status == 503
    });
    // What is small needs none.
    client.put(&url, "small");
    drop(large);
    until(|| {
        let mut client = server.connect();
        client.call("SendMessage", body.clone()).status == 200
    });
}

#[test]
fn silence_and_half_a_head_end_an_http_connection() {
    // S12.5
    let server = TestServer::start_with(Settings::default());
    let mut idle = server.connect();
    idle.ok("ListQueues", json!({}));
    let mut half = server.connect();
    half.send("POST / HTTP/1.1\r\nHo");
    let mut waiting = server.connect();
    let url = waiting.create("q", json!({}));
    waiting.start("ReceiveMessage", &json!({ "QueueUrl": url, "WaitTimeSeconds": 20 }));
    server.wait_for_waiting("q", 1);
    until(|| {
        server.clock.advance(Duration::from_millis(100));
        is_closed(half.stream.get_mut())
    });
    assert!(!is_closed(idle.stream.get_mut()));
    let mut again = server.connect();
    again.put(&url, "m");
    assert_eq!(waiting.reply().status, 200, "one who waits is not idle");
    until(|| {
        server.clock.advance(Duration::from_secs(1));
        is_closed(idle.stream.get_mut())
    });
}
