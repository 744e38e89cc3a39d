//! Queues over SQS: names, tags, permissions, lists, purges, dead letters, moves.

#![allow(clippy::unwrap_used, clippy::panic)]

mod sqs_client;

use std::time::Duration;

use serde_json::{Value, json};
use slipring_server::sqs::Settings;
use sqs_client::{Client, TestServer, arn, until, with_dead_letters};

const MINUTE: Duration = Duration::from_secs(60);

#[test]
fn names_are_checked() {
    let server = TestServer::start();
    let mut client = server.connect();
    for name in ["", "-q", "a b", "a/b", &"x".repeat(81), "q.fifo", "ü"] {
        assert_eq!(
            client.refused("CreateQueue", json!({ "QueueName": name })),
            "InvalidParameterValue"
        );
    }
    for name in ["q", ".fifo", "-q.fifo", &format!("{}.fifo", "x".repeat(76))] {
        let fifo = json!({ "QueueName": name, "Attributes": { "FifoQueue": "true" } });
        assert_eq!(client.refused("CreateQueue", fifo), "InvalidParameterValue");
    }
    client.create(&"x".repeat(80), json!({}));
    client.create(&format!("{}.fifo", "x".repeat(75)), json!({ "FifoQueue": "true" }));
}

#[test]
fn tags_come_and_go() {
    let server = TestServer::start();
    let mut client = server.connect();
    let made = json!({ "QueueName": "q", "tags": { "a": "1" } });
    let url = client.ok("CreateQueue", made)["QueueUrl"].clone();
    client.ok("TagQueue", json!({ "QueueUrl": url, "Tags": { "b": "2", "a": "3" } }));
    let tags = client.ok("ListQueueTags", json!({ "QueueUrl": url }));
    assert_eq!(tags, json!({ "Tags": { "a": "3", "b": "2" } }));
    let more: Vec<String> = (0..101).map(|number| format!("t{number}")).collect();
    let more = json!({ "QueueUrl": url, "TagKeys": more });
    assert_eq!(client.refused("UntagQueue", more), "InvalidParameterValue");
    assert_eq!(client.ok("ListQueueTags", json!({ "QueueUrl": url })), tags);
    client.ok("UntagQueue", json!({ "QueueUrl": url, "TagKeys": ["a", "b", "c"] }));
    assert_eq!(client.ok("ListQueueTags", json!({ "QueueUrl": url })), json!({}));
    let many: serde_json::Map<String, Value> =
        (0..51).map(|number| (format!("t{number}"), json!("v"))).collect();
    let many = json!({ "QueueUrl": url, "Tags": many });
    assert_eq!(client.refused("TagQueue", many), "InvalidParameterValue");
    assert_eq!(client.ok("ListQueueTags", json!({ "QueueUrl": url })), json!({}));
}

#[test]
fn permissions_are_statements_of_the_policy() {
    let server = TestServer::start();
    let mut client = server.connect();
    let url = client.create("q", json!({}));
    let add = json!({
        "QueueUrl": url,
        "Label": "l",
        "AWSAccountIds": ["1"],
        "Actions": ["SendMessage"],
    });
    client.ok("AddPermission", add.clone());
    assert_eq!(client.refused("AddPermission", add), "InvalidParameterValue");
    let policy: Value = serde_json::from_str(&client.attribute(&url, "Policy").unwrap()).unwrap();
    assert_eq!(policy["Statement"][0]["Action"], "SQS:SendMessage");
    assert_eq!(policy["Statement"][0]["Resource"], arn("q"));
    let remove = json!({ "QueueUrl": url, "Label": "l" });
    client.ok("RemovePermission", remove.clone());
    assert_eq!(client.refused("RemovePermission", remove), "InvalidParameterValue");
}

#[test]
fn the_host_that_the_client_used_comes_back() {
    let names = "queues.example".parse().unwrap();
    let server = TestServer::start_with(Settings { names, ..Settings::default() });
    let mut client = server.connect();
    client.create("q", json!({}));
    client.send(
        "POST / HTTP/1.1\r\nHost: queues.example:81\r\nContent-Length: 33\r\n\r\n\
         Action=GetQueueUrl&QueueName=q&a=",
    );
    let text = client.reply().text();
    assert!(
        text.contains("<QueueUrl>http://queues.example:81/000000000000/q</QueueUrl>"),
        "{text}"
    );
}

