//! DeleteQueue: removes a queue with all that is in it.

use serde::Deserialize;

use crate::sqs::error::SqsError;
use crate::sqs::form::Members;

/// The parameters of DeleteQueue.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub struct DeleteQueue {
    /// The queue.
    pub queue_url: String,
}

impl super::Parameters for DeleteQueue {
    fn from_query(members: &Members<'_>) -> Result<DeleteQueue, SqsError> {
        Ok(DeleteQueue {
            queue_url: members.string("QueueUrl"),
        })
    }

    fn queue_url(&mut self) -> Option<&mut String> {
        Some(&mut self.queue_url)
    }
}
