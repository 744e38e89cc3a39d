//! CancelMessageMoveTask: ends a move task early.

use serde::{Deserialize, Serialize};

use crate::sqs::error::SqsError;
use crate::sqs::form::Members;
use crate::sqs::limits::Limits;
use crate::sqs::xml::Xml;

/// The parameters of CancelMessageMoveTask.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub struct CancelMessageMoveTask {
    /// Which.
    pub task_handle: String,
}

impl super::Parameters for CancelMessageMoveTask {
    fn from_query(members: &Members<'_>) -> Result<CancelMessageMoveTask, SqsError> {
        Ok(CancelMessageMoveTask {
            task_handle: members.string("TaskHandle"),
        })
    }

    fn check(&self, _limits: &Limits) -> Result<(), SqsError> {
        super::require("TaskHandle", &self.task_handle)
    }
}

/// The answer of CancelMessageMoveTask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct CancelMessageMoveTaskAnswer {
    /// How many had been moved.
    pub approximate_number_of_messages_moved: u64,
}

impl CancelMessageMoveTaskAnswer {
    pub(in crate::sqs) fn write_xml(&self, xml: &mut Xml) {
        let moved = self.approximate_number_of_messages_moved.to_string();
        xml.text("ApproximateNumberOfMessagesMoved", &moved);
    }
}
