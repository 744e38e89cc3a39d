//! What clients are told and given while the store fails.

#![allow(clippy::unwrap_used, clippy::panic)]

mod sqs_client;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use slipring::Limits;
use slipring::stores::MemoryStore;
use slipring_conformance::fault::{Fault, FaultyStore, Verb};
use slipring_server::sqs::{Server, Settings};
use sqs_client::running::Serves;
use sqs_client::{Client, TestServer, arn, until, with_dead_letters};

/// A server over a store with faults.
fn start_with(settings: Settings) -> (Arc<FaultyStore>, TestServer) {
    let store = FaultyStore::new(MemoryStore::shared());
    let server = TestServer::start_over(Arc::clone(&store) as _, settings);
    (store, server)
}

fn start() -> (Arc<FaultyStore>, TestServer) {
    start_with(<Server as Serves>::patient())
}

/// Makes a FIFO queue with two messages; answers what asks for one of them by an attempt id.
fn attempt(client: &mut Client) -> Value {
    let url = client.create("q.fifo", json!({ "FifoQueue": "true" }));
    for body in ["a", "b"] {
        let message = json!({
            "QueueUrl": url,
            "MessageBody": body,
            "MessageGroupId": body,
            "MessageDeduplicationId": body,
        });
        client.ok("SendMessage", message);
    }
    json!({ "QueueUrl": url, "ReceiveRequestAttemptId": "try" })
}

fn body(received: &Value) -> &str {
    received["Messages"][0]["Body"].as_str().unwrap()
}

#[test]
fn an_attempt_is_remembered_when_the_store_fails_to_repeat_it() {
    let (store, server) = start();
    let mut client = server.connect();
    let receive = attempt(&mut client);
    assert_eq!(body(&client.ok("ReceiveMessage", receive.clone())), "a");
    for fault in [Fault::Before, Fault::After] {
        store.plan(Verb::Extend, 1, fault);
        assert_eq!(client.refused("ReceiveMessage", receive.clone()), "ServiceUnavailable");
        assert_eq!(body(&client.ok("ReceiveMessage", receive.clone())), "a");
    }
}

#[test]
fn an_attempt_is_remembered_when_its_repetition_is_given_up_or_made_twice() {
    let patient = <Server as Serves>::patient();
    let (store, server) = start_with(Settings { connections_max: 2, ..patient });
    let (mut client, mut second) = (server.connect(), server.connect());
    let receive = attempt(&mut client);
    assert_eq!(body(&client.ok("ReceiveMessage", receive.clone())), "a");
    store.plan(Verb::Extend, 1, Fault::Hang);
    client.start("ReceiveMessage", &receive);
    server.runtime.block_on(store.hanging(1));
    second.start("ReceiveMessage", &receive);
    drop(client);
    // There is a place again when the server has noticed.
    let mut third = server.connect();
    until(|| {
        third = server.connect();
        third.call("ListQueues", json!({})).status == 200
    });
    store.release();
    assert_eq!(body(&second.reply().json()), "a");
    assert_eq!(body(&third.ok("ReceiveMessage", receive)), "a");
}

#[test]
fn a_send_whose_answer_was_lost_is_told_from_one_that_did_nothing() {
    let (store, server) = start();
    let mut client = server.connect();
    let url = client.create("q", json!({}));
    for (fault, text, stored) in [
        (Fault::Before, "a planned fault of Append", 0),
        (Fault::After, "a planned fault of Append; the request may have taken effect", 1),
    ] {
        store.plan(Verb::Append, 1, fault);
        let send = json!({ "QueueUrl": url, "MessageBody": "a" });
        let refused = client.call("SendMessage", send);
        assert_eq!((refused.status, refused.code().as_str()), (503, "ServiceUnavailable"));
        assert_eq!(refused.json()["message"], text);
        assert_eq!(client.receive(&url).len(), stored);
    }
}

