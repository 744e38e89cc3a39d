//! ReceiveMessage: takes messages under a lease.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::sqs::attribute::AttributeValue;
use crate::sqs::bounded::List;
use crate::sqs::error::SqsError;
use crate::sqs::form::Members;
use crate::sqs::limits::Limits;
use crate::sqs::message::check_id;
use crate::sqs::xml::Xml;

/// The parameters of ReceiveMessage.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub struct ReceiveMessage {
    /// The queue.
    pub queue_url: String,
    /// System attributes asked for by their older parameter.
    pub attribute_names: List<String>,
    /// System attributes asked for.
    pub message_system_attribute_names: List<String>,
    /// Attributes asked for: names, `All`, `.*`, `*` or `prefix.*`.
    pub message_attribute_names: List<String>,
    /// At most so many; 1 when left out.
    pub max_number_of_messages: Option<i64>,
    /// The lease in seconds; the queue's when left out.
    pub visibility_timeout: Option<i64>,
    /// How long to wait for a first message; the queue's when left out.
    pub wait_time_seconds: Option<i64>,
    /// Repeats an earlier receive of a FIFO queue.
    pub receive_request_attempt_id: Option<String>,
}

impl super::Parameters for ReceiveMessage {
    fn from_query(members: &Members<'_>) -> Result<ReceiveMessage, SqsError> {
        Ok(ReceiveMessage {
            queue_url: members.string("QueueUrl"),
            attribute_names: members.texts("AttributeName"),
            message_system_attribute_names: members.texts("MessageSystemAttributeName"),
            message_attribute_names: members.texts("MessageAttributeName"),
            max_number_of_messages: members.number("MaxNumberOfMessages")?,
            visibility_timeout: members.number("VisibilityTimeout")?,
            wait_time_seconds: members.number("WaitTimeSeconds")?,
            receive_request_attempt_id: members.maybe("ReceiveRequestAttemptId"),
        })
    }

    fn queue_url(&mut self) -> Option<&mut String> {
        Some(&mut self.queue_url)
    }

    fn check(&self, limits: &Limits) -> Result<(), SqsError> {
        let most = 1..=limits.receive_messages_max;
        super::check_range("MaxNumberOfMessages", self.max_number_of_messages, most)?;
        super::check_visibility(self.visibility_timeout, limits)?;
        check_wait(self.wait_time_seconds, limits)?;
        if let Some(id) = &self.receive_request_attempt_id {
            check_id("ReceiveRequestAttemptId", id, limits)?;
        }
        let names = [
            &self.attribute_names,
            &self.message_system_attribute_names,
            &self.message_attribute_names,
        ];
        if names.iter().any(|names| names.sent > names.len()) {
            return Err(SqsError::invalid("Too many attribute names."));
        }
        Ok(())
    }
}

/// Checks how long to wait. AWS words its range in another way than those of other parameters.
fn check_wait(seconds: Option<i64>, limits: &Limits) -> Result<(), SqsError> {
    match seconds {
        Some(wait) if !(0..=limits.wait_seconds_max).contains(&wait) => {
            let most = limits.wait_seconds_max;
            let reason = format!("Must be >= 0 and <= {most}, if provided.");
            Err(SqsError::bad_value(wait, "WaitTimeSeconds", &reason))
        }
        _ => Ok(()),
    }
}

/// The answer of ReceiveMessage.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct ReceiveMessageAnswer {
    /// The messages.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<ReceivedMessage>,
}

/// A message as it is handed out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct ReceivedMessage {
    /// Its number.
    pub message_id: String,
    /// What settles it.
    pub receipt_handle: String,
    /// The digest of the body.
    #[serde(rename = "MD5OfBody")]
    pub md5_of_body: String,
    /// The text.
    pub body: String,
    /// The system attributes asked for.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<&'static str, String>,
    /// The digest of the attributes in this answer.
    #[serde(rename = "MD5OfMessageAttributes", skip_serializing_if = "Option::is_none")]
    pub md5_of_message_attributes: Option<String>,
    /// The attributes asked for.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub message_attributes: BTreeMap<String, AttributeValue>,
}

impl ReceiveMessageAnswer {
    pub(in crate::sqs) fn write_xml(&self, xml: &mut Xml) {
        for message in &self.messages {
            xml.element("Message", |xml| message.write_xml(xml));
        }
    }
}

impl ReceivedMessage {
    fn write_xml(&self, xml: &mut Xml) {
        xml.text("MessageId", &self.message_id);
        xml.text("ReceiptHandle", &self.receipt_handle);
        xml.text("MD5OfBody", &self.md5_of_body);
        xml.text("Body", &self.body);
        for (name, value) in &self.attributes {
            xml.pair("Attribute", ("Name", name), ("Value", value));
        }
        xml.maybe("MD5OfMessageAttributes", self.md5_of_message_attributes.as_deref());
        for (name, value) in &self.message_attributes {
            xml.element("MessageAttribute", |xml| {
                xml.text("Name", name);
                xml.element("Value", |xml| value.write_xml(xml));
            });
        }
    }
}
