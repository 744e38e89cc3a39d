//! How a message of SQS is stored as a message of the engine, and the way back.
//!
//! Message attributes are one header, as JSON; the trace header is another. A message without
//! them has no headers, just as a job of beanstalkd. A body that SQS may not carry is delivered as
//! base64 with a message attribute that says so.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use slipring::{Delivery, Headers, Message, MessageId, Receipt, Timestamp};
use slipring_wire::sqs::{
    AttributeValue, OutgoingMessage, ReceivedMessage, SqsError, TRACE_HEADER, attributes_digest,
    body_digest, is_allowed_text, is_asked_for, queue_arn,
};

use super::Settings;

/// The header with the message attributes.
const ATTRIBUTES_HEADER: &str = "sqs-attributes";

/// The header with the trace header.
const TRACE: &str = "sqs-trace";

/// Marks a body that SQS may not carry and that is therefore delivered as base64.
pub(super) const ENCODING_ATTRIBUTE: &str = "slipring.body-encoding";

/// A number as the UUID that SQS clients expect.
pub(super) fn message_id(id: MessageId) -> String {
    let (high, low) = (id.0 >> 48, id.0 & 0xffff_ffff_ffff);
    format!("00000000-{high:04x}-4000-8000-{low:012x}")
}

/// A number that grows within a message group: 20 digits, so that texts compare as numbers do.
pub(super) fn sequence_number(id: MessageId) -> String {
    format!("{:020}", id.0)
}

/// The headers of a message that is sent; `None` when it needs none.
pub(super) fn headers_of(message: &OutgoingMessage) -> Result<Option<Arc<Headers>>, SqsError> {
    let mut headers = Headers::new();
    if !message.attributes.is_empty() {
        let attributes: &BTreeMap<String, AttributeValue> = &message.attributes;
        let text = serde_json::to_string(attributes)
            .map_err(|error| SqsError::invalid(format!("The attributes are refused: {error}")))?;
        headers.insert(ATTRIBUTES_HEADER.to_string(), text);
    }
    if let Some(trace) = message.trace() {
        headers.insert(TRACE.to_string(), trace.to_string());
    }
    Ok((!headers.is_empty()).then(|| Arc::new(headers)))
}

/// What a receive asks for of each message.
pub(super) struct Wanted {
    attributes: Vec<String>,
    sender_id: bool,
    sent_at: bool,
    receive_count: bool,
    first_received_at: bool,
    sequence_number: bool,
    deduplication_id: bool,
    group_id: bool,
    trace: bool,
    source: bool,
}

impl Wanted {
    /// `system` are the names of both parameters that ask for system attributes.
    pub(super) fn new(system: &[&[String]], attributes: Vec<String>) -> Wanted {
        let asked = |name: &str| {
            system.iter().any(|names| names.iter().any(|asked| asked == name || asked == "All"))
        };
        Wanted {
            attributes,
            sender_id: asked("SenderId"),
            sent_at: asked("SentTimestamp"),
            receive_count: asked("ApproximateReceiveCount"),
            first_received_at: asked("ApproximateFirstReceiveTimestamp"),
            sequence_number: asked("SequenceNumber"),
            deduplication_id: asked("MessageDeduplicationId"),
            group_id: asked("MessageGroupId"),
            trace: asked(TRACE_HEADER),
            source: asked("DeadLetterQueueSourceArn"),
        }
    }

    /// A delivery as the client gets it.
    pub(super) fn received(
        &self,
        delivery: Delivery,
        fifo: bool,
        receipt_handle: String,
        settings: &Settings,
    ) -> ReceivedMessage {
        let message = delivery.message;
        let attributes = self.system_attributes(&message, fifo, settings);
        let mut message_attributes = self.message_attributes(&message);
        let body = match text_of(&message.body) {
            Some(text) => text.to_string(),
            None => {
                let marker = AttributeValue::string("base64");
                message_attributes.insert(ENCODING_ATTRIBUTE.to_string(), marker);
                STANDARD.encode(&message.body)
            }
        };
        ReceivedMessage {
            message_id: message_id(message.id),
            receipt_handle,
            md5_of_body: body_digest(body.as_bytes()),
            body,
            attributes,
            md5_of_message_attributes: attributes_digest(&message_attributes),
            message_attributes,
        }
    }