#[test]
fn lists_come_in_pages() {
    let server = TestServer::start();
    let mut client = server.connect();
    assert_eq!(client.ok("ListQueues", json!({})), json!({}));
    for name in ["b1", "a1", "a2", "a3"] {
        client.create(name, json!({}));
    }
    let first = client.ok("ListQueues", json!({ "QueueNamePrefix": "a", "MaxResults": 2 }));
    assert_eq!(first["QueueUrls"].as_array().unwrap().len(), 2);
    let rest = json!({ "QueueNamePrefix": "a", "MaxResults": 2, "NextToken": first["NextToken"] });
    let rest = client.ok("ListQueues", rest);
    let url = format!("http://{}/000000000000/a3", server.address);
    assert_eq!(rest, json!({ "QueueUrls": [url] }));
    let all = client.ok("ListQueues", json!({}));
    assert_eq!(all["QueueUrls"].as_array().unwrap().len(), 4);
    let forged = json!({ "NextToken": "***" });
    assert_eq!(client.refused("ListQueues", forged), "InvalidParameterValue");
}

#[test]
fn a_queue_with_a_name_only_tubes_have_is_reached_by_its_url() {
    let server = TestServer::start();
    let mut client = server.connect();
    let settings = slipring::QueueSettings::default();
    server.runtime.block_on(server.engine.create_queue("a/b+c;(d)", settings)).unwrap();
    let listed = client.ok("ListQueues", json!({}));
    let url = listed["QueueUrls"][0].as_str().unwrap().to_string();
    client.put(&url, "m");
    assert_eq!(client.bodies(&url), ["m"]);
}

#[test]
fn a_purge_empties_the_queue_once_a_minute() {
    // S14.5
    let server = TestServer::start();
    let mut client = server.connect();
    let url = client.create("q", json!({}));
    client.put(&url, "one");
    client.put(&url, "two");
    let held = client.receive(&url);
    let purge = json!({ "QueueUrl": url });
    client.ok("PurgeQueue", purge.clone());
    let again = client.call("PurgeQueue", purge.clone());
    assert_eq!(again.status, 403);
    assert_eq!(again.code(), "AWS.SimpleQueueService.PurgeQueueInProgress");
    let handle = &held[0]["ReceiptHandle"];
    client.ok("DeleteMessage", json!({ "QueueUrl": url, "ReceiptHandle": handle }));
    server.clock.advance(MINUTE);
    assert!(client.receive(&url).is_empty());
    client.ok("PurgeQueue", purge);
}

#[test]
fn a_deleted_queues_name_rests_for_a_minute() {
    let server = TestServer::start();
    let mut client = server.connect();
    let url = client.create("q", json!({}));
    client.ok("DeleteQueue", json!({ "QueueUrl": url }));
    let gone = "AWS.SimpleQueueService.NonExistentQueue";
    assert_eq!(client.refused("DeleteQueue", json!({ "QueueUrl": url })), gone);
    assert_eq!(client.refused("GetQueueUrl", json!({ "QueueName": "q" })), gone);
    assert_eq!(client.refused("SendMessage", json!({ "QueueUrl": url, "MessageBody": "m" })), gone);
    let recently = "AWS.SimpleQueueService.QueueDeletedRecently";
    assert_eq!(client.refused("CreateQueue", json!({ "QueueName": "q" })), recently);
    server.clock.advance(MINUTE);
    client.create("q", json!({}));
}

#[test]
fn test_mode_resets_and_lets_names_be_used_at_once() {
    let server = TestServer::start_with(Settings { test_mode: true, ..Settings::default() });
    let mut client = server.connect();
    let url = client.create("q", json!({}));
    client.ok("DeleteQueue", json!({ "QueueUrl": url }));
    client.create("q", json!({}));
    client.ask("POST", "/moto-api/reset", "", b"");
    assert_eq!(client.reply().status, 200);
    assert_eq!(client.ok("ListQueues", json!({})), json!({}));
    let strict = TestServer::start();
    let mut client = strict.connect();
    client.create("q", json!({}));
    client.ask("POST", "/moto-api/reset", "", b"");
    assert_eq!(client.reply().status, 400);
    assert_ne!(client.ok("ListQueues", json!({})), json!({}));
}

#[test]
fn a_message_received_too_often_is_in_the_dead_letter_queue() {
    // S6.2, S6.4
    let server = TestServer::start();
    let mut client = server.connect();
    let (live, dead) = with_dead_letters(&mut client, 2);
    client.put(&live, "poison");
    for _ in 0..2 {
        let wait = json!({ "QueueUrl": live, "WaitTimeSeconds": 20 });
        let got = client.ok("ReceiveMessage", wait);
        assert_eq!(got["Messages"][0]["Body"], "poison");
        server.clock.advance(Duration::from_secs(1));
    }
    let wait = json!({ "QueueUrl": dead, "WaitTimeSeconds": 20, "AttributeNames": ["All"] });
    let got = client.ok("ReceiveMessage", wait);
    assert_eq!(got["Messages"][0]["Attributes"]["DeadLetterQueueSourceArn"], arn("live"));
    assert_eq!(got["Messages"][0]["Attributes"]["ApproximateReceiveCount"], "3");
    let sources = client.ok("ListDeadLetterSourceQueues", json!({ "QueueUrl": dead }));
    assert_eq!(sources, json!({ "queueUrls": [live] }));
    let policy: Value =
        serde_json::from_str(&client.attribute(&live, "RedrivePolicy").unwrap()).unwrap();
    assert_eq!(policy, json!({ "deadLetterTargetArn": arn("dead"), "maxReceiveCount": 2 }));
}

