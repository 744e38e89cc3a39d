//! Messages over SQS: send, receive, delete, visibility, batches, waiting, purges.

#![allow(clippy::unwrap_used, clippy::panic)]

mod sqs_client;

use std::time::Duration;

use serde_json::{Value, json};
use slipring::NewMessage;
use slipring_server::sqs::Settings;
use sqs_client::TestServer;

fn handle(message: &Value) -> Value {
    message["ReceiptHandle"].clone()
}

#[test]
fn a_message_goes_round_with_its_attributes_and_digests() {
    let server = TestServer::start();
    let mut client = server.connect();
    let url = client.create("q", json!({}));
    let attributes =
        json!({ "attribName1": { "DataType": "String", "StringValue": "attribValue 1" } });
    let trace = json!({ "AWSTraceHeader": { "DataType": "String", "StringValue": "Root=1" } });
    let sent = client.ok(
        "SendMessage",
        json!({
            "QueueUrl": url,
            "MessageBody": "hello",
            "MessageAttributes": attributes,
            "MessageSystemAttributes": trace,
        }),
    );
    assert_eq!(sent["MD5OfMessageBody"], "5d41402abc4b2a76b9719d911017c592");
    assert_eq!(sent["MD5OfMessageAttributes"], "19e27d4e946b072f3f58da80d94fd778");
    assert!(sent["MD5OfMessageSystemAttributes"].is_string());
    let messages = client.receive(&url);
    let message = &messages[0];
    assert_eq!(message["Body"], "hello");
    assert_eq!(message["MessageId"], sent["MessageId"]);
    assert_eq!(message["MD5OfBody"], sent["MD5OfMessageBody"]);
    assert_eq!(message["MD5OfMessageAttributes"], sent["MD5OfMessageAttributes"]);
    assert_eq!(message["MessageAttributes"], attributes);
    let system = &message["Attributes"];
    assert_eq!(system["SentTimestamp"], "1700000000000");
    assert_eq!(system["ApproximateReceiveCount"], "1");
    assert_eq!(system["AWSTraceHeader"], "Root=1");
    assert_eq!(system["SequenceNumber"], Value::Null);
    client.ok("DeleteMessage", json!({ "QueueUrl": url, "ReceiptHandle": handle(message) }));
    server.clock.advance(Duration::from_secs(3600));
    assert!(client.receive(&url).is_empty());
}

#[test]
fn only_what_is_asked_for_comes_back() {
    let server = TestServer::start();
    let mut client = server.connect();
    let url = client.create("q", json!({ "VisibilityTimeout": "0" }));
    let text = |value: &str| json!({ "DataType": "String", "StringValue": value });
    let attributes = json!({ "a.x": text("1"), "a.y": text("2"), "b": text("3") });
    let message = json!({ "QueueUrl": url, "MessageBody": "m", "MessageAttributes": attributes });
    client.ok("SendMessage", message);
    let mut names = |asked: Value| -> Vec<String> {
        let asked = json!({
            "QueueUrl": url,
            "MessageAttributeNames": asked,
            "AttributeNames": ["SenderId"],
        });
        let got = client.ok("ReceiveMessage", asked);
        assert_eq!(got["Messages"][0]["Attributes"].as_object().unwrap().len(), 1);
        let found = got["Messages"][0]["MessageAttributes"].as_object().cloned();
        found.unwrap_or_default().keys().cloned().collect()
    };
    assert_eq!(names(json!(["a.*"])), ["a.x", "a.y"]);
    assert_eq!(names(json!(["b", "c"])), ["b"]);
    assert_eq!(names(json!([".*"])), ["a.x", "a.y", "b"]);
    assert!(names(json!([])).is_empty());
}

#[test]
fn both_protocols_work_on_the_root_and_on_the_queues_path() {
    let server = TestServer::start();
    let mut client = server.connect();
    let url = client.create("q", json!({}));
    assert_eq!(url, format!("http://{}/000000000000/q", server.address));
    let sent = client.query("/000000000000/q", "Action=SendMessage&MessageBody=%3Cone%3E");
    assert_eq!(sent.status, 200, "{}", sent.text());
    client.ask("GET", "/000000000000/q?Action=SendMessage&MessageBody=two", "", b"");
    assert_eq!(client.reply().status, 200);
    assert_eq!(client.bodies("q"), ["<one>", "two"]);
    server.clock.advance(Duration::from_secs(31));
    let form = format!("Action=ReceiveMessage&QueueUrl={url}&AttributeName.1=All");
    let received = client.query("/", &form);
    let text = received.text();
    assert!(text.contains("<Body>&lt;one&gt;</Body>"), "{text}");
    assert!(text.contains("<Name>ApproximateReceiveCount</Name><Value>2</Value>"), "{text}");
    assert_eq!(received.header("content-type"), Some("text/xml"));
    assert!(received.header("x-amzn-requestid").is_some());
}

