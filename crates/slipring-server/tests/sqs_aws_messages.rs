//! Messages as AWS was seen to answer about them, in both protocols: sends, receives, visibility,
//! dead letters, errors. The texts are those of AWS.

#![allow(clippy::unwrap_used, clippy::panic)]

mod sqs_client;

use std::time::Duration;

use serde_json::{Value, json};
use slipring_wire::sqs::Protocol;
use sqs_client::both::{Speaker, in_both};
use sqs_client::until;

/// An error as [`Speaker::refused`] gives it.
fn error(code: &str, text: impl Into<String>) -> (String, String) {
    (code.to_string(), text.into())
}

fn send(aws: &mut Speaker, url: &str, body: &str) {
    aws.ok("SendMessage", json!({ "QueueUrl": url, "MessageBody": body }));
}

/// A message with one message attribute.
fn with_attribute(url: &str, name: &str, kind: &str, value: &str) -> Value {
    json!({
        "QueueUrl": url,
        "MessageBody": "m",
        "MessageAttributes": { name: { "DataType": kind, "StringValue": value } },
    })
}

#[test]
fn a_batch_without_a_group_is_refused_whole_and_by_another_code() {
    in_both(|_, aws| {
        let url = aws.create("q.fifo", json!({ "FifoQueue": "true" }));
        let text = "The request must contain the parameter MessageGroupId.";
        let mut message = json!({ "MessageBody": "m", "MessageDeduplicationId": "d" });
        message["QueueUrl"] = json!(url);
        let single = aws.refused("SendMessage", message);
        assert_eq!(single, error("MissingParameter", text));
        let entry =
            |id: &str| json!({ "Id": id, "MessageBody": "m", "MessageDeduplicationId": id });
        let mut good = entry("a");
        good["MessageGroupId"] = json!("g");
        let batch = json!({ "QueueUrl": url, "Entries": [good, entry("b")] });
        let whole = aws.refused("SendMessageBatch", batch);
        assert_eq!(whole, error("InvalidParameterValue", text));
        assert!(aws.receive(&url, 10).0.is_empty());
    });
}

#[test]
fn an_asterisk_asks_for_all_message_attributes() {
    in_both(|_, aws| {
        let url = aws.create("q", json!({ "VisibilityTimeout": "0" }));
        aws.ok("SendMessage", with_attribute(&url, "a.x", "String", "v"));
        for (names, found) in [
            (json!(["*"]), 1),
            (json!(["All"]), 1),
            (json!([".*"]), 1),
            (json!(["AWS.", "..foo", "none"]), 0),
            (json!(["a.x", "*"]), 1),
        ] {
            let asked = json!({ "QueueUrl": url, "MessageAttributeNames": names });
            let told = aws.ok("ReceiveMessage", asked);
            assert_eq!(told.texts("Body"), ["m"]);
            assert_eq!(told.texts("StringValue").len(), found, "{names}");
            assert_eq!(told.texts("MD5OfMessageAttributes").len(), found, "{names}");
        }
    });
}

#[test]
fn a_visibility_that_has_ended_is_changed_while_nobody_got_the_message() {
    // S3.7
    in_both(|server, aws| {
        let url = aws.create("q", json!({ "VisibilityTimeout": "5" }));
        send(aws, &url, "m");
        let handle = aws.receive(&url, 1).1.text("ReceiptHandle");
        server.clock.advance(Duration::from_secs(5));
        let ready = |aws: &mut Speaker| aws.attribute(&url, "ApproximateNumberOfMessages").unwrap();
        until(|| ready(aws) == "1");
        assert_eq!(aws.change(&url, &handle, 30).status, 200);
        assert_eq!(ready(aws), "0");
        assert!(aws.receive(&url, 1).0.is_empty());
        assert_eq!(aws.change(&url, &handle, 0).status, 200);
        assert_eq!(aws.receive(&url, 1).0, ["m"]);
    });
}

#[test]
fn the_receive_count_goes_on_in_the_dead_letter_queue() {
    // S6.4
    in_both(|server, aws| {
        let dead = aws.create("dead", json!({}));
        let target = aws.attribute(&dead, "QueueArn").unwrap();
        let policy = json!({ "deadLetterTargetArn": target, "maxReceiveCount": 1 }).to_string();
        let live = aws.create("q", json!({ "RedrivePolicy": policy, "VisibilityTimeout": "5" }));
        send(aws, &live, "m");
        let (_, told) = aws.receive(&live, 1);
        assert_eq!(told.attribute("ApproximateReceiveCount").as_deref(), Some("1"));
        server.clock.advance(Duration::from_secs(5));
        until(|| aws.attribute(&dead, "ApproximateNumberOfMessages").as_deref() == Some("1"));
        let (bodies, told) = aws.receive(&dead, 1);
        assert_eq!(bodies, ["m"]);
        assert_eq!(told.attribute("ApproximateReceiveCount").as_deref(), Some("2"));
    });
}

