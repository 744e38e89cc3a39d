//! FIFO queues as AWS was seen to serve them, in both protocols: the order of groups, what a
//! message in flight holds back, late deletes, purges.

#![allow(clippy::unwrap_used, clippy::panic)]

mod sqs_client;

use std::time::Duration;

use serde_json::json;
use sqs_client::both::{Speaker, in_both};
use sqs_client::{TestServer, until};

/// A queue with messages whose first letter is their group.
fn filled(aws: &mut Speaker, bodies: &[&str]) -> String {
    let url = aws.create("q.fifo", json!({ "FifoQueue": "true", "VisibilityTimeout": "30" }));
    for body in bodies {
        send(aws, &url, body, body);
    }
    url
}

fn send(aws: &mut Speaker, url: &str, body: &str, dedup: &str) -> String {
    let sent = aws.ok(
        "SendMessage",
        json!({
            "QueueUrl": url,
            "MessageBody": body,
            "MessageGroupId": &body[..1],
            "MessageDeduplicationId": dedup,
        }),
    );
    sent.text("MessageId")
}

/// Bodies and handles of up to so many messages.
fn take(aws: &mut Speaker, url: &str, most: u32) -> (Vec<String>, Vec<String>) {
    let (bodies, told) = aws.receive(url, most);
    (bodies, told.texts("ReceiptHandle"))
}

/// Lets 30 s pass, and waits until so many messages are ready.
fn pass(server: &TestServer, aws: &mut Speaker, url: &str, ready: u32) {
    server.clock.advance(Duration::from_secs(30));
    let ready = ready.to_string();
    until(|| aws.attribute(url, "ApproximateNumberOfMessages").as_ref() == Some(&ready));
}

#[test]
fn a_receive_takes_all_it_can_of_one_group_before_the_next() {
    // S7.3, S7.7
    in_both(|_, aws| {
        let url = filled(aws, &["A1", "B1", "A2", "A3"]);
        assert_eq!(take(aws, &url, 10).0, ["A1", "A2", "A3", "B1"]);
    });
}

#[test]
fn a_group_that_was_served_stands_behind_the_others() {
    // S7.7
    in_both(|server, aws| {
        let url = filled(aws, &["A1", "B1", "C1"]);
        assert_eq!(take(aws, &url, 1).0, ["A1"]);
        assert_eq!(take(aws, &url, 1).0, ["B1"]);
        pass(server, aws, &url, 3);
        assert_eq!(take(aws, &url, 10).0, ["C1", "A1", "B1"]);
    });
}

#[test]
fn a_group_that_is_given_back_at_once_does_not_keep_the_others_waiting() {
    // S7.7
    in_both(|_, aws| {
        let url = filled(aws, &["A1", "B1"]);
        let mut seen = Vec::new();
        for _ in 0..4 {
            let (bodies, handles) = take(aws, &url, 1);
            assert_eq!(aws.change(&url, &handles[0], 0).status, 200);
            seen.extend(bodies);
        }
        assert_eq!(seen, ["A1", "B1", "A1", "B1"]);
    });
}

#[test]
fn a_message_in_flight_holds_back_what_was_sent_after_it() {
    // S7.3
    for (prolonged, again) in [(2, vec!["A1", "A2"]), (1, vec!["A1"]), (0, vec![])] {
        in_both(|server, aws| {
            let url = filled(aws, &["A1", "A2", "A3"]);
            let (bodies, handles) = take(aws, &url, 10);
            assert_eq!(bodies, ["A1", "A2", "A3"]);
            assert_eq!(aws.change(&url, &handles[prolonged], 100).status, 200);
            pass(server, aws, &url, 2);
            assert_eq!(take(aws, &url, 10).0, again, "the {prolonged}th was prolonged");
        });
    }
    in_both(|_, aws| {
        let url = filled(aws, &["A1", "A2"]);
        let (_, handles) = take(aws, &url, 10);
        assert_eq!(aws.change(&url, &handles[0], 0).status, 200);
        assert_eq!(take(aws, &url, 10).0, ["A1"]);
    });
}

