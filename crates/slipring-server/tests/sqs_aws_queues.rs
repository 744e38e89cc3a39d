//! Queues as AWS was seen to answer about them, in both protocols: attributes, paths, move tasks,
//! permissions. The texts are those of AWS.

#![allow(clippy::unwrap_used, clippy::panic)]

mod sqs_client;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use slipring_wire::sqs::Protocol;
use sqs_client::both::{Speaker, Told, in_both};
use sqs_client::{arn, until};

/// An error as [`Speaker::refused`] gives it.
fn error(code: &str, text: impl Into<String>) -> (String, String) {
    (code.to_string(), text.into())
}

fn refused_set(aws: &mut Speaker, url: &str, name: &str, value: &str) -> (String, String) {
    aws.refused("SetQueueAttributes", json!({ "QueueUrl": url, "Attributes": { name: value } }))
}

fn set(aws: &mut Speaker, url: &str, attributes: Value) {
    aws.ok("SetQueueAttributes", json!({ "QueueUrl": url, "Attributes": attributes }));
}

#[test]
fn booleans_may_begin_with_a_capital_letter() {
    in_both(|_, aws| {
        let both = |yes: &str, no: &str| {
            let (fifo, dedup) = ("FifoQueue", "ContentBasedDeduplication");
            json!({ fifo: yes, dedup: yes, "SqsManagedSseEnabled": no })
        };
        let url = aws.create("q.fifo", both("True", "False"));
        for (name, value) in [
            ("FifoQueue", "true"),
            ("ContentBasedDeduplication", "true"),
            ("SqsManagedSseEnabled", "false"),
        ] {
            assert_eq!(aws.attribute(&url, name).as_deref(), Some(value), "{name}");
        }
        assert_eq!(aws.create("q.fifo", both("true", "false")), url);
        assert_eq!(aws.create("q.fifo", both("True", "False")), url);
        // Messages go by it: the body is the deduplication id.
        let message = json!({ "QueueUrl": url, "MessageBody": "m", "MessageGroupId": "g" });
        let first = aws.ok("SendMessage", message.clone()).text("MessageId");
        assert_eq!(aws.ok("SendMessage", message).text("MessageId"), first);
        set(aws, &url, json!({ "FifoQueue": "True", "ContentBasedDeduplication": "False" }));
        let kept = aws.attribute(&url, "ContentBasedDeduplication");
        assert_eq!(kept.as_deref(), Some("false"));
        for odd in ["TRUE", "tru", "1"] {
            let (code, _) = refused_set(aws, &url, "ContentBasedDeduplication", odd);
            assert_eq!(code, "InvalidAttributeValue", "{odd}");
        }
    });
}

#[test]
fn a_standard_queue_names_no_attribute_of_fifo_queues() {
    in_both(|_, aws| {
        let unknown =
            |name: &str| error("InvalidAttributeName", format!("Unknown Attribute {name}."));
        let only = |name: &str| {
            let text = format!("You can specify the {name} only when FifoQueue is set to true.");
            error("InvalidAttributeName", text)
        };
        // Before the queue exists, and when it does.
        for _ in 0..2 {
            for (name, value, expected) in [
                ("FifoQueue", "false", unknown("FifoQueue")),
                ("FifoQueue", "False", unknown("FifoQueue")),
                ("ContentBasedDeduplication", "false", unknown("ContentBasedDeduplication")),
                ("ContentBasedDeduplication", "true", unknown("ContentBasedDeduplication")),
                ("DeduplicationScope", "queue", only("DeduplicationScope")),
                ("DeduplicationScope", "messageGroup", only("DeduplicationScope")),
                ("FifoThroughputLimit", "perQueue", only("FifoThroughputLimit")),
            ] {
                let made = json!({ "QueueName": "q", "Attributes": { name: value } });
                assert_eq!(aws.refused("CreateQueue", made), expected, "{name}={value}");
            }
            aws.create("q", json!({}));
        }
    });
}

#[test]
fn the_type_of_a_queue_cannot_be_changed() {
    in_both(|_, aws| {
        let url = aws.create("q", json!({}));
        let unknown = error("InvalidAttributeName", "Unknown Attribute FifoQueue.");
        for value in ["true", "false", "True"] {
            assert_eq!(refused_set(aws, &url, "FifoQueue", value), unknown, "{value}");
        }
        let url = aws.create("q.fifo", json!({ "FifoQueue": "true" }));
        set(aws, &url, json!({ "FifoQueue": "true" }));
        let text = "Invalid value for the parameter FifoQueue. Reason: Modifying queue type is \
                    not supported.";
        let modified = error("InvalidAttributeValue", text);
        assert_eq!(refused_set(aws, &url, "FifoQueue", "false"), modified);
    });
}

