//! SetQueueAttributes: changes some attributes of a queue.

use serde::Deserialize;

use crate::sqs::bounded::Map;
use crate::sqs::error::SqsError;
use crate::sqs::form::Members;
use crate::sqs::limits::Limits;
use crate::sqs::queue_attribute;

/// The parameters of SetQueueAttributes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub struct SetQueueAttributes {
    /// The queue.
    pub queue_url: String,
    /// The new values.
    pub attributes: Map<String>,
}

impl super::Parameters for SetQueueAttributes {
    fn from_query(members: &Members<'_>) -> Result<SetQueueAttributes, SqsError> {
        Ok(SetQueueAttributes {
            queue_url: members.string("QueueUrl"),
            attributes: members.pairs("Attribute", "Name", "Value"),
        })
    }

    fn queue_url(&mut self) -> Option<&mut String> {
        Some(&mut self.queue_url)
    }

    fn check(&self, _limits: &Limits) -> Result<(), SqsError> {
        if self.attributes.sent == 0 {
            return Err(SqsError::missing("Attributes"));
        }
        queue_attribute::check(&self.attributes)
    }
}