#[test]
fn messages_that_failed_are_handed_out_beside_others() {
    // S11.3
    in_both(|server, aws| {
        let url = filled(aws, &["A1", "A2", "B1", "B2", "C1", "C2"]);
        assert_eq!(take(aws, &url, 3).0, ["A1", "A2", "B1"]);
        pass(server, aws, &url, 6);
        assert_eq!(take(aws, &url, 10).0, ["C1", "C2", "A1", "A2", "B1", "B2"]);
    });
    in_both(|server, aws| {
        let url = filled(aws, &["A1", "B1"]);
        assert_eq!(take(aws, &url, 1).0, ["A1"]);
        pass(server, aws, &url, 2);
        assert_eq!(take(aws, &url, 3).0, ["B1", "A1"]);
    });
    // With a RedrivePolicy too, while more than one try is left.
    in_both(|server, aws| {
        let url = filled(aws, &["A1", "A2", "B1", "B2", "C1", "C2"]);
        let dead = aws.create("dead.fifo", json!({ "FifoQueue": "true" }));
        let target = aws.attribute(&dead, "QueueArn").unwrap();
        let policy = json!({ "deadLetterTargetArn": target, "maxReceiveCount": 3 }).to_string();
        let attributes = json!({ "RedrivePolicy": policy });
        aws.ok("SetQueueAttributes", json!({ "QueueUrl": url, "Attributes": attributes }));
        assert_eq!(take(aws, &url, 3).0, ["A1", "A2", "B1"]);
        pass(server, aws, &url, 6);
        assert_eq!(take(aws, &url, 10).0, ["C1", "C2", "A1", "A2", "B1", "B2"]);
    });
    // A standard queue without a RedrivePolicy goes by the number asked for too (S11.2).
    in_both(|server, aws| {
        let url = aws.create("q", json!({ "VisibilityTimeout": "30" }));
        for number in 0..12 {
            let body = number.to_string();
            aws.ok("SendMessage", json!({ "QueueUrl": url, "MessageBody": body }));
        }
        assert_eq!(take(aws, &url, 1).0, ["0"]);
        pass(server, aws, &url, 12);
        assert_eq!(take(aws, &url, 10).0.len(), 10);
    });
}

#[test]
fn a_delete_after_the_visibility_timeout_is_refused() {
    // S3.4
    in_both(|server, aws| {
        let url = filled(aws, &["A1", "B1"]);
        let (_, handles) = take(aws, &url, 10);
        assert_eq!(aws.change(&url, &handles[1], 100).status, 200);
        pass(server, aws, &url, 1);
        let text = format!(
            "Value {} for parameter ReceiptHandle is invalid. Reason: The receipt handle has \
             expired.",
            handles[0]
        );
        let expected = ("InvalidParameterValue".to_string(), text);
        let delete = json!({ "QueueUrl": url, "ReceiptHandle": handles[0] });
        assert_eq!(aws.refused("DeleteMessage", delete), expected);
        let entry = |at: usize| json!({ "Id": at.to_string(), "ReceiptHandle": handles[at] });
        let batch = json!({ "QueueUrl": url, "Entries": [entry(0), entry(1)] });
        let told = aws.ok("DeleteMessageBatch", batch);
        assert_eq!((told.text("Code"), told.text("Message")), expected);
        assert_eq!(take(aws, &url, 10).0, ["A1"]);
        pass(server, aws, &url, 1);
    });
}

#[test]
fn a_purge_forgets_deduplication_ids() {
    // S8.4
    in_both(|_, aws| {
        let url = filled(aws, &["A1"]);
        aws.ok("PurgeQueue", json!({ "QueueUrl": url }));
        let second = send(aws, &url, "A2", "A1");
        assert_eq!(send(aws, &url, "A3", "A1"), second);
        assert_eq!(take(aws, &url, 10).0, ["A2"]);
    });
}
