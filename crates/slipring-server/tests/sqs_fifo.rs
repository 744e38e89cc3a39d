//! FIFO queues over SQS: order, groups, deduplication, repeated receives.

#![allow(clippy::unwrap_used, clippy::panic)]

mod sqs_client;

use std::time::Duration;

use serde_json::{Value, json};
use sqs_client::{Client, TestServer};

fn fifo(client: &mut Client, name: &str, more: Value) -> String {
    let mut attributes = json!({ "FifoQueue": "true" });
    for (key, value) in more.as_object().unwrap() {
        attributes[key] = value.clone();
    }
    client.create(name, attributes)
}

fn send(client: &mut Client, url: &str, group: &str, dedup: Option<&str>, body: &str) -> Value {
    let mut message = json!({ "QueueUrl": url, "MessageBody": body, "MessageGroupId": group });
    if let Some(id) = dedup {
        message["MessageDeduplicationId"] = json!(id);
    }
    client.ok("SendMessage", message)
}

#[test]
fn a_group_comes_in_order_and_waits_for_its_first() {
    // S7.3
    let server = TestServer::start();
    let mut client = server.connect();
    let url = fifo(&mut client, "q.fifo", json!({ "ContentBasedDeduplication": "true" }));
    let numbers: Vec<String> = ["a1", "b1", "a2"]
        .iter()
        .map(|body| send(&mut client, &url, &body[..1], None, body)["SequenceNumber"].clone())
        .map(|number| number.as_str().unwrap().to_string())
        .collect();
    assert!(numbers.is_sorted(), "{numbers:?}");
    let one = json!({ "QueueUrl": url, "AttributeNames": ["All"] });
    let first = client.ok("ReceiveMessage", one)["Messages"][0].clone();
    assert_eq!(first["Body"], "a1");
    assert_eq!(first["Attributes"]["MessageGroupId"], "a");
    assert_eq!(first["Attributes"]["SequenceNumber"], numbers[0]);
    // The SHA-256 of the body.
    let id = first["Attributes"]["MessageDeduplicationId"].as_str().unwrap();
    assert_eq!(id.len(), 64);
    assert_eq!(client.bodies(&url), ["b1"]);
    let handle = &first["ReceiptHandle"];
    client.ok("DeleteMessage", json!({ "QueueUrl": url, "ReceiptHandle": handle }));
    assert_eq!(client.bodies(&url), ["a2"]);
}

#[test]
fn a_deduplication_id_counts_for_five_minutes_in_its_scope() {
    // S8.1, S8.2
    let server = TestServer::start();
    let mut client = server.connect();
    for (name, scope, stored) in [("q.fifo", "queue", 1), ("g.fifo", "messageGroup", 2)] {
        let url = fifo(&mut client, name, json!({ "DeduplicationScope": scope }));
        let first = send(&mut client, &url, "a", Some("d"), "one");
        let second = send(&mut client, &url, "a", Some("d"), "two");
        assert_eq!(first["MessageId"], second["MessageId"]);
        assert_eq!(first["SequenceNumber"], second["SequenceNumber"]);
        send(&mut client, &url, "b", Some("d"), "three");
        let count = client.attribute(&url, "ApproximateNumberOfMessages");
        assert_eq!(count, Some(stored.to_string()));
        server.clock.advance(Duration::from_secs(300));
        send(&mut client, &url, "a", Some("d"), "four");
        let count = client.attribute(&url, "ApproximateNumberOfMessages");
        assert_eq!(count, Some((stored + 1).to_string()));
    }
}

#[test]
fn what_each_kind_of_queue_must_and_must_not_have_is_checked() {
    let server = TestServer::start();
    let mut client = server.connect();
    let ordered = fifo(&mut client, "q.fifo", json!({}));
    let standard = client.create("q", json!({}));
    let message = |url: &str, more: Value| {
        let mut message = json!({ "QueueUrl": url, "MessageBody": "m" });
        for (key, value) in more.as_object().unwrap() {
            message[key] = value.clone();
        }
        message
    };
    for (url, more, code) in [
        (&ordered, json!({ "MessageDeduplicationId": "d" }), "MissingParameter"),
        (&ordered, json!({ "MessageGroupId": "g" }), "InvalidParameterValue"),
        (
            &ordered,
            json!({ "MessageGroupId": "g", "MessageDeduplicationId": "d", "DelaySeconds": 1 }),
            "InvalidParameterValue",
        ),
        (&standard, json!({ "MessageDeduplicationId": "d" }), "InvalidParameterValue"),
    ] {
        assert_eq!(client.refused("SendMessage", message(url, more)), code);
    }
    // A group on a standard queue is carried along (S7.5).
    client.ok("SendMessage", message(&standard, json!({ "MessageGroupId": "g" })));
    assert_eq!(client.receive(&standard)[0]["Attributes"]["MessageGroupId"], "g");
}

#[test]
fn a_receive_asked_again_with_its_id_gives_the_same_messages() {
    let server = TestServer::start();
    let mut client = server.connect();
    let url = fifo(&mut client, "q.fifo", json!({ "VisibilityTimeout": "30" }));
    for (group, body) in [("a", "a1"), ("b", "b1"), ("c", "c1")] {
        send(&mut client, &url, group, Some(body), body);
    }
    let mut ask = |id: &str| {
        let asked = json!({
            "QueueUrl": url,
            "MaxNumberOfMessages": 2,
            "ReceiveRequestAttemptId": id,
        });
        let got = client.ok("ReceiveMessage", asked);
        let messages = got["Messages"].as_array().cloned().unwrap_or_default();
        let body = |message: &Value| message["Body"].as_str().unwrap().to_string();
        (messages.iter().map(body).collect::<Vec<_>>(), messages)
    };
    let (first, messages) = ask("try");
    assert_eq!(first, ["a1", "b1"]);
    server.clock.advance(Duration::from_secs(20));
    assert_eq!(ask("try").0, first);
    // The lease was prolonged by that.
    server.clock.advance(Duration::from_secs(20));
    assert_eq!(ask("other").0, ["c1"]);
    let handle = &messages[0]["ReceiptHandle"];
    let mut deleting = server.connect();
    deleting.ok("DeleteMessage", json!({ "QueueUrl": url, "ReceiptHandle": handle }));
    assert_eq!(ask("try").0, ["b1"]);
}
