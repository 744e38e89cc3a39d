//! The attributes of queues over SQS: set, shown, and compared by CreateQueue.

#![allow(clippy::unwrap_used, clippy::panic)]

mod sqs_client;

use std::time::Duration;

use serde_json::{Value, json};
use sqs_client::both::in_both;
use sqs_client::{Client, TestServer, arn};

const MINUTE: Duration = Duration::from_secs(60);

#[test]
fn creating_again_compares_the_attributes_that_are_named() {
    // S14.2
    let server = TestServer::start();
    let mut client = server.connect();
    let url = client.create("q", json!({ "VisibilityTimeout": "7", "Policy": "{}" }));
    assert_eq!(client.create("q", json!({})), url);
    assert_eq!(client.create("q", json!({ "VisibilityTimeout": "7", "DelaySeconds": "0" })), url);
    for other in [json!({ "VisibilityTimeout": "8" }), json!({ "Policy": "{\"a\":1}" })] {
        let again = json!({ "QueueName": "q", "Attributes": other });
        assert_eq!(client.refused("CreateQueue", again), "QueueAlreadyExists");
    }
}

#[test]
fn creating_again_compares_what_attributes_mean() {
    // S14.2
    let server = TestServer::start();
    let mut client = server.connect();
    let attributes = |wait: &str, policy: &str| -> Value {
        json!({ "ReceiveMessageWaitTimeSeconds": wait, "Policy": policy })
    };
    let url = client.create("q", attributes("007", "{ \"a\": 1 }"));
    assert_eq!(client.create("q", attributes("+7", "{\"a\":1}")), url);
}

#[test]
fn a_queue_of_others_is_created_again_with_what_it_shows() {
    // S14.2
    let server = TestServer::start();
    let mut client = server.connect();
    let settings = slipring::QueueSettings {
        visibility_timeout: Duration::from_millis(7_500),
        delay: Duration::from_millis(500),
        ..slipring::QueueSettings::default()
    };
    let small = slipring::QueueSettings { message_bytes_max: 5_000, ..settings.clone() };
    for (name, settings) in [("q", settings), ("small", small)] {
        server.runtime.block_on(server.engine.create_queue(name, settings)).unwrap();
        let url = client.ok("GetQueueUrl", json!({ "QueueName": name }))["QueueUrl"].clone();
        let all = json!({ "QueueUrl": url, "AttributeNames": ["All"] });
        let mut shown = client.ok("GetQueueAttributes", all)["Attributes"].clone();
        let counted = |name: &str| {
            name.starts_with("Approximate") || name.ends_with("Timestamp") || name == "QueueArn"
        };
        shown.as_object_mut().unwrap().retain(|name, _| !counted(name));
        assert_eq!(shown["MessageRetentionPeriod"], "1209600");
        assert_eq!(client.create(name, shown), url);
        let other = json!({ "MessageRetentionPeriod": "345600" });
        let again = json!({ "QueueName": name, "Attributes": other });
        assert_eq!(client.refused("CreateQueue", again), "QueueAlreadyExists");
    }
}

#[test]
fn attributes_are_set_and_described() {
    let server = TestServer::start();
    let mut client = server.connect();
    let url = client.create("q", json!({}));
    let all =
        client.ok("GetQueueAttributes", json!({ "QueueUrl": url, "AttributeNames": ["All"] }));
    for (name, value) in [
        ("VisibilityTimeout", "30"),
        ("MaximumMessageSize", "1048576"),
        ("MessageRetentionPeriod", "345600"),
        ("ApproximateNumberOfMessages", "0"),
        ("ApproximateNumberOfMessagesNotVisible", "0"),
        ("ApproximateNumberOfMessagesDelayed", "0"),
        ("CreatedTimestamp", "1700000000"),
        ("LastModifiedTimestamp", "1700000000"),
        ("QueueArn", &arn("q")),
        ("DelaySeconds", "0"),
        ("ReceiveMessageWaitTimeSeconds", "0"),
        ("SqsManagedSseEnabled", "true"),
    ] {
        assert_eq!(all["Attributes"][name], value, "{name}");
    }
    assert_eq!(all["Attributes"].as_object().unwrap().len(), 12, "{all}");
    server.clock.advance(MINUTE);
    let set = json!({ "KmsMasterKeyId": "alias/x", "VisibilityTimeout": "5" });
    client.ok("SetQueueAttributes", json!({ "QueueUrl": url, "Attributes": set }));
    assert_eq!(client.attribute(&url, "KmsMasterKeyId").as_deref(), Some("alias/x"));
    assert_eq!(client.attribute(&url, "VisibilityTimeout").as_deref(), Some("5"));
    assert_eq!(client.attribute(&url, "LastModifiedTimestamp").as_deref(), Some("1700000060"));
    let fifo = json!({ "QueueUrl": url, "Attributes": { "ContentBasedDeduplication": "true" } });
    assert_eq!(client.refused("SetQueueAttributes", fifo), "InvalidAttributeName");
    let none = json!({ "QueueUrl": url });
    assert_eq!(client.ok("GetQueueAttributes", none), json!({}));
}