#[test]
fn an_existing_queue_names_the_attribute_that_differs() {
    in_both(|_, aws| {
        let attributes = json!({ "DelaySeconds": "1", "VisibilityTimeout": "7" });
        let url = aws.create("q", attributes.clone());
        assert_eq!(aws.create("q", attributes), url);
        for (attributes, name) in [
            (json!({ "DelaySeconds": "2" }), "DelaySeconds"),
            (json!({ "DelaySeconds": "1", "VisibilityTimeout": "8" }), "VisibilityTimeout"),
            (json!({ "VisibilityTimeout": "8", "DelaySeconds": "2" }), "DelaySeconds"),
            (json!({ "Policy": "{}" }), "Policy"),
        ] {
            let text = format!(
                "A queue already exists with the same name and a different value for attribute \
                 {name}"
            );
            let again = json!({ "QueueName": "q", "Attributes": attributes });
            assert_eq!(aws.refused("CreateQueue", again), error("QueueAlreadyExists", text));
        }
    });
}

#[test]
fn a_key_ends_the_encryption_without_one_and_shows_its_period() {
    in_both(|_, aws| {
        let url = aws.create("q", json!({}));
        let (key, period) = ("KmsMasterKeyId", "KmsDataKeyReusePeriodSeconds");
        assert_eq!(aws.attribute(&url, "SqsManagedSseEnabled").as_deref(), Some("true"));
        set(aws, &url, json!({ key: "alias/x", period: "600" }));
        assert_eq!(aws.attribute(&url, key).as_deref(), Some("alias/x"));
        assert_eq!(aws.attribute(&url, period).as_deref(), Some("600"));
        assert_eq!(aws.attribute(&url, "SqsManagedSseEnabled").as_deref(), Some("false"));
        set(aws, &url, json!({ key: "", period: "300" }));
        assert_eq!(aws.attribute(&url, key), None);
        assert_eq!(aws.attribute(&url, period), None);
        assert_eq!(aws.attribute(&url, "SqsManagedSseEnabled").as_deref(), Some("false"));
        let made = json!({ key: "alias/x", "SqsManagedSseEnabled": "false", period: "300" });
        let url = aws.create("other", json!({ key: "alias/x" }));
        assert_eq!(aws.attribute(&url, period).as_deref(), Some("300"));
        assert_eq!(aws.create("other", made), url);
    });
}

#[test]
fn a_queue_that_is_not_there_has_a_text_for_each_protocol() {
    in_both(|_, aws| {
        let text = match aws.protocol {
            Protocol::Json => "The specified queue does not exist.",
            Protocol::Query => "The specified queue does not exist for this wsdl version.",
        };
        let expected = error("AWS.SimpleQueueService.NonExistentQueue", text);
        assert_eq!(aws.refused("GetQueueUrl", json!({ "QueueName": "q" })), expected);
        assert_eq!(aws.refused("DeleteQueue", json!({ "QueueUrl": "/0/q" })), expected);
    });
}

#[test]
fn a_single_attribute_may_leave_its_number_out() {
    let server = sqs_client::TestServer::start();
    let mut client = server.connect();
    let made = "Action=CreateQueue&QueueName=q&Attribute.Name=DelaySeconds&Attribute.Value=5";
    let url = Told::of(Protocol::Query, &client.query("/", made)).text("QueueUrl");
    assert_eq!(client.attribute(&url, "DelaySeconds").as_deref(), Some("5"));
}