#[test]
fn a_lease_lapses_and_a_late_delete_still_counts() {
    // S3.3, S3.4, S3.7
    let server = TestServer::start();
    let mut client = server.connect();
    let url = client.create("q", json!({ "VisibilityTimeout": "10" }));
    client.put(&url, "m");
    let first = client.receive(&url);
    assert!(client.receive(&url).is_empty());
    server.clock.advance(Duration::from_secs(10));
    let late = |seconds: u64| {
        let handle = handle(&first[0]);
        json!({ "QueueUrl": url, "ReceiptHandle": handle, "VisibilityTimeout": seconds })
    };
    client.ok("ChangeMessageVisibility", late(0));
    client.ok("ChangeMessageVisibility", late(5));
    assert!(client.receive(&url).is_empty());
    server.clock.advance(Duration::from_secs(5));
    let second = client.receive(&url);
    assert_eq!(second[0]["Attributes"]["ApproximateReceiveCount"], "2");
    for seconds in [0, 5] {
        let code = client.refused("ChangeMessageVisibility", late(seconds));
        assert_eq!(code, "AWS.SimpleQueueService.MessageNotInflight");
    }
    // Somebody else has it now: the older handle deletes nothing.
    client.ok("DeleteMessage", json!({ "QueueUrl": url, "ReceiptHandle": handle(&first[0]) }));
    server.clock.advance(Duration::from_secs(10));
    client.ok("DeleteMessage", json!({ "QueueUrl": url, "ReceiptHandle": handle(&second[0]) }));
    client.ok("DeleteMessage", json!({ "QueueUrl": url, "ReceiptHandle": handle(&second[0]) }));
    assert!(client.receive(&url).is_empty());
    let gone =
        json!({ "QueueUrl": url, "ReceiptHandle": handle(&second[0]), "VisibilityTimeout": 5 });
    assert_eq!(client.refused("ChangeMessageVisibility", gone), "InvalidParameterValue");
}

#[test]
fn visibility_is_prolonged_ended_and_limited_to_twelve_hours() {
    let server = TestServer::start();
    let mut client = server.connect();
    let url = client.create("q", json!({}));
    client.put(&url, "m");
    let got = client.receive(&url);
    let change = |seconds: u32| {
        json!({
            "QueueUrl": url,
            "ReceiptHandle": handle(&got[0]),
            "VisibilityTimeout": seconds,
        })
    };
    client.ok("ChangeMessageVisibility", change(100));
    server.clock.advance(Duration::from_secs(99));
    assert!(client.receive(&url).is_empty());
    assert_eq!(client.refused("ChangeMessageVisibility", change(43_200)), "InvalidParameterValue");
    client.ok("ChangeMessageVisibility", change(43_100));
    client.ok("ChangeMessageVisibility", change(0));
    assert_eq!(client.bodies(&url), ["m"]);
}

#[test]
fn the_visibilities_that_a_batch_sets_of_one_message_take_effect_in_order() {
    let server = TestServer::start();
    let mut client = server.connect();
    let url = client.create("q", json!({}));
    for (last, left) in [(0, vec!["m"]), (30, vec![])] {
        client.put(&url, "m");
        let got = client.receive(&url);
        let entries = [30 - last, last].map(|seconds| {
            json!({
                "Id": seconds.to_string(),
                "ReceiptHandle": handle(&got[0]),
                "VisibilityTimeout": seconds,
            })
        });
        let asked = json!({ "QueueUrl": url, "Entries": entries });
        let answer = client.ok("ChangeMessageVisibilityBatch", asked);
        assert_eq!(answer["Successful"].as_array().unwrap().len(), 2, "{answer}");
        assert_eq!(client.bodies(&url), left);
    }
}

