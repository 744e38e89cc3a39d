//! SendMessage: one message into a queue.

use serde::{Deserialize, Serialize};

use crate::sqs::error::SqsError;
use crate::sqs::form::Members;
use crate::sqs::limits::Limits;
use crate::sqs::message::{MessageMembers, OutgoingMessage};
use crate::sqs::xml::Xml;

/// The parameters of SendMessage.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(from = "MessageMembers")]
pub struct SendMessage {
    /// The queue.
    pub queue_url: String,
    /// The message.
    pub message: OutgoingMessage,
}

impl From<MessageMembers> for SendMessage {
    fn from(mut members: MessageMembers) -> SendMessage {
        let queue_url = std::mem::take(&mut members.queue_url);
        SendMessage { queue_url, message: members.into_message() }
    }
}

impl super::Parameters for SendMessage {
    fn from_query(members: &Members<'_>) -> Result<SendMessage, SqsError> {
        Ok(SendMessage {
            queue_url: members.string("QueueUrl"),
            message: OutgoingMessage::from_query(members)?,
        })
    }

    fn queue_url(&mut self) -> Option<&mut String> {
        Some(&mut self.queue_url)
    }

    fn check(&self, limits: &Limits) -> Result<(), SqsError> {
        self.message.check(limits)
    }
}

/// The answer of SendMessage.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct SendMessageAnswer {
    /// The message's number.
    pub message_id: String,
    /// The digest of the body.
    #[serde(rename = "MD5OfMessageBody")]
    pub md5_of_message_body: String,
    /// The digest of the attributes, if there are any.
    #[serde(rename = "MD5OfMessageAttributes", skip_serializing_if = "Option::is_none")]
    pub md5_of_message_attributes: Option<String>,
    /// The digest of the system attributes, if there are any.
    #[serde(rename = "MD5OfMessageSystemAttributes", skip_serializing_if = "Option::is_none")]
    pub md5_of_message_system_attributes: Option<String>,
    /// In a FIFO queue: a number that grows within the message group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequence_number: Option<String>,
}

impl SendMessageAnswer {
    pub(in crate::sqs) fn write_xml(&self, xml: &mut Xml) {
        xml.text("MessageId", &self.message_id);
        xml.text("MD5OfMessageBody", &self.md5_of_message_body);
        xml.maybe("MD5OfMessageAttributes", self.md5_of_message_attributes.as_deref());
        let system = self.md5_of_message_system_attributes.as_deref();
        xml.maybe("MD5OfMessageSystemAttributes", system);
        xml.maybe("SequenceNumber", self.sequence_number.as_deref());
    }
}