#[test]
fn spaces_around_names_are_passed_over() {
    let server = TestServer::start();
    let mut client = server.connect();
    let url = client.create("q", json!({ " DelaySeconds ": "5" }));
    let set = json!({ "QueueUrl": url, "Attributes": { "VisibilityTimeout ": "7" } });
    client.ok("SetQueueAttributes", set);
    let mut shown = |names: Value| {
        let asked = json!({ "QueueUrl": url, "AttributeNames": names });
        client.ok("GetQueueAttributes", asked)["Attributes"].clone()
    };
    let both = json!({ "DelaySeconds": "5", "VisibilityTimeout": "7" });
    assert_eq!(shown(json!(["DelaySeconds ", " VisibilityTimeout"])), both);
    assert_eq!(shown(json!([" All "])), shown(json!(["All"])));
}

#[test]
fn redrive_policies_are_checked() {
    let server = TestServer::start();
    let mut client = server.connect();
    let url = client.create("q", json!({}));
    client.create("dead", json!({}));
    client.create("dead.fifo", json!({ "FifoQueue": "true" }));
    let closed = json!({ "redrivePermission": "denyAll" }).to_string();
    client.create("closed", json!({ "RedriveAllowPolicy": closed }));
    let picky =
        json!({ "redrivePermission": "byQueue", "sourceQueueArns": [arn("q")] }).to_string();
    client.create("picky", json!({ "RedriveAllowPolicy": picky }));
    let set = |client: &mut Client, name: &str, value: String| {
        let attributes = json!({ "QueueUrl": url, "Attributes": { name: value } });
        client.call("SetQueueAttributes", attributes).status
    };
    let policy = |target: &str, count: Value| {
        json!({ "deadLetterTargetArn": arn(target), "maxReceiveCount": count }).to_string()
    };
    let kept = policy("dead", json!(7));
    assert_eq!(set(&mut client, "RedrivePolicy", kept.clone()), 200);
    let further = json!({ "deadLetterTargetArn": arn("dead"), "maxReceiveCount": 1, "a": 1 });
    for bad in [
        "{".to_string(),
        "[]".to_string(),
        "{}".to_string(),
        json!({ "DeadLetterTargetArn": arn("dead"), "MaxReceiveCount": 1 }).to_string(),
        json!({ "maxReceiveCount": 1 }).to_string(),
        further.to_string(),
        policy("dead", json!(0)),
        policy("dead", json!(1001)),
        policy("dead", json!("x")),
        policy("none", json!(1)),
        policy("dead.fifo", json!(1)),
        policy("closed", json!(1)),
        json!({ "deadLetterTargetArn": "arn:aws:sqs:eu-west-1:1:dead", "maxReceiveCount": 1 })
            .to_string(),
    ] {
        assert_eq!(set(&mut client, "RedrivePolicy", bad.clone()), 400, "{bad}");
        let shown = client.attribute(&url, "RedrivePolicy").unwrap_or_default();
        let shown = serde_json::from_str(&shown).unwrap_or(Value::Null);
        assert_eq!(shown, serde_json::from_str::<Value>(&kept).unwrap(), "{bad}");
    }
    for good in [policy("dead", json!("5")), policy("picky", json!(1000))] {
        assert_eq!(set(&mut client, "RedrivePolicy", good), 200);
    }
    assert_eq!(set(&mut client, "RedrivePolicy", String::new()), 200);
    assert_eq!(client.attribute(&url, "RedrivePolicy"), None);
    for bad in ["{", "{\"redrivePermission\":\"maybe\"}", "{\"redrivePermission\":\"byQueue\"}"] {
        assert_eq!(set(&mut client, "RedriveAllowPolicy", bad.to_string()), 400, "{bad}");
    }
}