#[test]
fn the_entries_of_a_batch_stand_alone() {
    let server = TestServer::start();
    let mut client = server.connect();
    let url = client.create("q", json!({ "MaximumMessageSize": "1024" }));
    let entries = json!([
        { "Id": "good", "MessageBody": "m" },
        { "Id": "late", "MessageBody": "m", "DelaySeconds": 901 },
        { "Id": "odd", "MessageBody": "\u{0}" },
        { "Id": "big", "MessageBody": "x".repeat(1025) },
        { "Id": "full", "MessageBody": "x".repeat(1024) },
    ]);
    let sent = client.ok("SendMessageBatch", json!({ "QueueUrl": url, "Entries": entries }));
    let ids = |list: &Value, member: &str| -> Vec<String> {
        let list = list.as_array().unwrap().iter();
        list.map(|entry| entry[member].as_str().unwrap().to_string()).collect()
    };
    assert_eq!(ids(&sent["Successful"], "Id"), ["good", "full"]);
    assert_eq!(ids(&sent["Failed"], "Id"), ["late", "odd", "big"]);
    assert_eq!(
        ids(&sent["Failed"], "Code"),
        ["InvalidParameterValue", "InvalidMessageContents", "InvalidParameterValue"]
    );
    let got = client.receive(&url);
    let entries = json!([
        { "Id": "one", "ReceiptHandle": handle(&got[0]), "VisibilityTimeout": 0 },
        { "Id": "two", "ReceiptHandle": "forged", "VisibilityTimeout": 0 },
        { "Id": "three", "ReceiptHandle": handle(&got[1]), "VisibilityTimeout": 43_201 },
        { "Id": "four", "ReceiptHandle": handle(&got[1]), "VisibilityTimeout": 60 },
    ]);
    let change = json!({ "QueueUrl": url, "Entries": entries });
    let changed = client.ok("ChangeMessageVisibilityBatch", change);
    assert_eq!(ids(&changed["Successful"], "Id"), ["one", "four"]);
    assert_eq!(
        ids(&changed["Failed"], "Code"),
        ["ReceiptHandleIsInvalid", "InvalidParameterValue"]
    );
    let again = client.receive(&url);
    assert_eq!(again.len(), 1);
    let entries = json!([
        { "Id": "one", "ReceiptHandle": handle(&again[0]) },
        { "Id": "two", "ReceiptHandle": handle(&got[1]) },
        { "Id": "three", "ReceiptHandle": "" },
    ]);
    let deleted = client.ok("DeleteMessageBatch", json!({ "QueueUrl": url, "Entries": entries }));
    assert_eq!(ids(&deleted["Successful"], "Id"), ["one", "two"]);
    assert_eq!(ids(&deleted["Failed"], "Id"), ["three"]);
}

#[test]
fn a_handle_from_a_server_whose_clock_goes_before_is_as_good_as_any() {
    let server = TestServer::start();
    let mut client = server.connect();
    let url = client.create("q", json!({}));
    client.put(&url, "m");
    let got = client.receive(&url);
    let handed = handle(&got[0]).as_str().unwrap().to_owned();
    let (receipt, moment) = server.engine.unseal_at(&handed).unwrap();
    let ahead = server.engine.seal_at(&receipt, moment.after(Duration::from_millis(500)));
    let change = |seconds: u64| {
        let (url, handle) = (&url, &ahead);
        json!({ "QueueUrl": url, "ReceiptHandle": handle, "VisibilityTimeout": seconds })
    };
    client.ok("ChangeMessageVisibility", change(43_200));
    assert_eq!(client.refused("ChangeMessageVisibility", change(43_201)), "InvalidParameterValue");
    client.ok("DeleteMessage", json!({ "QueueUrl": url, "ReceiptHandle": ahead }));
    let counted = json!({ "QueueUrl": url, "AttributeNames": ["All"] });
    let counted = client.ok("GetQueueAttributes", counted);
    assert_eq!(counted["Attributes"]["ApproximateNumberOfMessagesNotVisible"], "0");
}

#[test]
fn a_delay_is_the_messages_or_the_queues() {
    let server = TestServer::start();
    let mut client = server.connect();
    let url = client.create("q", json!({ "DelaySeconds": "5" }));
    client.put(&url, "slow");
    client.ok("SendMessage", json!({ "QueueUrl": url, "MessageBody": "now", "DelaySeconds": 0 }));
    assert_eq!(client.bodies(&url), ["now"]);
    let delayed = client.attribute(&url, "ApproximateNumberOfMessagesDelayed");
    assert_eq!(delayed.as_deref(), Some("1"));
    server.clock.advance(Duration::from_secs(5));
    let mut waiting = server.connect();
    let wait = json!({ "QueueUrl": url, "WaitTimeSeconds": 20 });
    assert_eq!(waiting.ok("ReceiveMessage", wait)["Messages"][0]["Body"], "slow");
}