#[test]
fn a_queues_path_takes_only_actions_on_a_queue() {
    let server = sqs_client::TestServer::start();
    let mut client = server.connect();
    let url = client.create("q", json!({}));
    client.create("other", json!({}));
    let path = "/000000000000/q";
    for action in ["Nothing", "CreateQueue&QueueName=x", "ListQueues"] {
        let name = action.split('&').next().unwrap();
        let text = format!("The action {name} is not valid for this endpoint.");
        let expected = error("InvalidAction", text);
        client.ask("GET", &format!("{path}?Action={action}"), "", b"");
        let told = Told::of(Protocol::Query, &client.reply());
        assert_eq!((told.status, told.error()), (400, expected.clone()));
        let told = Told::of(Protocol::Query, &client.query(path, &format!("Action={action}")));
        assert_eq!((told.status, told.error()), (400, expected));
    }
    // GetQueueUrl works there for any queue, and a QueueUrl wins over the path.
    client.ask("GET", &format!("{path}?Action=GetQueueUrl&QueueName=other"), "", b"");
    let told = Told::of(Protocol::Query, &client.reply());
    assert_eq!(told.text("QueueUrl"), url.replace("/q", "/other"));
    let attribute = "Action=GetQueueAttributes&AttributeName.1=QueueArn";
    client.ask("GET", &format!("{path}?{attribute}&QueueUrl=/0/other"), "", b"");
    let told = Told::of(Protocol::Query, &client.reply());
    assert_eq!(told.attribute("QueueArn"), Some(arn("other")));
    // JSON goes on working on a queue's path, and `/` is open for all.
    client.ask("POST", path, "X-Amz-Target: AmazonSQS.ListQueues\r\n", b"{}");
    assert_eq!(client.reply().json()["QueueUrls"].as_array().unwrap().len(), 2);
    for action in ["CreateQueue&QueueName=x", "ListQueues"] {
        client.ask("GET", &format!("/?Action={action}"), "", b"");
        assert_eq!(client.reply().status, 200, "{action}");
    }
}

#[test]
fn a_queues_path_alone_is_an_unknown_operation() {
    let server = sqs_client::TestServer::start();
    let mut client = server.connect();
    client.create("q", json!({}));
    for headers in ["", "Accept: application/json\r\n"] {
        client.ask("GET", "/000000000000/q", headers, b"");
        let reply = client.reply();
        let read = (reply.status, reply.text());
        assert_eq!(read, (404, "<UnknownOperationException/>".to_string()));
        assert_eq!(reply.header("content-type"), Some("text/xml"));
    }
    client.ask("GET", "/", "", b"");
    assert_eq!(client.reply().status, 400);
}

#[test]
fn an_element_without_content_is_written_as_one_tag() {
    let server = sqs_client::TestServer::start();
    let mut client = server.connect();
    client.create("q", json!({}));
    let text = client.query("/000000000000/q", "Action=ReceiveMessage").text();
    assert!(text.contains("<ReceiveMessageResult/><ResponseMetadata>"), "{text}");
    let text = client.query("/000000000000/q", "Action=Nothing").text();
    assert!(text.contains("<Detail/>"), "{text}");
}

/// The source and the target of dead letters, `count` of them in the target.
fn with_dead_letters(aws: &mut Speaker, count: u32) {
    let dead = aws.create("dead", json!({}));
    let policy = json!({ "deadLetterTargetArn": arn("dead"), "maxReceiveCount": 1 });
    aws.create("live", json!({ "RedrivePolicy": policy.to_string() }));
    for number in 0..count {
        let body = number.to_string();
        aws.ok("SendMessage", json!({ "QueueUrl": dead, "MessageBody": body }));
    }
}

#[test]
fn a_second_move_of_a_source_is_a_bad_value_and_a_task_id_is_a_uuid() {
    in_both(|_, aws| {
        with_dead_letters(aws, 5);
        aws.create("other", json!({}));
        let start = json!({
            "SourceArn": arn("dead"),
            "DestinationArn": arn("other"),
            "MaxNumberOfMessagesPerSecond": 1,
        });
        let handle = aws.ok("StartMessageMoveTask", start.clone()).text("TaskHandle");
        let inside: Value = serde_json::from_slice(&STANDARD.decode(&handle).unwrap()).unwrap();
        assert_eq!(inside["sourceArn"], arn("dead"));
        let id = inside["taskId"].as_str().unwrap();
        let lengths: Vec<usize> = id.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12], "{id}");
        assert!(id.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit()), "{id}");
        let text = "There is already a task running. Only one active task is allowed for a \
                    source queue arn at a given time.";
        let expected = error("InvalidParameterValue", text);
        assert_eq!(aws.refused("StartMessageMoveTask", start.clone()), expected);
        aws.ok("CancelMessageMoveTask", json!({ "TaskHandle": handle }));
        let tasks = json!({ "SourceArn": arn("dead") });
        until(|| aws.ok("ListMessageMoveTasks", tasks.clone()).text("Status") == "CANCELLED");
        let next = aws.ok("StartMessageMoveTask", start).text("TaskHandle");
        assert_ne!(next, handle);
    });
}

