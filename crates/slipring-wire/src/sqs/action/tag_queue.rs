//! TagQueue: adds or changes tags.

use serde::Deserialize;

use crate::sqs::bounded::Map;
use crate::sqs::error::SqsError;
use crate::sqs::form::Members;
use crate::sqs::limits::Limits;

/// The parameters of TagQueue.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub struct TagQueue {
    /// The queue.
    pub queue_url: String,
    /// The tags.
    pub tags: Map<String>,
}

impl super::Parameters for TagQueue {
    fn from_query(members: &Members<'_>) -> Result<TagQueue, SqsError> {
        Ok(TagQueue {
            queue_url: members.string("QueueUrl"),
            tags: members.pairs("Tag", "Key", "Value"),
        })
    }

    fn queue_url(&mut self) -> Option<&mut String> {
        Some(&mut self.queue_url)
    }

    fn check(&self, _limits: &Limits) -> Result<(), SqsError> {
        if self.tags.sent == 0 {
            return Err(SqsError::missing("Tags"));
        }
        super::check_tags(&self.tags)
    }
}