#[test]
fn a_move_task_that_cannot_count_its_messages_does_not_begin() {
    let (store, server) = start();
    let mut client = server.connect();
    let (_, dead) = with_dead_letters(&mut client, 1);
    client.put(&dead, "a");
    client.create("other", json!({}));
    let start = json!({ "SourceArn": arn("dead"), "DestinationArn": arn("other") });
    store.plan(Verb::Stats, 1, Fault::Before);
    let refused = client.call("StartMessageMoveTask", start.clone());
    assert_eq!((refused.status, refused.code().as_str()), (503, "ServiceUnavailable"));
    client.ok("StartMessageMoveTask", start);
    until(|| client.newest_task()["Status"] == "COMPLETED");
    assert_eq!(client.newest_task()["ApproximateNumberOfMessagesMoved"], 1);
}

#[test]
fn a_move_task_that_cannot_tell_whether_all_is_moved_has_failed() {
    let (store, server) = start();
    let mut client = server.connect();
    let (_, dead) = with_dead_letters(&mut client, 1);
    // Sent to the queue itself: it came from nowhere.
    client.put(&dead, "a");
    store.plan(Verb::Stats, 2, Fault::Before);
    client.ok("StartMessageMoveTask", json!({ "SourceArn": arn("dead") }));
    until(|| client.newest_task()["Status"] != "RUNNING");
    let task = client.newest_task();
    assert_eq!(task["Status"], "FAILED");
    assert_eq!(task["FailureReason"], "a planned fault of Stats");
}

#[test]
fn a_move_task_goes_on_when_its_queue_could_not_be_deleted() {
    let (store, server) = start();
    let mut client = server.connect();
    let (_, dead) = with_dead_letters(&mut client, 1);
    for body in ["a", "b", "c"] {
        client.put(&dead, body);
    }
    client.create("other", json!({}));
    let start = json!({
        "SourceArn": arn("dead"),
        "DestinationArn": arn("other"),
        "MaxNumberOfMessagesPerSecond": 5,
    });
    client.ok("StartMessageMoveTask", start);
    until(|| client.newest_task()["ApproximateNumberOfMessagesMoved"] == 1);
    store.plan(Verb::DeleteQueue, 1, Fault::Before);
    let delete = json!({ "QueueUrl": dead });
    assert_eq!(client.refused("DeleteQueue", delete.clone()), "ServiceUnavailable");
    until(|| {
        server.clock.advance(Duration::from_millis(100));
        client.newest_task()["Status"] != "RUNNING"
    });
    assert_eq!(client.newest_task()["Status"], "COMPLETED");
    client.ok("DeleteQueue", delete);
    let gone = client.call("ListMessageMoveTasks", json!({ "SourceArn": arn("dead") }));
    assert_eq!(gone.status, 404);
}

#[test]
fn a_visibility_that_was_ended_is_answered_beside_one_that_could_not_be_changed() {
    // S9.3
    let duration_max = Duration::from_secs(1000);
    let limits = Limits { duration_max, ..Limits::default() };
    let patient = <Server as Serves>::patient();
    let server = TestServer::start_within(MemoryStore::shared(), patient, limits);
    let mut client = server.connect();
    let url = client.create("q", json!({ "MessageRetentionPeriod": "60" }));
    for body in ["a", "b"] {
        client.put(&url, body);
    }
    let messages = client.receive(&url);
    let entry = |at: usize, seconds: u64| {
        json!({
            "Id": at.to_string(),
            "ReceiptHandle": messages[at]["ReceiptHandle"],
            "VisibilityTimeout": seconds,
        })
    };
    let asked = json!({ "QueueUrl": url, "Entries": [entry(0, 0), entry(1, 2000)] });
    let answer = client.ok("ChangeMessageVisibilityBatch", asked);
    assert_eq!(answer["Successful"], json!([{ "Id": "0" }]));
    assert_eq!(answer["Failed"][0]["Code"], "InvalidParameterValue");
    assert_eq!(client.bodies(&url), ["a"]);
}
