//! The SQS protocols by recorded requests, and their answers byte by byte.

#![allow(clippy::unwrap_used, clippy::panic)]

mod sqs_transcript;

use std::collections::{BTreeMap, BTreeSet};

use slipring_wire::sqs::{
    Action, Answer, AttributeValue, BatchAnswer, CreateQueueAnswer, DeleteMessageBatchAnswer,
    ErrorCode, GetQueueAttributesAnswer, Head, Limits, ListQueuesAnswer, Protocol,
    ReceiveMessageAnswer, ReceivedMessage, Request, Response, SendMessageAnswer,
    SendMessageBatchAnswer, SentEntry, SqsError,
};
use sqs_transcript::{Claim, Sent};

/// Reads and checks a request.
fn take(sent: &Sent) -> Result<Action, SqsError> {
    let request = sent.parse()?;
    request.action.check(&Limits::default())?;
    Ok(request.action)
}

#[test]
fn recorded_requests_are_read_as_the_transcripts_say() {
    for (requests, claim) in sqs_transcript::all() {
        match claim {
            Claim::Equal => {
                let first =
                    take(&requests[0]).unwrap_or_else(|e| panic!("{}: {e}", requests[0].place));
                for request in &requests[1..] {
                    assert_eq!(take(request).as_ref(), Ok(&first), "{}", request.place);
                }
            }
            Claim::Refused { status, shape, code, text } => {
                for request in &requests {
                    let error = take(request).expect_err(&request.place);
                    assert_eq!(error.code.status(), status, "{} {error}", request.place);
                    assert_eq!(error.code.shape(), shape, "{} {error}", request.place);
                    assert_eq!(error.code.code(), code, "{} {error}", request.place);
                    if let Some(text) = &text {
                        assert_eq!(&error.message, text, "{}", request.place);
                    }
                }
            }
        }
    }
}

#[test]
fn the_transcripts_have_every_action_in_both_protocols() {
    let mut seen = BTreeSet::new();
    for (requests, claim) in sqs_transcript::all() {
        if matches!(claim, Claim::Equal) {
            for request in requests.iter().filter_map(|request| request.parse().ok()) {
                seen.insert((request.action.name(), request.protocol == Protocol::Json));
            }
        }
    }
    for name in Action::NAMES {
        assert!(seen.contains(&(*name, true)) && seen.contains(&(*name, false)), "{name}");
    }
    assert_eq!(Action::NAMES.len(), 23);
}

fn json(action: &str, body: &str) -> Result<Request, SqsError> {
    let target = format!("AmazonSQS.{action}");
    let head = Head { method: "POST", path: "/", target: Some(target.as_str()), ..Head::default() };
    Request::parse(&head, body.as_bytes())
}

#[test]
fn huge_counts_are_counted_and_not_kept() {
    let many = "{},".repeat(200_000);
    let body = format!("{{\"QueueUrl\": \"q\", \"Entries\": [{many}{{}}]}}");
    let request = json("SendMessageBatch", &body).unwrap();
    let error = request.action.check(&Limits::default()).unwrap_err();
    assert_eq!(error.code, ErrorCode::TooManyEntriesInBatchRequest);
    assert!(error.message.ends_with("You have sent 200001."), "{}", error.message);
}

#[test]
fn deep_json_is_an_error_of_the_protocol() {
    let deep = "[".repeat(1_000_000);
    for body in [format!("{{\"X\": {deep}"), format!("{{\"Entries\": {deep}"), deep.clone()] {
        let refused = json("SendMessageBatch", &body).map(|_| ()).unwrap_err();
        assert_eq!(refused.code, ErrorCode::Serialization);
    }
}

#[test]
fn a_form_with_too_many_parameters_is_refused() {
    let head = Head { method: "POST", path: "/", ..Head::default() };
    let body = format!("Action=ListQueues{}", "&a=b".repeat(100_000));
    let refused = Request::parse(&head, body.as_bytes()).unwrap_err();
    assert_eq!(refused.code, ErrorCode::MalformedQuery);
}

#[test]
fn other_methods_are_not_found() {
    for method in ["PUT", "DELETE", "HEAD", "x"] {
        let head = Head { method, path: "/", query: Some("Action=ListQueues"), ..Head::default() };
        assert_eq!(Request::parse(&head, b"").unwrap_err().code, ErrorCode::NotFound);
    }
}