#[test]
fn a_cancellation_says_what_of_its_handle_is_wrong() {
    in_both(|_, aws| {
        with_dead_letters(aws, 0);
        let handle = |source: &str| {
            let id = "c5b5fa9e-1f8b-4b8c-9c2f-6d0e9b7a4f11";
            STANDARD.encode(json!({ "taskId": id, "sourceArn": source }).to_string())
        };
        let unreadable =
            error("InvalidParameterValue", "Value for parameter TaskHandle is invalid.");
        for bad in ["x", "***", &STANDARD.encode("{}"), &STANDARD.encode([0xff])] {
            let refused = aws.refused("CancelMessageMoveTask", json!({ "TaskHandle": bad }));
            assert_eq!(refused, unreadable, "{bad}");
        }
        for (source, text) in [
            (
                arn("none"),
                "The resource that you specified for the SourceArn parameter doesn't exist.",
            ),
            (
                "none".to_string(),
                "The resource that you specified for the SourceArn parameter doesn't exist.",
            ),
            (arn("dead"), "Task does not exist."),
        ] {
            let told = aws.ask("CancelMessageMoveTask", json!({ "TaskHandle": handle(&source) }));
            let expected = error("ResourceNotFoundException", text);
            assert_eq!((told.status, told.error()), (404, expected));
        }
    });
}

#[test]
fn a_move_names_the_queue_that_is_not_there() {
    in_both(|_, aws| {
        with_dead_letters(aws, 0);
        for (source, destination, parameter) in
            [("dead", "none", "DestinationArn"), ("none", "live", "SourceArn")]
        {
            let start = json!({ "SourceArn": arn(source), "DestinationArn": arn(destination) });
            let told = aws.ask("StartMessageMoveTask", start);
            let text = format!(
                "The resource that you specified for the {parameter} parameter doesn't exist."
            );
            let expected = error("ResourceNotFoundException", text);
            assert_eq!((told.status, told.error()), (404, expected));
        }
    });
}

#[test]
fn a_move_is_told_the_form_of_an_arn() {
    in_both(|_, aws| {
        with_dead_letters(aws, 0);
        for bad in ["x", "arn:aws:sqs", "arn:aws:sqs:us-east-1:0", "urn:aws:sqs:us-east-1:0:q"] {
            let source = json!({ "SourceArn": bad });
            let target = json!({ "SourceArn": arn("dead"), "DestinationArn": bad });
            for (action, parameters, parameter) in [
                ("StartMessageMoveTask", source.clone(), "SourceArn"),
                ("StartMessageMoveTask", target, "DestinationArn"),
                ("ListMessageMoveTasks", source, "SourceArn"),
            ] {
                let text = format!(
                    "You must use this format to specify the {parameter}: \
                     arn:<partition>:<service>:<region>:<account-id>:<resource-id>"
                );
                let refused = aws.refused(action, parameters);
                assert_eq!(refused, error("InvalidParameterValue", text), "{action} {bad}");
            }
        }
    });
}

#[test]
fn the_policy_of_permissions_goes_with_the_last_of_them() {
    in_both(|_, aws| {
        let url = aws.create("q", json!({}));
        let label = |label: &str| json!({ "QueueUrl": url, "Label": label });
        for name in ["one", "two"] {
            let mut add = label(name);
            add["AWSAccountIds"] = json!(["123456789012"]);
            add["Actions"] = json!(["SendMessage"]);
            aws.ok("AddPermission", add);
        }
        let policy: Value = serde_json::from_str(&aws.attribute(&url, "Policy").unwrap()).unwrap();
        assert_eq!(policy["Version"], "2008-10-17");
        assert_eq!(policy["Statement"].as_array().unwrap().len(), 2);
        let text = "Value three for parameter Label is invalid. Reason: can't find label.";
        let expected = error("InvalidParameterValue", text);
        assert_eq!(aws.refused("RemovePermission", label("three")), expected);
        aws.ok("RemovePermission", label("one"));
        assert!(aws.attribute(&url, "Policy").is_some());
        aws.ok("RemovePermission", label("two"));
        let asked = json!({ "QueueUrl": url, "AttributeNames": ["Policy"] });
        assert!(aws.ok("GetQueueAttributes", asked).attributes().is_empty());
        assert_eq!(aws.refused("RemovePermission", label("three")), expected);
    });
}
