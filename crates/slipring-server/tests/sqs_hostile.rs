//! Bad input over SQS: what is malformed, too large, too slow, too much or forged gets an error,
//! and the server lives on.

#![allow(clippy::unwrap_used, clippy::panic)]

mod sqs_client;

use std::io::Read;
use std::time::Duration;

use serde_json::json;
use slipring_server::sqs::Settings;
use sqs_client::{Client, TestServer, until};

/// The server still does its work, on a new connection.
fn works(server: &TestServer) {
    let mut client = server.connect();
    let url = client.create("still-there", json!({}));
    client.put(&url, "m");
    let got = client.receive(&url);
    assert_eq!(got.len(), 1);
    let handle = &got[0]["ReceiptHandle"];
    client.ok("DeleteMessage", json!({ "QueueUrl": url, "ReceiptHandle": handle }));
}

#[test]
fn a_body_that_is_too_large_is_refused_and_read_away() {
    let server = TestServer::start();
    let mut client = server.connect();
    let headers = "X-Amz-Target: AmazonSQS.SendMessage\r\n";
    client.ask("POST", "/", headers, &vec![b'x'; (8 << 20) + 1]);
    let reply = client.reply();
    assert_eq!((reply.status, reply.code().as_str()), (413, "RequestEntityTooLarge"));
    let mut client = server.connect();
    client.send("POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
    let piece = vec![b'x'; 1 << 20];
    for _ in 0..9 {
        client.send("100000\r\n");
        client.send(&piece);
        client.send("\r\n");
    }
    client.send("0\r\n\r\n");
    let reply = client.reply();
    assert_eq!(reply.status, 413);
    assert!(reply.text().contains("<Code>RequestEntityTooLarge</Code>"), "{}", reply.text());
    works(&server);
}

#[test]
fn a_message_that_is_too_large_is_refused_by_name() {
    let server = TestServer::start();
    let mut client = server.connect();
    let url = client.create("q", json!({}));
    let message = |bytes: usize| json!({ "QueueUrl": url, "MessageBody": "x".repeat(bytes) });
    assert_eq!(client.refused("SendMessage", message((1 << 20) + 1)), "InvalidParameterValue");
    client.ok("SendMessage", message(1 << 20));
    // Every character escaped, in both protocols.
    let escaped =
        format!("{{\"QueueUrl\":\"{url}\",\"MessageBody\":\"{}\"}}", "\\u000a".repeat(1 << 20));
    client.ask("POST", "/", "X-Amz-Target: AmazonSQS.SendMessage\r\n", escaped.as_bytes());
    assert_eq!(client.reply().status, 200);
    let form = format!("Action=SendMessage&QueueUrl=q&MessageBody={}", "%0A".repeat(1 << 20));
    assert_eq!(client.query("/", &form).status, 200);
    let attributes = json!({ "a": { "DataType": "String", "StringValue": "\"".repeat(1 << 20) } });
    let all = json!({ "QueueUrl": url, "MessageBody": "x", "MessageAttributes": attributes });
    assert_eq!(client.refused("SendMessage", all), "InvalidParameterValue");
    let attributes =
        json!({ "a": { "DataType": "String", "StringValue": "\"".repeat((1 << 20) - 8) } });
    let all = json!({ "QueueUrl": url, "MessageBody": "x", "MessageAttributes": attributes });
    client.ok("SendMessage", all);
}

#[test]
fn a_body_that_never_arrives_is_given_up() {
    let server = TestServer::start();
    let mut slow = server.connect();
    slow.send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nA");
    works(&server);
    // The clock is moved again until the server has begun to wait for the body.
    slow.stream.get_ref().set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let mut answer = [0; 16];
    until(|| {
        server.clock.advance(Duration::from_secs(61));
        matches!(slow.stream.read(&mut answer), Ok(bytes) if bytes > 12)
    });
    assert!(answer.starts_with(b"HTTP/1.1 408"), "{}", answer.escape_ascii());
    works(&server);
}

#[test]
fn a_truncated_body_does_nothing() {
    let server = TestServer::start();
    let mut client = server.connect();
    client.send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n");
    client.send("Action=CreateQueue&QueueName=half");
    drop(client);
    works(&server);
    let listed = server.connect().ok("ListQueues", json!({ "QueueNamePrefix": "half" }));
    assert_eq!(listed, json!({}));
}

#[test]
fn garbage_gets_an_error_or_an_end() {
    let server = TestServer::start();
    for garbage in [
        b"\0\x01\x02\xff\xfe\r\n\r\n".as_slice(),
        b"GET\r\n\r\n",
        b"POST / HTTP/9.9\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"put 0 0 60 5\r\nhello\r\n",
    ] {
        let mut client = server.connect();
        client.send(garbage);
        let mut answer = Vec::new();
        // A reset is an end too.
        let _ = client.stream.read_to_end(&mut answer);
        let shown = answer.escape_ascii().to_string();
        assert!(answer.is_empty() || shown.starts_with("HTTP/1.1 4"), "{shown}");
    }
    works(&server);
}

#[test]
fn requests_in_a_row_are_answered_in_a_row() {
    let server = TestServer::start();
    let mut client = server.connect();
    let ask = |action: &str| format!("GET /?Action={action} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    client.send((ask("ListQueues") + &ask("No")).repeat(50));
    for _ in 0..50 {
        assert_eq!(client.reply().status, 200);
        assert_eq!(client.reply().status, 400);
    }
}

#[test]
fn a_connection_beyond_the_limit_is_told_so() {
    let settings = Settings { connections_max: 2, ..Settings::default() };
    let server = TestServer::start_with(settings);
    let mut first = server.connect();
    let mut second = server.connect();
    first.ok("ListQueues", json!({}));
    second.ok("ListQueues", json!({}));
    let mut third = server.connect();
    let reply = third.reply();
    assert_eq!((reply.status, reply.code().as_str()), (503, "ServiceUnavailable"));
    assert!(reply.json()["message"].is_string());
    drop(first);
    until(|| {
        let mut client = Client::new(server.address);
        client.start("ListQueues", &json!({}));
        client.reply().status == 200
    });
}

#[test]
fn handles_that_are_forged_altered_or_of_another_queue_are_refused() {
    // S3.6, S16.2
    let server = TestServer::start();
    let mut client = server.connect();
    let url = client.create("q", json!({}));
    let other = client.create("other", json!({}));
    client.put(&url, "m");
    let got = client.receive(&url);
    let handle = got[0]["ReceiptHandle"].as_str().unwrap().to_string();
    let mut delete = |url: &str, handle: &str| {
        client.refused("DeleteMessage", json!({ "QueueUrl": url, "ReceiptHandle": handle }))
    };
    for at in 0..handle.len() {
        let mut altered = handle.clone().into_bytes();
        altered[at] = if altered[at] == b'A' { b'B' } else { b'A' };
        let altered = String::from_utf8(altered).unwrap();
        assert_eq!(delete(&url, &altered), "ReceiptHandleIsInvalid");
    }
    let long = "A".repeat(100_000);
    for forged in ["x", "ü", "00000000000", "ü0000000000", &handle[1..], &long] {
        assert_eq!(delete(&url, forged), "ReceiptHandleIsInvalid", "{forged}");
    }
    assert_eq!(delete(&other, &handle), "ReceiptHandleIsInvalid");
    client.ok("DeleteMessage", json!({ "QueueUrl": url, "ReceiptHandle": handle }));
}

#[test]
fn queue_urls_that_name_no_queue_are_refused() {
    let server = TestServer::start();
    let mut client = server.connect();
    for url in ["/", "http://h", "http://h/1/none", "a b", "%ff", &"x".repeat(100_000), "../../q"] {
        let code = client.refused("PurgeQueue", json!({ "QueueUrl": url }));
        assert_eq!(code, "AWS.SimpleQueueService.NonExistentQueue");
    }
    assert_eq!(client.refused("PurgeQueue", json!({})), "MissingParameter");
}
