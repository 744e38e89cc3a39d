//! PurgeQueue: removes all messages of a queue.

use serde::Deserialize;

use crate::sqs::error::SqsError;
use crate::sqs::form::Members;

/// The parameters of PurgeQueue.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub struct PurgeQueue {
    /// The queue.
    pub queue_url: String,
}

impl super::Parameters for PurgeQueue {
    fn from_query(members: &Members<'_>) -> Result<PurgeQueue, SqsError> {
        Ok(PurgeQueue {
            queue_url: members.string("QueueUrl"),
        })
    }

    fn queue_url(&mut self) -> Option<&mut String> {
        Some(&mut self.queue_url)
    }
}
