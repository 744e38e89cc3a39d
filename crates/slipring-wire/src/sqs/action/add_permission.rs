//! AddPermission: kept with the queue's policy, without effect here.

use serde::Deserialize;

use crate::sqs::bounded::List;
use crate::sqs::error::{ErrorCode, SqsError};
use crate::sqs::form::Members;
use crate::sqs::limits::Limits;

/// The parameters of AddPermission.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub struct AddPermission {
    /// The queue.
    pub queue_url: String,
    /// The name of the permission.
    pub label: String,
    /// Who is permitted.
    #[serde(rename = "AWSAccountIds")]
    pub aws_account_ids: List<String>,
    /// What they are permitted.
    pub actions: List<String>,
}

impl super::Parameters for AddPermission {
    fn from_query(members: &Members<'_>) -> Result<AddPermission, SqsError> {
        Ok(AddPermission {
            queue_url: members.string("QueueUrl"),
            label: members.string("Label"),
            aws_account_ids: members.texts("AWSAccountId"),
            actions: members.texts("ActionName"),
        })
    }

    fn queue_url(&mut self) -> Option<&mut String> {
        Some(&mut self.queue_url)
    }

    fn check(&self, limits: &Limits) -> Result<(), SqsError> {
        let ids = &self.aws_account_ids;
        super::require("Label", &self.label)?;
        super::require_list("Actions", &self.actions)?;
        if ids.sent == 0 {
            return Err(SqsError::bad_value("[]", "PrincipalId", "Unable to verify."));
        }
        if self.actions.sent > limits.permission_actions_max {
            let message = format!(
                "{} Actions were found, maximum allowed is {}.",
                self.actions.sent, limits.permission_actions_max
            );
            return Err(SqsError::new(ErrorCode::OverLimit, message));
        }
        if ids.sent > ids.len() {
            return Err(SqsError::invalid("Too many account ids."));
        }
        check_actions(&self.actions)
    }
}

/// What may be permitted to others; the batches go with their single actions, and the other
/// actions are the owner's.
const PERMITTED: [&str; 9] = [
    "*",
    "ChangeMessageVisibility",
    "DeleteMessage",
    "GetQueueAttributes",
    "GetQueueUrl",
    "ListDeadLetterSourceQueues",
    "PurgeQueue",
    "ReceiveMessage",
    "SendMessage",
];

fn check_actions(actions: &[String]) -> Result<(), SqsError> {
    let other = actions.iter().find(|action| !PERMITTED.contains(&action.as_str()));
    let Some(other) = other else { return Ok(()) };
    let is_owners = super::Action::NAMES.contains(&other.as_str()) && !other.ends_with("Batch");
    let reason = if is_owners {
        "Only the queue owner is allowed to invoke this action."
    } else {
        "Please refer to the appropriate WSDL for a list of valid actions."
    };
    Err(SqsError::bad_value(format!("SQS:{other}"), "ActionName", reason))
}
