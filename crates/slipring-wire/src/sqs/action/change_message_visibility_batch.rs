//! ChangeMessageVisibilityBatch: prolongs or ends up to ten leases.

use serde::{Deserialize, Serialize};

use crate::sqs::batch::{self, BatchAnswer, Entry};
use crate::sqs::bounded::List;
use crate::sqs::error::SqsError;
use crate::sqs::form::Members;
use crate::sqs::limits::Limits;
use crate::sqs::xml::Xml;

/// The parameters of ChangeMessageVisibilityBatch.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub struct ChangeMessageVisibilityBatch {
    /// The queue.
    pub queue_url: String,
    /// The leases.
    pub entries: List<ChangeMessageVisibilityEntry>,
}

/// A lease of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub struct ChangeMessageVisibilityEntry {
    /// The id within the batch.
    pub id: String,
    /// What the receive said.
    pub receipt_handle: String,
    /// Seconds from now; 0 gives the message back.
    pub visibility_timeout: Option<i64>,
}

impl ChangeMessageVisibilityEntry {
    /// Checks the range of the timeout; a bad one fails alone.
    ///
    /// # Errors
    /// `MissingParameter`, `InvalidParameterValue`.
    pub fn check(&self, limits: &Limits) -> Result<i64, SqsError> {
        super::check_visibility(self.visibility_timeout, limits)?;
        self.visibility_timeout.ok_or_else(|| SqsError::missing("VisibilityTimeout"))
    }
}

impl Entry for ChangeMessageVisibilityEntry {
    fn id(&self) -> &str {
        &self.id
    }
}

impl super::Parameters for ChangeMessageVisibilityBatch {
    fn from_query(members: &Members<'_>) -> Result<ChangeMessageVisibilityBatch, SqsError> {
        let entries = members.numbered("ChangeMessageVisibilityBatchRequestEntry");
        let entries = entries.try_map(|entry| {
            Ok(ChangeMessageVisibilityEntry {
                id: entry.string("Id"),
                receipt_handle: entry.string("ReceiptHandle"),
                visibility_timeout: entry.number("VisibilityTimeout")?,
            })
        })?;
        Ok(ChangeMessageVisibilityBatch { queue_url: members.string("QueueUrl"), entries })
    }

    fn queue_url(&mut self) -> Option<&mut String> {
        Some(&mut self.queue_url)
    }

    fn check(&self, limits: &Limits) -> Result<(), SqsError> {
        batch::check(&self.entries, "ChangeMessageVisibility", limits)
    }
}

/// The answer of ChangeMessageVisibilityBatch.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(transparent)]
pub struct ChangeMessageVisibilityBatchAnswer(pub BatchAnswer);

impl ChangeMessageVisibilityBatchAnswer {
    pub(in crate::sqs) fn write_xml(&self, xml: &mut Xml) {
        self.0.write_xml(xml, "ChangeMessageVisibilityBatchResultEntry");
    }
}