    fn message_attributes(&self, message: &Message) -> BTreeMap<String, AttributeValue> {
        if self.attributes.is_empty() {
            return BTreeMap::new();
        }
        let stored = message.headers.as_ref().and_then(|headers| headers.get(ATTRIBUTES_HEADER));
        // Another protocol may have written the header; what is no attributes is none.
        let read = stored.and_then(|text| serde_json::from_str(text).ok());
        let mut attributes: BTreeMap<String, AttributeValue> = read.unwrap_or_default();
        attributes.retain(|name, _| is_asked_for(&self.attributes, name));
        attributes
    }

    fn system_attributes(
        &self,
        message: &Message,
        fifo: bool,
        settings: &Settings,
    ) -> BTreeMap<&'static str, String> {
        let mut attributes = BTreeMap::new();
        let mut put = |wanted: bool, name: &'static str, value: Option<String>| {
            if let (true, Some(value)) = (wanted, value) {
                attributes.insert(name, value);
            }
        };
        let millis = |at: Timestamp| at.as_millis().to_string();
        put(self.sender_id, "SenderId", Some(settings.account.clone()));
        put(self.sent_at, "SentTimestamp", Some(millis(message.sent_at)));
        // The count goes on in a dead-letter queue (S6.4).
        let count = message.attempts.saturating_add(message.earlier_attempts);
        let count = Some(count.to_string());
        put(self.receive_count, "ApproximateReceiveCount", count);
        let first = message.first_received_at.map(millis);
        put(self.first_received_at, "ApproximateFirstReceiveTimestamp", first);
        if fifo {
            let number = Some(sequence_number(message.id));
            put(self.sequence_number, "SequenceNumber", number);
            let id = message.dedup_id.as_ref().map(|id| id.to_string());
            put(self.deduplication_id, "MessageDeduplicationId", id);
        }
        let group = message.group.as_ref().map(|group| group.to_string());
        put(self.group_id, "MessageGroupId", group);
        let trace = message.headers.as_ref().and_then(|headers| headers.get(TRACE).cloned());
        put(self.trace, TRACE_HEADER, trace);
        let source = message.dead_letter_source.as_ref();
        let arn = source.map(|name| queue_arn(&settings.region, &settings.account, name.as_str()));
        put(self.source, "DeadLetterQueueSourceArn", arn);
        attributes
    }
}

/// The body as a text that SQS may carry.
fn text_of(body: &Bytes) -> Option<&str> {
    std::str::from_utf8(body).ok().filter(|text| is_allowed_text(text))
}

/// A receipt handle: the receipt, and when it was handed out, which the limit of 12 hours counts
/// from.
pub(super) fn receipt_handle(
    engine: &slipring::Engine,
    receipt: &Receipt,
    now: Timestamp,
) -> String {
    engine.seal_at(receipt, now)
}

/// The receipt in a handle, and when it was handed out: now, if by a server whose clock goes before
/// this one's.
pub(super) fn open_receipt_handle(
    engine: &slipring::Engine,
    handle: &str,
    now: Timestamp,
) -> Result<(Receipt, Timestamp), SqsError> {
    let (receipt, moment) = engine.unseal_at(handle).map_err(|_| SqsError::bad_receipt())?;
    Ok((receipt, moment.min(now)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_ids_are_uuids_and_differ() {
        assert_eq!(message_id(MessageId(1)), "00000000-0000-4000-8000-000000000001");
        assert_eq!(message_id(MessageId(u64::MAX)), "00000000-ffff-4000-8000-ffffffffffff");
    }
}
