//! ListMessageMoveTasks: the latest move tasks of a queue.

use serde::{Deserialize, Serialize};

use crate::sqs::error::SqsError;
use crate::sqs::form::Members;
use crate::sqs::limits::Limits;
use crate::sqs::xml::Xml;

/// The parameters of ListMessageMoveTasks.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub struct ListMessageMoveTasks {
    /// The dead-letter queue.
    pub source_arn: String,
    /// At most so many; 1 when left out.
    pub max_results: Option<i64>,
}

impl super::Parameters for ListMessageMoveTasks {
    fn from_query(members: &Members<'_>) -> Result<ListMessageMoveTasks, SqsError> {
        Ok(ListMessageMoveTasks {
            source_arn: members.string("SourceArn"),
            max_results: members.number("MaxResults")?,
        })
    }

    fn check(&self, limits: &Limits) -> Result<(), SqsError> {
        super::require("SourceArn", &self.source_arn)?;
        super::check_range("MaxResults", self.max_results, 1..=limits.move_tasks_listed_max)
    }
}

/// The answer of ListMessageMoveTasks.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct ListMessageMoveTasksAnswer {
    /// The tasks, the newest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<MoveTask>,
}

/// A move task.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct MoveTask {
    /// Cancels the task; only while it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_handle: Option<String>,
    /// `RUNNING`, `COMPLETED`, `CANCELLING`, `CANCELLED` or `FAILED`.
    pub status: String,
    /// The dead-letter queue.
    pub source_arn: String,
    /// Where to, when the client said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination_arn: Option<String>,
    /// How fast, when the client said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_number_of_messages_per_second: Option<i64>,
    /// How many have been moved.
    pub approximate_number_of_messages_moved: u64,
    /// How many there were when it began.
    pub approximate_number_of_messages_to_move: u64,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_reason: Option<String>,
    /// When it began, in milliseconds since 1970.
    pub started_timestamp: u64,
}

impl ListMessageMoveTasksAnswer {
    pub(in crate::sqs) fn write_xml(&self, xml: &mut Xml) {
        for task in &self.results {
            xml.element("ListMessageMoveTasksResultEntry", |xml| task.write_xml(xml));
        }
    }
}

impl MoveTask {
    fn write_xml(&self, xml: &mut Xml) {
        xml.maybe("TaskHandle", self.task_handle.as_deref());
        xml.text("Status", &self.status);
        xml.text("SourceArn", &self.source_arn);
        xml.maybe("DestinationArn", self.destination_arn.as_deref());
        let rate = self.max_number_of_messages_per_second.map(|rate| rate.to_string());
        xml.maybe("MaxNumberOfMessagesPerSecond", rate.as_deref());
        let moved = self.approximate_number_of_messages_moved.to_string();
        xml.text("ApproximateNumberOfMessagesMoved", &moved);
        let to_move = self.approximate_number_of_messages_to_move.to_string();
        xml.text("ApproximateNumberOfMessagesToMove", &to_move);
        xml.maybe("FailureReason", self.failure_reason.as_deref());
        xml.text("StartedTimestamp", &self.started_timestamp.to_string());
    }
}
