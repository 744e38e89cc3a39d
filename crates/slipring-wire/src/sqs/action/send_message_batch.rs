//! SendMessageBatch: up to ten messages into a queue, each for itself.

use serde::{Deserialize, Serialize};

use super::send_message::SendMessageAnswer;
use crate::sqs::batch::{self, Entry, FailedEntry};
use crate::sqs::bounded::List;
use crate::sqs::error::{ErrorCode, SqsError};
use crate::sqs::form::Members;
use crate::sqs::limits::Limits;
use crate::sqs::message::{MessageMembers, OutgoingMessage};
use crate::sqs::xml::Xml;

/// The parameters of SendMessageBatch.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub struct SendMessageBatch {
    /// The queue.
    pub queue_url: String,
    /// The messages.
    pub entries: List<SendMessageEntry>,
}

/// A message of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(from = "MessageMembers")]
pub struct SendMessageEntry {
    /// The id within the batch.
    pub id: String,
    /// The message; not checked yet, for a bad one fails alone.
    pub message: OutgoingMessage,
}

impl From<MessageMembers> for SendMessageEntry {
    fn from(mut members: MessageMembers) -> SendMessageEntry {
        let id = std::mem::take(&mut members.id);
        SendMessageEntry { id, message: members.into_message() }
    }
}

impl Entry for SendMessageEntry {
    fn id(&self) -> &str {
        &self.id
    }
}

impl super::Parameters for SendMessageBatch {
    fn from_query(members: &Members<'_>) -> Result<SendMessageBatch, SqsError> {
        let entries = members.numbered("SendMessageBatchRequestEntry");
        let entries = entries.try_map(|entry| {
            let message = OutgoingMessage::from_query(&entry)?;
            Ok(SendMessageEntry { id: entry.string("Id"), message })
        })?;
        Ok(SendMessageBatch { queue_url: members.string("QueueUrl"), entries })
    }

    fn queue_url(&mut self) -> Option<&mut String> {
        Some(&mut self.queue_url)
    }

    fn check(&self, limits: &Limits) -> Result<(), SqsError> {
        batch::check(&self.entries, "SendMessage", limits)?;
        let size: u64 = self.entries.iter().map(|entry| entry.message.size()).sum();
        if size > limits.message_bytes_max {
            let message = format!(
                "Batch requests cannot be longer than {} bytes. You have sent {size} bytes.",
                limits.message_bytes_max
            );
            return Err(SqsError::new(ErrorCode::BatchRequestTooLong, message));
        }
        Ok(())
    }
}

/// The answer of SendMessageBatch.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct SendMessageBatchAnswer {
    /// The messages that were stored.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub successful: Vec<SentEntry>,
    /// The messages that were refused.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<FailedEntry>,
}

/// A message of a batch that was stored.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct SentEntry {
    /// The id within the batch.
    pub id: String,
    /// The rest, as SendMessage answers it.
    #[serde(flatten)]
    pub sent: SendMessageAnswer,
}

impl SendMessageBatchAnswer {
    pub(in crate::sqs) fn write_xml(&self, xml: &mut Xml) {
        for entry in &self.successful {
            xml.element("SendMessageBatchResultEntry", |xml| {
                xml.text("Id", &entry.id);
                entry.sent.write_xml(xml);
            });
        }
        for failed in &self.failed {
            failed.write_xml(xml);
        }
    }
}
