//! StartMessageMoveTask: begins to move a dead-letter queue's messages.

use serde::{Deserialize, Serialize};

use crate::sqs::error::SqsError;
use crate::sqs::form::Members;
use crate::sqs::limits::Limits;
use crate::sqs::xml::Xml;

/// The parameters of StartMessageMoveTask.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub struct StartMessageMoveTask {
    /// The dead-letter queue.
    pub source_arn: String,
    /// Where to; none sends each back where it came from.
    pub destination_arn: Option<String>,
    /// How fast; none leaves it to the server.
    pub max_number_of_messages_per_second: Option<i64>,
}

impl super::Parameters for StartMessageMoveTask {
    fn from_query(members: &Members<'_>) -> Result<StartMessageMoveTask, SqsError> {
        Ok(StartMessageMoveTask {
            source_arn: members.string("SourceArn"),
            destination_arn: members.maybe("DestinationArn"),
            max_number_of_messages_per_second: members.number("MaxNumberOfMessagesPerSecond")?,
        })
    }

    fn check(&self, limits: &Limits) -> Result<(), SqsError> {
        super::require("SourceArn", &self.source_arn)?;
        let rate = self.max_number_of_messages_per_second;
        super::check_range("MaxNumberOfMessagesPerSecond", rate, 1..=limits.move_rate_max)
    }
}

/// The answer of StartMessageMoveTask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct StartMessageMoveTaskAnswer {
    /// Cancels the task.
    pub task_handle: String,
}

impl StartMessageMoveTaskAnswer {
    pub(in crate::sqs) fn write_xml(&self, xml: &mut Xml) {
        xml.text("TaskHandle", &self.task_handle);
    }
}