#[test]
fn a_trace_in_the_head_goes_with_a_single_message() {
    let read = |action: &str, trace| {
        let target = format!("AmazonSQS.{action}");
        let head = Head { method: "POST", path: "/", target: Some(&target), ..Head::default() };
        let body = br#"{"QueueUrl": "q", "Entries": [{"Id": "a"}]}"#;
        Request::parse(&Head { trace: Some(trace), ..head }, body).unwrap().action
    };
    let long = "x".repeat(1_025);
    for (header, trace) in [
        ("Root=1;Sampled=0", Some("Root=1;Sampled=0")),
        (" Root=1 ", Some("Root=1")),
        ("", None),
        ("a\u{1}", None),
        (long.as_str(), None),
    ] {
        let Action::SendMessage(send) = read("SendMessage", header) else { panic!("{header}") };
        assert_eq!(send.message.trace(), trace, "{header}");
    }
    let Action::SendMessageBatch(batch) = read("SendMessageBatch", "Root=1") else { panic!() };
    assert_eq!(batch.entries[0].message.trace(), None);
}

/// An answer in JSON and, between `<…Response …>` and its metadata, in XML.
fn written(action: &str, answer: &Answer) -> (String, String) {
    let text = |protocol| {
        let response = Response::of_answer(protocol, action, answer, "id");
        assert_eq!(response.status, 200);
        String::from_utf8(response.body).unwrap()
    };
    let xml = text(Protocol::Query);
    let start = format!(
        "<?xml version=\"1.0\"?>\
         <{action}Response xmlns=\"http://queue.amazonaws.com/doc/2012-11-05/\">"
    );
    let end = format!(
        "<ResponseMetadata><RequestId>id</RequestId></ResponseMetadata></{action}Response>"
    );
    let inside = xml.strip_prefix(&start).and_then(|xml| xml.strip_suffix(&end));
    (text(Protocol::Json), inside.unwrap_or_else(|| panic!("{xml}")).to_string())
}

#[test]
fn answers_are_written_in_both_protocols() {
    let url = "http://h/1/q?a&b".to_string();
    let created = Answer::CreateQueue(CreateQueueAnswer { queue_url: url });
    assert_eq!(
        written("CreateQueue", &created),
        (
            r#"{"QueueUrl":"http://h/1/q?a&b"}"#.to_string(),
            "<CreateQueueResult><QueueUrl>http://h/1/q?a&amp;b</QueueUrl></CreateQueueResult>"
                .to_string()
        )
    );
    assert_eq!(written("DeleteQueue", &Answer::Nothing), ("{}".to_string(), String::new()));
    let attributes = BTreeMap::from([("DelaySeconds".to_string(), "0".to_string())]);
    let attributes = Answer::GetQueueAttributes(GetQueueAttributesAnswer { attributes });
    assert_eq!(
        written("GetQueueAttributes", &attributes),
        (
            r#"{"Attributes":{"DelaySeconds":"0"}}"#.to_string(),
            "<GetQueueAttributesResult><Attribute><Name>DelaySeconds</Name><Value>0</Value>\
             </Attribute></GetQueueAttributesResult>"
                .to_string()
        )
    );
}

#[test]
fn empty_lists_are_left_out() {
    for (action, answer) in [
        ("ListQueues", Answer::ListQueues(ListQueuesAnswer::default())),
        ("ReceiveMessage", Answer::ReceiveMessage(ReceiveMessageAnswer::default())),
        ("SendMessageBatch", Answer::SendMessageBatch(SendMessageBatchAnswer::default())),
    ] {
        let empty = format!("<{action}Result/>");
        assert_eq!(written(action, &answer), ("{}".to_string(), empty));
    }
}

#[test]
fn a_received_message_has_all_its_members() {
    let message = ReceivedMessage {
        message_id: "i".to_string(),
        receipt_handle: "r".to_string(),
        md5_of_body: "m".to_string(),
        body: "a<b>&\"'\r\n".to_string(),
        attributes: BTreeMap::from([("SenderId", "1".to_string())]),
        md5_of_message_attributes: Some("n".to_string()),
        message_attributes: BTreeMap::from([("k".to_string(), AttributeValue::string("v"))]),
    };
    let answer = Answer::ReceiveMessage(ReceiveMessageAnswer { messages: vec![message] });
    let (json, xml) = written("ReceiveMessage", &answer);
    assert_eq!(
        json,
        concat!(
            r#"{"Messages":[{"MessageId":"i","ReceiptHandle":"r","MD5OfBody":"m","#,
            r#""Body":"a<b>&\"'\r\n","Attributes":{"SenderId":"1"},"MD5OfMessageAttributes":"n","#,
            r#""MessageAttributes":{"k":{"DataType":"String","StringValue":"v"}}}]}"#
        )
    );
    assert_eq!(
        xml,
        "<ReceiveMessageResult><Message><MessageId>i</MessageId><ReceiptHandle>r</ReceiptHandle>\
         <MD5OfBody>m</MD5OfBody><Body>a&lt;b&gt;&amp;&quot;&apos;&#xD;\n</Body>\
         <Attribute><Name>SenderId</Name><Value>1</Value></Attribute>\
         <MD5OfMessageAttributes>n</MD5OfMessageAttributes>\
         <MessageAttribute><Name>k</Name><Value><StringValue>v</StringValue>\
         <DataType>String</DataType></Value></MessageAttribute></Message></ReceiveMessageResult>"
    );
}