#[test]
fn the_header_of_a_trace_becomes_a_system_attribute() {
    in_both(|_, aws| {
        let url = aws.create("q", json!({}));
        let message = json!({ "QueueUrl": url, "MessageBody": "m" });
        let mut own = message.clone();
        let trace = json!({ "DataType": "String", "StringValue": "Root=own" });
        let name = match aws.protocol {
            Protocol::Json => "MessageSystemAttributes",
            Protocol::Query => "MessageSystemAttribute",
        };
        own[name] = json!({ "AWSTraceHeader": trace });
        let long = "x".repeat(2_000);
        for (header, message, found) in [
            ("Root=1;Sampled=1", &message, Some("Root=1;Sampled=1")),
            ("Root=1", &own, Some("Root=own")),
            ("", &message, None),
            ("Root=ü", &message, None),
            (&long, &message, None),
        ] {
            let headers = format!("X-Amzn-Trace-Id: {header}\r\n");
            let told = aws.ask_with(&headers, "SendMessage", message.clone());
            assert_eq!(told.status, 200, "{told:?}");
            // Only what the client sent as a parameter has a digest.
            let digests = told.texts("MD5OfMessageSystemAttributes").len();
            assert_eq!(digests, usize::from(message == &own));
            let (bodies, told) = aws.receive(&url, 1);
            assert_eq!(bodies, ["m"]);
            assert_eq!(told.attribute("AWSTraceHeader").as_deref(), found, "{header}");
        }
    });
}

#[test]
fn two_errors_have_another_name_in_json_than_their_code() {
    let server = sqs_client::TestServer::start();
    let mut client = server.connect();
    let url = client.create("q", json!({}));
    for (parameters, shape, code) in [
        (
            json!({ "QueueUrl": url, "MaxNumberOfMessages": 11 }),
            "com.amazon.coral.service#InvalidParameterValueException",
            "InvalidParameterValue;Sender",
        ),
        (
            json!({}),
            "com.amazon.coral.service#MissingRequiredParameterException",
            "MissingParameter;Sender",
        ),
        (
            json!({ "QueueUrl": "/0/none" }),
            "com.amazonaws.sqs#QueueDoesNotExist",
            "AWS.SimpleQueueService.NonExistentQueue;Sender",
        ),
    ] {
        let reply = client.call("ReceiveMessage", parameters);
        assert_eq!(reply.json()["__type"], shape);
        assert_eq!(reply.header("x-amzn-query-error"), Some(code));
    }
    in_both(|_, aws| {
        let url = aws.create("q", json!({}));
        let receive = |most: u32| json!({ "QueueUrl": url, "MaxNumberOfMessages": most });
        assert_eq!(aws.refused("ReceiveMessage", receive(11)).0, "InvalidParameterValue");
        assert_eq!(aws.refused("ReceiveMessage", json!({})).0, "MissingParameter");
        let entry = json!({ "Id": "a", "MessageBody": "m", "DelaySeconds": 901 });
        let batch = json!({ "QueueUrl": url, "Entries": [entry] });
        let told = aws.ok("SendMessageBatch", batch);
        assert_eq!(told.text("Code"), "InvalidParameterValue");
    });
}

#[test]
fn a_receive_out_of_range_is_told_the_range() {
    in_both(|_, aws| {
        let url = aws.create("q", json!({}));
        for (name, value, reason) in [
            ("WaitTimeSeconds", 21, "Must be >= 0 and <= 20, if provided."),
            ("WaitTimeSeconds", -1, "Must be >= 0 and <= 20, if provided."),
            ("MaxNumberOfMessages", 11, "Must be between 1 and 10, if provided."),
            ("MaxNumberOfMessages", 0, "Must be between 1 and 10, if provided."),
        ] {
            let text = format!("Value {value} for parameter {name} is invalid. Reason: {reason}");
            let refused = aws.refused("ReceiveMessage", json!({ "QueueUrl": url, name: value }));
            assert_eq!(refused, error("InvalidParameterValue", text));
        }
    });
}

#[test]
fn values_of_message_attributes_are_bad_values() {
    in_both(|_, aws| {
        let url = aws.create("q", json!({}));
        let text = "Message (user) attribute 'a' must contain a non-empty value of type 'String'.";
        let refused = aws.refused("SendMessage", with_attribute(&url, "a", "String", ""));
        assert_eq!(refused, error("InvalidParameterValue", text));
        let (code, text) = aws.refused("SendMessage", with_attribute(&url, "a", "String", "\u{1}"));
        assert_eq!(code, "InvalidParameterValue", "{text}");
        let body = json!({ "QueueUrl": url, "MessageBody": "\u{1}" });
        assert_eq!(aws.refused("SendMessage", body).0, "InvalidMessageContents");
    });
}

