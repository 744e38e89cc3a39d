//! RemovePermission: takes a permission out of the queue's policy.

use serde::Deserialize;

use crate::sqs::error::SqsError;
use crate::sqs::form::Members;
use crate::sqs::limits::Limits;

/// The parameters of RemovePermission.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub struct RemovePermission {
    /// The queue.
    pub queue_url: String,
    /// The name of the permission.
    pub label: String,
}

impl super::Parameters for RemovePermission {
    fn from_query(members: &Members<'_>) -> Result<RemovePermission, SqsError> {
        Ok(RemovePermission {
            queue_url: members.string("QueueUrl"),
            label: members.string("Label"),
        })
    }

    fn queue_url(&mut self) -> Option<&mut String> {
        Some(&mut self.queue_url)
    }

    fn check(&self, _limits: &Limits) -> Result<(), SqsError> {
        super::require("Label", &self.label)
    }
}