#[test]
fn a_batch_answers_entry_by_entry() {
    let sent = SendMessageAnswer {
        message_id: "i".to_string(),
        md5_of_message_body: "m".to_string(),
        sequence_number: Some("7".to_string()),
        ..SendMessageAnswer::default()
    };
    let mut batch = BatchAnswer::default();
    batch.add("good".to_string(), Ok(()));
    batch.add("bad".to_string(), Err(SqsError::bad_receipt()));
    let answer = SendMessageBatchAnswer {
        successful: vec![SentEntry { id: "one".to_string(), sent }],
        failed: batch.failed.clone(),
    };
    let (json, xml) = written("SendMessageBatch", &Answer::SendMessageBatch(answer));
    let failed = concat!(
        r#"[{"Id":"bad","Code":"ReceiptHandleIsInvalid","#,
        r#""Message":"The input receipt handle is invalid.","SenderFault":true}]"#
    );
    let sent = r#"[{"Id":"one","MessageId":"i","MD5OfMessageBody":"m","SequenceNumber":"7"}]"#;
    assert_eq!(json, format!("{{\"Successful\":{sent},\"Failed\":{failed}}}"));
    let failed = "<BatchResultErrorEntry><Id>bad</Id><Code>ReceiptHandleIsInvalid</Code>\
         <Message>The input receipt handle is invalid.</Message><SenderFault>true</SenderFault>\
         </BatchResultErrorEntry>";
    assert_eq!(
        xml,
        format!(
            "<SendMessageBatchResult><SendMessageBatchResultEntry><Id>one</Id>\
             <MessageId>i</MessageId><MD5OfMessageBody>m</MD5OfMessageBody>\
             <SequenceNumber>7</SequenceNumber></SendMessageBatchResultEntry>{failed}\
             </SendMessageBatchResult>"
        )
    );
    let deleted = Answer::DeleteMessageBatch(DeleteMessageBatchAnswer(batch));
    let (_, xml) = written("DeleteMessageBatch", &deleted);
    assert!(xml.contains("<DeleteMessageBatchResultEntry><Id>good</Id>"), "{xml}");
}

#[test]
fn errors_have_their_code_status_and_header() {
    let error = SqsError::no_queue();
    let json = Response::of_error(Protocol::Json, &error, "id");
    assert_eq!(json.status, 400);
    let expected = "AWS.SimpleQueueService.NonExistentQueue;Sender";
    assert_eq!(json.query_error.as_deref(), Some(expected));
    assert_eq!(
        String::from_utf8(json.body).unwrap(),
        concat!(
            r#"{"__type":"com.amazonaws.sqs#QueueDoesNotExist","#,
            r#""message":"The specified queue does not exist."}"#
        )
    );
    let xml = Response::of_error(Protocol::Query, &error, "id");
    assert_eq!((xml.status, xml.content_type, xml.query_error), (400, "text/xml", None));
    assert_eq!(
        String::from_utf8(xml.body).unwrap(),
        "<?xml version=\"1.0\"?><ErrorResponse \
         xmlns=\"http://queue.amazonaws.com/doc/2012-11-05/\"><Error><Type>Sender</Type>\
         <Code>AWS.SimpleQueueService.NonExistentQueue</Code>\
         <Message>The specified queue does not exist for this wsdl version.</Message><Detail/>\
         </Error>\
         <RequestId>id</RequestId></ErrorResponse>"
    );
    for (code, shape) in [
        (ErrorCode::InvalidParameterValue, "InvalidParameterValueException"),
        (ErrorCode::MissingParameter, "MissingRequiredParameterException"),
    ] {
        let json = Response::of_error(Protocol::Json, &SqsError::new(code, "x"), "id");
        let expected = format!(r#"{{"__type":"com.amazon.coral.service#{shape}","message":"x"}}"#);
        assert_eq!(String::from_utf8(json.body).unwrap(), expected);
        assert_eq!(json.query_error, Some(format!("{};Sender", code.code())));
    }
    for (code, status) in [
        (ErrorCode::OverLimit, 403),
        (ErrorCode::PurgeQueueInProgress, 403),
        (ErrorCode::ResourceNotFound, 404),
        (ErrorCode::InternalFailure, 500),
    ] {
        assert_eq!(code.status(), status, "{code:?}");
    }
    let unknown = SqsError::new(ErrorCode::UnknownOperation, "x");
    let unknown = Response::of_error(Protocol::Query, &unknown, "id");
    assert_eq!((unknown.status, unknown.content_type), (404, "text/xml"));
    assert_eq!(unknown.body, b"<UnknownOperationException/>");
    assert_eq!(ErrorCode::InternalFailure.fault(), "Receiver");
}
