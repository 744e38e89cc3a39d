//! UntagQueue: removes tags.

use serde::Deserialize;

use crate::sqs::bounded::List;
use crate::sqs::error::SqsError;
use crate::sqs::form::Members;
use crate::sqs::limits::Limits;

/// The parameters of UntagQueue.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub struct UntagQueue {
    /// The queue.
    pub queue_url: String,
    /// The names of the tags.
    pub tag_keys: List<String>,
}

impl super::Parameters for UntagQueue {
    fn from_query(members: &Members<'_>) -> Result<UntagQueue, SqsError> {
        Ok(UntagQueue {
            queue_url: members.string("QueueUrl"),
            tag_keys: members.texts("TagKey"),
        })
    }

    fn queue_url(&mut self) -> Option<&mut String> {
        Some(&mut self.queue_url)
    }

    fn check(&self, _limits: &Limits) -> Result<(), SqsError> {
        if self.tag_keys.sent == 0 || self.tag_keys.iter().any(String::is_empty) {
            return Err(SqsError::invalid(
                "Tag keys must be between 1 and 128 characters in length.",
            ));
        }
        if self.tag_keys.sent > self.tag_keys.len() {
            return Err(SqsError::invalid("Too many tag keys."));
        }
        Ok(())
    }
}
