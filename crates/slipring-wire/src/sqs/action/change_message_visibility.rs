//! ChangeMessageVisibility: prolongs or ends a lease.

use serde::Deserialize;

use crate::sqs::error::SqsError;
use crate::sqs::form::Members;
use crate::sqs::limits::Limits;

/// The parameters of ChangeMessageVisibility.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub struct ChangeMessageVisibility {
    /// The queue.
    pub queue_url: String,
    /// What the receive said.
    pub receipt_handle: String,
    /// Seconds from now; 0 gives the message back.
    pub visibility_timeout: Option<i64>,
}

impl super::Parameters for ChangeMessageVisibility {
    fn from_query(members: &Members<'_>) -> Result<ChangeMessageVisibility, SqsError> {
        Ok(ChangeMessageVisibility {
            queue_url: members.string("QueueUrl"),
            receipt_handle: members.string("ReceiptHandle"),
            visibility_timeout: members.number("VisibilityTimeout")?,
        })
    }

    fn queue_url(&mut self) -> Option<&mut String> {
        Some(&mut self.queue_url)
    }

    fn check(&self, limits: &Limits) -> Result<(), SqsError> {
        super::require("ReceiptHandle", &self.receipt_handle)?;
        if self.visibility_timeout.is_none() {
            return Err(SqsError::missing("VisibilityTimeout"));
        }
        super::check_visibility(self.visibility_timeout, limits)
    }
}
