//! DeleteMessage: a message is done.

use serde::Deserialize;

use crate::sqs::error::SqsError;
use crate::sqs::form::Members;
use crate::sqs::limits::Limits;

/// The parameters of DeleteMessage.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub struct DeleteMessage {
    /// The queue.
    pub queue_url: String,
    /// What the receive said.
    pub receipt_handle: String,
}

impl super::Parameters for DeleteMessage {
    fn from_query(members: &Members<'_>) -> Result<DeleteMessage, SqsError> {
        Ok(DeleteMessage {
            queue_url: members.string("QueueUrl"),
            receipt_handle: members.string("ReceiptHandle"),
        })
    }

    fn queue_url(&mut self) -> Option<&mut String> {
        Some(&mut self.queue_url)
    }

    fn check(&self, _limits: &Limits) -> Result<(), SqsError> {
        super::require("ReceiptHandle", &self.receipt_handle)
    }
}
