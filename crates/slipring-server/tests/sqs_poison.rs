//! Messages that are given back at once, over and over, among good ones (S11).

#![allow(clippy::unwrap_used, clippy::panic)]

mod sqs_client;

use serde_json::{Value, json};
use sqs_client::{Client, TestServer};

fn bodies(messages: &[Value]) -> Vec<&str> {
    messages.iter().map(|message| message["Body"].as_str().unwrap()).collect()
}

/// Deletes the good ones and gives the poison back at once; answers how many were good.
fn work(client: &mut Client, url: &str, messages: &[Value]) -> usize {
    let mut good = 0;
    for message in messages {
        let handle = &message["ReceiptHandle"];
        if message["Body"] == "poison" {
            let at_once = json!({
                "QueueUrl": url, "ReceiptHandle": handle, "VisibilityTimeout": 0
            });
            client.ok("ChangeMessageVisibility", at_once);
        } else {
            client.ok("DeleteMessage", json!({ "QueueUrl": url, "ReceiptHandle": handle }));
            good += 1;
        }
    }
    good
}

#[test]
fn a_poison_given_back_at_once_leaves_the_others_nine_deliveries_of_ten() {
    // S11.1, S11.2
    let server = TestServer::start();
    let mut client = server.connect();
    let url = client.create("q", json!({}));
    client.put(&url, "poison");
    for n in 0..120 {
        client.put(&url, &n.to_string());
    }
    let (mut good, mut deliveries) = (0, 0);
    while good < 100 {
        let messages = client.receive(&url);
        assert_eq!(messages.len(), 10, "no receive is smaller");
        deliveries += messages.len();
        good += work(&mut client, &url, &messages);
    }
    assert!(deliveries <= 110, "{deliveries} for 100 good ones");
}

#[test]
fn a_poison_received_without_a_visibility_timeout_leaves_the_others_their_share() {
    // S11.1: it lapses at once.
    let server = TestServer::start();
    let mut client = server.connect();
    let url = client.create("q", json!({}));
    client.put(&url, "poison");
    let asked = json!({ "QueueUrl": url, "MaxNumberOfMessages": 1, "VisibilityTimeout": 0 });
    for attempt in 1..=4 {
        let received = client.ok("ReceiveMessage", asked.clone());
        assert_eq!(bodies(received["Messages"].as_array().unwrap()), ["poison"], "{attempt}");
        server.clock.advance(std::time::Duration::from_millis(1));
    }
    client.put(&url, "good");
    let received = client.ok("ReceiveMessage", asked);
    assert_eq!(bodies(received["Messages"].as_array().unwrap()), ["good"]);
}

#[test]
fn the_last_try_is_alone_and_the_receive_after_it_is_whole() {
    // S11.2
    let server = TestServer::start();
    let mut client = server.connect();
    client.create("dead", json!({}));
    let dead = "arn:aws:sqs:us-east-1:000000000000:dead";
    let redrive = json!({ "deadLetterTargetArn": dead, "maxReceiveCount": 2 }).to_string();
    let url = client.create("q", json!({ "RedrivePolicy": redrive }));
    client.put(&url, "poison");
    let messages = client.receive(&url);
    work(&mut client, &url, &messages);
    for n in 0..12 {
        client.put(&url, &n.to_string());
    }
    let messages = client.receive(&url);
    assert_eq!(bodies(&messages), ["poison"]);
    work(&mut client, &url, &messages);
    assert_eq!(client.receive(&url).len(), 10);
}