#[test]
fn a_waiting_receive_is_woken_by_a_send_and_ends_in_time() {
    let server = TestServer::start();
    let (mut client, mut waiting) = (server.connect(), server.connect());
    let url = client.create("q", json!({ "ReceiveMessageWaitTimeSeconds": "20" }));
    waiting.start("ReceiveMessage", &json!({ "QueueUrl": url }));
    server.wait_for_waiting("q", 1);
    client.put(&url, "m");
    assert_eq!(waiting.reply().json()["Messages"][0]["Body"], "m");
    waiting.start("ReceiveMessage", &json!({ "QueueUrl": url, "WaitTimeSeconds": 3 }));
    server.wait_for_waiting("q", 1);
    server.clock.advance(Duration::from_secs(3));
    assert_eq!(waiting.reply().json(), json!({}));
}

#[test]
fn a_client_that_leaves_while_it_waits_gets_nothing() {
    // S2.3
    let server = TestServer::start();
    let (mut client, mut waiting) = (server.connect(), server.connect());
    let url = client.create("q", json!({}));
    waiting.start("ReceiveMessage", &json!({ "QueueUrl": url, "WaitTimeSeconds": 20 }));
    server.wait_for_waiting("q", 1);
    drop(waiting);
    server.wait_for_waiting("q", 0);
    client.put(&url, "m");
    let got = client.receive(&url);
    assert_eq!(got[0]["Attributes"]["ApproximateReceiveCount"], "1");
}

#[test]
fn a_stopping_server_answers_those_who_wait() {
    let mut server = TestServer::start();
    let (mut client, mut waiting) = (server.connect(), server.connect());
    let url = client.create("q", json!({}));
    waiting.start("ReceiveMessage", &json!({ "QueueUrl": url, "WaitTimeSeconds": 20 }));
    server.wait_for_waiting("q", 1);
    drop(client);
    server.stop();
    let reply = waiting.reply();
    assert_eq!((reply.status, reply.json()), (200, json!({})));
}

#[test]
fn what_sqs_may_not_carry_is_delivered_as_base64() {
    let server = TestServer::start();
    let mut client = server.connect();
    let url = client.create("q", json!({}));
    let queue = server.runtime.block_on(server.engine.queue("q")).unwrap();
    for body in [b"\xff\x00".as_slice(), b"plain"] {
        server.runtime.block_on(queue.send(NewMessage::new(body.to_vec()))).unwrap();
    }
    let got = client.receive(&url);
    assert_eq!(got[0]["Body"], "/wA=");
    let marker = &got[0]["MessageAttributes"]["slipring.body-encoding"];
    assert_eq!(marker["StringValue"], "base64");
    assert!(got[0]["MD5OfMessageAttributes"].is_string());
    assert_eq!(got[1]["Body"], "plain");
    assert_eq!(got[1]["MessageAttributes"], Value::Null);
}

#[test]
fn the_limit_of_messages_in_flight_is_an_error_or_nothing() {
    let server = TestServer::start();
    let mut client = server.connect();
    for (name, fifo) in [("q", false), ("q.fifo", true)] {
        let attributes = if fifo { json!({ "FifoQueue": "true" }) } else { json!({}) };
        let url = client.create(name, attributes);
        let queue = server.runtime.block_on(server.engine.queue(name)).unwrap();
        let mut settings = queue.info().settings.clone();
        settings.in_flight_max = 1;
        server.runtime.block_on(queue.configure(settings)).unwrap();
        for number in 0..2 {
            let mut message = json!({ "QueueUrl": url, "MessageBody": "m" });
            if fifo {
                message["MessageGroupId"] = json!(format!("g{number}"));
                message["MessageDeduplicationId"] = json!(format!("d{number}"));
            }
            client.ok("SendMessage", message);
        }
        assert_eq!(client.receive(&url).len(), 1);
        let second = client.call("ReceiveMessage", json!({ "QueueUrl": url }));
        if fifo {
            assert_eq!((second.status, second.json()), (200, json!({})));
        } else {
            assert_eq!((second.status, second.code().as_str()), (403, "OverLimit"));
        }
    }
}

#[test]
fn the_rules_of_a_minute_can_be_switched_off() {
    let server = TestServer::start_with(Settings { minute_rules: false, ..Settings::default() });
    let mut client = server.connect();
    for _ in 0..3 {
        let url = client.create("q", json!({}));
        for _ in 0..3 {
            client.ok("SendMessage", json!({ "QueueUrl": url, "MessageBody": "m" }));
            client.ok("PurgeQueue", json!({ "QueueUrl": url }));
            assert_eq!(client.ok("ReceiveMessage", json!({ "QueueUrl": url })), json!({}));
        }
        client.ok("DeleteQueue", json!({ "QueueUrl": url }));
    }
}
