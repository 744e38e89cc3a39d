//! FIFO queues over SQS: order, groups, deduplication, repeated receives.

#![allow(clippy::unwrap_used, clippy::panic)]

mod sqs_client;

use std::time::Duration;

use serde_json::{Value, json};
use sqs_client::{Client, TestServer, until};

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
fn a_receive_takes_one_group_before_the_next_and_served_groups_go_to_the_back() {
    // S7.3, S7.7
    let server = TestServer::start();
    let mut client = server.connect();
    let url = fifo(&mut client, "q.fifo", json!({ "ContentBasedDeduplication": "true" }));
    for body in ["a1", "b1", "a2", "a3", "c1"] {
        send(&mut client, &url, &body[..1], None, body);
    }
    let mut ask = |most: u64| {
        let asked = json!({ "QueueUrl": url, "MaxNumberOfMessages": most });
        let got = client.ok("ReceiveMessage", asked);
        got["Messages"].as_array().cloned().unwrap_or_default()
    };
    let bodies = |messages: &[Value]| {
        messages.iter().map(|m| m["Body"].as_str().unwrap().to_string()).collect::<Vec<_>>()
    };
    let taken = ask(4);
    assert_eq!(bodies(&taken), ["a1", "a2", "a3", "b1"]);
    let handle = &taken[1]["ReceiptHandle"];
    let mut other = server.connect();
    let longer = json!({ "QueueUrl": url, "ReceiptHandle": handle, "VisibilityTimeout": 60 });
    other.ok("ChangeMessageVisibility", longer);
    server.clock.advance(Duration::from_secs(30));
    // A receive that finds c1 does not wait until the leases that are over have ended.
    until(|| other.attribute(&url, "ApproximateNumberOfMessages").as_deref() == Some("4"));
    assert_eq!(bodies(&ask(10)), ["c1", "a1", "b1"]);
}

#[test]
fn a_delete_after_the_visibility_timeout_is_refused() {
    // S3.4
    let server = TestServer::start();
    let mut client = server.connect();
    let url = fifo(&mut client, "q.fifo", json!({ "VisibilityTimeout": "10" }));
    for body in ["a1", "b1"] {
        send(&mut client, &url, &body[..1], Some(body), body);
    }
    let two = json!({ "QueueUrl": url, "MaxNumberOfMessages": 2 });
    let taken = client.ok("ReceiveMessage", two.clone())["Messages"].clone();
    let handles = [0, 1].map(|n| taken[n]["ReceiptHandle"].as_str().unwrap().to_string());
    let longer =
        |handle: &str| json!({ "QueueUrl": url, "ReceiptHandle": handle, "VisibilityTimeout": 20 });
    client.ok("ChangeMessageVisibility", longer(&handles[1]));
    server.clock.advance(Duration::from_secs(10));
    let reason = format!(
        "Value {} for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired.",
        handles[0]
    );
    let delete = json!({ "QueueUrl": url, "ReceiptHandle": handles[0] });
    assert_eq!(client.refused("DeleteMessage", delete), "InvalidParameterValue");
    let entry = |n: usize| json!({ "Id": n.to_string(), "ReceiptHandle": handles[n] });
    let both = json!({ "QueueUrl": url, "Entries": [entry(0), entry(1)] });
    let answer = client.ok("DeleteMessageBatch", both);
    assert_eq!(answer["Successful"], json!([{ "Id": "1" }]));
    assert_eq!(answer["Failed"][0]["Code"], "InvalidParameterValue");
    assert_eq!(answer["Failed"][0]["Message"], reason);
    assert_eq!(
        client.refused("ChangeMessageVisibility", longer(&handles[0])),
        "AWS.SimpleQueueService.MessageNotInflight"
    );
    assert_eq!(client.bodies(&url), ["a1"]);
}

#[test]
fn a_purge_forgets_deduplication_ids() {
    // S8.4
    let server = TestServer::start();
    let mut client = server.connect();
    let url = fifo(&mut client, "q.fifo", json!({}));
    let first = send(&mut client, &url, "a", Some("d"), "one");
    client.ok("PurgeQueue", json!({ "QueueUrl": url }));
    let second = send(&mut client, &url, "a", Some("d"), "two");
    assert_ne!(first["MessageId"], second["MessageId"]);
    let third = send(&mut client, &url, "a", Some("d"), "three");
    assert_eq!(third["MessageId"], second["MessageId"]);
    assert_eq!(client.bodies(&url), ["two"]);
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