/// Dead letters that came from the live queue.
fn fill(server: &TestServer, client: &mut Client, live: &str, count: u64) {
    for number in 0..count {
        client.put(live, &number.to_string());
    }
    let queue = |name| server.runtime.block_on(server.engine.queue(name)).unwrap();
    let (live, dead) = (queue("live"), queue("dead"));
    let receive = slipring::ReceiveRequest::up_to(1000);
    while server.runtime.block_on(dead.stats()).unwrap().ready < count {
        for delivery in server.runtime.block_on(live.receive(receive)).unwrap() {
            let give_up = slipring::lifecycle::Settlement::DeadLetter { reason: None };
            let settled = live.settle(vec![(delivery.receipt, give_up)]);
            server.runtime.block_on(settled).unwrap();
        }
    }
}

#[test]
fn a_move_task_sends_dead_letters_back() {
    let server = TestServer::start();
    let mut client = server.connect();
    let (live, _dead) = with_dead_letters(&mut client, 1);
    fill(&server, &mut client, &live, 12);
    client.ok("StartMessageMoveTask", json!({ "SourceArn": arn("dead") }));
    until(|| client.newest_task()["Status"] == "COMPLETED");
    let task = client.newest_task();
    assert_eq!(task["ApproximateNumberOfMessagesMoved"], 12);
    assert_eq!(task["ApproximateNumberOfMessagesToMove"], 12);
    assert_eq!(task["TaskHandle"], Value::Null);
    let count = client.attribute(&live, "ApproximateNumberOfMessages");
    assert_eq!(count.as_deref(), Some("12"));
}

#[test]
fn a_move_task_keeps_its_rate_and_can_be_cancelled() {
    let server = TestServer::start();
    let mut client = server.connect();
    let (live, _dead) = with_dead_letters(&mut client, 1);
    fill(&server, &mut client, &live, 20);
    client.create("other", json!({}));
    let start = json!({
        "SourceArn": arn("dead"),
        "DestinationArn": arn("other"),
        "MaxNumberOfMessagesPerSecond": 5,
    });
    let handle = client.ok("StartMessageMoveTask", start.clone())["TaskHandle"].clone();
    let second = client.refused("StartMessageMoveTask", start.clone());
    assert_eq!(second, "InvalidParameterValue");
    until(|| client.newest_task()["ApproximateNumberOfMessagesMoved"] == 1);
    server.clock.advance(Duration::from_millis(200));
    until(|| client.newest_task()["ApproximateNumberOfMessagesMoved"] == 2);
    let running = client.newest_task();
    assert_eq!((&running["Status"], &running["TaskHandle"]), (&json!("RUNNING"), &handle));
    assert_eq!(running["DestinationArn"], arn("other"));
    let cancel = json!({ "TaskHandle": handle });
    let moved = client.ok("CancelMessageMoveTask", cancel.clone());
    assert_eq!(moved["ApproximateNumberOfMessagesMoved"], 2);
    until(|| client.newest_task()["Status"] == "CANCELLED");
    let again = client.refused("CancelMessageMoveTask", cancel);
    assert_eq!(again, "AWS.SimpleQueueService.UnsupportedOperation");
    client.ok("StartMessageMoveTask", start);
}

#[test]
fn move_tasks_need_queues_that_are_there() {
    let server = TestServer::start();
    let mut client = server.connect();
    client.create("q", json!({}));
    let none = client.call("StartMessageMoveTask", json!({ "SourceArn": arn("none") }));
    assert_eq!((none.status, none.code().as_str()), (404, "ResourceNotFoundException"));
    let no_source = json!({ "SourceArn": arn("q") });
    assert_eq!(client.refused("StartMessageMoveTask", no_source), "InvalidParameterValue");
    let forged = client.call("CancelMessageMoveTask", json!({ "TaskHandle": "x" }));
    assert_eq!((forged.status, forged.code().as_str()), (400, "InvalidParameterValue"));
    let listed = client.call("ListMessageMoveTasks", json!({ "SourceArn": arn("none") }));
    assert_eq!(listed.status, 404);
}