#[test]
fn names_of_message_attributes_may_have_accented_letters() {
    in_both(|_, aws| {
        let url = aws.create("q", json!({ "VisibilityTimeout": "0" }));
        let longest = "ø".repeat(256);
        for name in ["ø", "ß", "ä", "Äpfel.und-Bäume_1", "ſ", longest.as_str()] {
            aws.ok("SendMessage", with_attribute(&url, name, "String", "v"));
        }
        let (_, told) = aws.receive(&url, 10);
        assert_eq!(told.texts("MD5OfMessageAttributes").len(), 6, "{told:?}");
        let too_long = "ø".repeat(257);
        for name in [
            "!",
            "\"",
            "§",
            "(",
            "?",
            "×",
            "÷",
            "ƀ",
            "日",
            "a b",
            ".a",
            "a.",
            "a..b",
            "aws.a",
            "AWS.a",
            "Amazon.a",
            "aMaZoN.a",
            too_long.as_str(),
        ] {
            let (code, text) =
                aws.refused("SendMessage", with_attribute(&url, name, "String", "v"));
            assert_eq!(code, "InvalidParameterValue", "{name}: {text}");
        }
    });
}

#[test]
fn a_handle_that_is_none_is_shown() {
    in_both(|_, aws| {
        let url = aws.create("q", json!({}));
        let none = |handle: &str| {
            let text =
                format!("The input receipt handle \"{handle}\" is not a valid receipt handle.");
            error("ReceiptHandleIsInvalid", text)
        };
        let long = "x".repeat(300);
        for handle in ["garbage", &long] {
            let delete = json!({ "QueueUrl": url, "ReceiptHandle": handle });
            assert_eq!(aws.refused("DeleteMessage", delete), none(handle));
            let entries = json!([{ "Id": "a", "ReceiptHandle": handle }]);
            let batch = json!({ "QueueUrl": url, "Entries": entries });
            let told = aws.ok("DeleteMessageBatch", batch);
            assert_eq!((told.text("Code"), told.text("Message")), none(handle));
        }
        // An error does not repeat a megabyte.
        let delete = json!({ "QueueUrl": url, "ReceiptHandle": "x".repeat(1 << 20) });
        let (code, text) = aws.refused("DeleteMessage", delete);
        assert_eq!(code, "ReceiptHandleIsInvalid");
        assert!(text.len() < 2_000, "{}", text.len());
        let told = aws.change(&url, "garbage", 1);
        let text = "The input receipt handle is invalid.";
        assert_eq!((told.status, told.error()), (400, error("ReceiptHandleIsInvalid", text)));
    });
}

#[test]
fn a_change_of_a_deleted_message_shows_the_whole_handle() {
    in_both(|_, aws| {
        let url = aws.create("q", json!({}));
        send(aws, &url, "m");
        let handle = aws.receive(&url, 1).1.text("ReceiptHandle");
        aws.ok("DeleteMessage", json!({ "QueueUrl": url, "ReceiptHandle": handle }));
        let text = format!(
            "Value {handle} for parameter ReceiptHandle is invalid. Reason: Message does not \
             exist or is not available for visibility timeout change."
        );
        let expected = error("InvalidParameterValue", text);
        for seconds in [0, 5] {
            let told = aws.change(&url, &handle, seconds);
            assert_eq!((told.status, told.error()), (400, expected.clone()));
            let entry = json!({ "Id": "a", "ReceiptHandle": handle, "VisibilityTimeout": seconds });
            let batch = json!({ "QueueUrl": url, "Entries": [entry] });
            let told = aws.ok("ChangeMessageVisibilityBatch", batch);
            assert_eq!((told.text("Code"), told.text("Message")), expected);
        }
    });
}

#[test]
fn a_message_above_the_size_of_its_queue_has_a_text_for_each_action() {
    in_both(|_, aws| {
        let url = aws.create("q", json!({ "MaximumMessageSize": "1024" }));
        let body = "x".repeat(1025);
        let reason = "Reason: Message must be shorter than 1024 bytes.";
        let refused = aws.refused("SendMessage", json!({ "QueueUrl": url, "MessageBody": body }));
        let text = format!("One or more parameters are invalid. {reason}");
        assert_eq!(refused, error("InvalidParameterValue", text));
        let entries = json!([{ "Id": "a", "MessageBody": body }]);
        let told = aws.ok("SendMessageBatch", json!({ "QueueUrl": url, "Entries": entries }));
        let text = format!("One or more parameters cannot be validated. {reason}");
        let expected = error("InvalidParameterValue", text);
        assert_eq!((told.text("Code"), told.text("Message")), expected);
        assert_eq!(told.text("SenderFault"), "true");
    });
}
