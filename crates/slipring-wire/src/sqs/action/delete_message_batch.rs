//! DeleteMessageBatch: up to ten messages are done.

use serde::{Deserialize, Serialize};

use crate::sqs::batch::{self, BatchAnswer, Entry};
use crate::sqs::bounded::List;
use crate::sqs::error::SqsError;
use crate::sqs::form::Members;
use crate::sqs::limits::Limits;
use crate::sqs::xml::Xml;

/// The parameters of DeleteMessageBatch.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub struct DeleteMessageBatch {
    /// The queue.
    pub queue_url: String,
    /// What is done.
    pub entries: List<DeleteMessageEntry>,
}

/// A message of a batch that is done.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub struct DeleteMessageEntry {
    /// The id within the batch.
    pub id: String,
    /// What the receive said.
    pub receipt_handle: String,
}

impl Entry for DeleteMessageEntry {
    fn id(&self) -> &str {
        &self.id
    }
}

impl super::Parameters for DeleteMessageBatch {
    fn from_query(members: &Members<'_>) -> Result<DeleteMessageBatch, SqsError> {
        let entries = members.numbered("DeleteMessageBatchRequestEntry");
        let entries = entries.try_map(|entry| {
            let receipt_handle = entry.string("ReceiptHandle");
            Ok(DeleteMessageEntry { id: entry.string("Id"), receipt_handle })
        })?;
        Ok(DeleteMessageBatch { queue_url: members.string("QueueUrl"), entries })
    }

    fn queue_url(&mut self) -> Option<&mut String> {
        Some(&mut self.queue_url)
    }

    fn check(&self, limits: &Limits) -> Result<(), SqsError> {
        batch::check(&self.entries, "DeleteMessage", limits)
    }
}

/// The answer of DeleteMessageBatch.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(transparent)]
pub struct DeleteMessageBatchAnswer(pub BatchAnswer);

impl DeleteMessageBatchAnswer {
    pub(in crate::sqs) fn write_xml(&self, xml: &mut Xml) {
        self.0.write_xml(xml, "DeleteMessageBatchResultEntry");
    }
}