#[test]
fn a_redrive_policy_has_both_members_and_no_other() {
    in_both(|_, aws| {
        let url = aws.create("q", json!({}));
        let (target, count) = (json!({ "deadLetterTargetArn": arn("q") }), "maxReceiveCount");
        let lacks = |name| format!("Redrive policy does not contain mandatory attribute: {name}.");
        let mut further = target.clone();
        further[count] = json!(1);
        further["a"] = json!("b");
        let only = "Only following attributes are supported: [deadLetterTargetArn, \
                    maxReceiveCount].";
        for (policy, reason) in [
            (json!({}), lacks(count)),
            (json!({ "DeadLetterTargetArn": arn("q"), "MaxReceiveCount": 1 }), lacks(count)),
            (target, lacks(count)),
            (json!({ count: 1 }), lacks("deadLetterTargetArn")),
            (further, only.to_string()),
        ] {
            let policy = policy.to_string();
            let text =
                format!("Value {policy} for parameter RedrivePolicy is invalid. Reason: {reason}");
            let set = json!({ "QueueUrl": url, "Attributes": { "RedrivePolicy": policy } });
            let refused = aws.refused("SetQueueAttributes", set);
            assert_eq!(refused, ("InvalidParameterValue".to_string(), text));
        }
        for policy in ["{", "[]", "4", " "] {
            let set = json!({ "QueueUrl": url, "Attributes": { "RedrivePolicy": policy } });
            let text = "Invalid value for the parameter RedrivePolicy. Reason: Redrive policy is \
                        not a valid JSON map.";
            let refused = aws.refused("SetQueueAttributes", set);
            assert_eq!(refused, ("InvalidAttributeValue".to_string(), text.to_string()));
        }
    });
}

#[test]
fn a_redrive_policy_is_shown_in_one_form() {
    in_both(|_, aws| {
        let target = arn("dead");
        aws.create("dead", json!({}));
        let spaced =
            format!("{{ \"maxReceiveCount\" : \"5\", \"deadLetterTargetArn\" : \"{target}\" }}");
        let url = aws.create("q", json!({ "RedrivePolicy": spaced }));
        let shown = aws.attribute(&url, "RedrivePolicy");
        // As the suite of moto expects it.
        let one = format!("{{\"deadLetterTargetArn\": \"{target}\", \"maxReceiveCount\": 5}}");
        assert_eq!(shown.as_deref(), Some(one.as_str()));
        assert_eq!(aws.create("q", json!({ "RedrivePolicy": one })), url);
    });
}

#[test]
fn a_queue_is_encrypted_in_one_way() {
    in_both(|_, aws| {
        let (key, managed) = ("KmsMasterKeyId", "SqsManagedSseEnabled");
        let text = "You can use one type of server-side encryption (SSE) at one time. You can \
                    either enable KMS SSE or SQS SSE.";
        let one = ("InvalidAttributeName".to_string(), text.to_string());
        let both = json!({ key: "alias/x", managed: "true" });
        let made = json!({ "QueueName": "q", "Attributes": both });
        assert_eq!(aws.refused("CreateQueue", made), one);
        let url = aws.create("q", json!({}));
        let set = |attributes: Value| json!({ "QueueUrl": url, "Attributes": attributes });
        assert_eq!(aws.refused("SetQueueAttributes", set(both)), one);
        assert_eq!(aws.attribute(&url, key), None);
        aws.ok("SetQueueAttributes", set(json!({ key: "alias/x", managed: "false" })));
        let alone = set(json!({ managed: "True" }));
        assert_eq!(aws.refused("SetQueueAttributes", alone), one);
        assert_eq!(aws.attribute(&url, managed).as_deref(), Some("false"));
        aws.ok("SetQueueAttributes", set(json!({ key: "", managed: "true" })));
        assert_eq!(aws.attribute(&url, key), None);
        assert_eq!(aws.attribute(&url, managed).as_deref(), Some("true"));
    });
}
