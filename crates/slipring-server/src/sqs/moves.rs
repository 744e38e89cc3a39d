//! StartMessageMoveTask, CancelMessageMoveTask, ListMessageMoveTasks, and the tasks there are.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use parking_lot::Mutex;
use serde::Deserialize;
use slipring::{Queue, QueueId};
use slipring_wire::sqs::{
    Answer, CancelMessageMoveTask, CancelMessageMoveTaskAnswer, ErrorCode, ListMessageMoveTasks,
    ListMessageMoveTasksAnswer, SqsError, StartMessageMoveTask, StartMessageMoveTaskAnswer, is_arn,
};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::call::Call;
use super::move_task::{Order, Task, left_in};
use crate::audit::Act;

/// So many tasks of one source are remembered.
const KEPT_MAX: usize = 10;

/// The move tasks of a server.
#[derive(Debug, Default)]
pub(super) struct Moves {
    by_source: Mutex<BTreeMap<QueueId, VecDeque<Arc<Task>>>>,
    running: TaskTracker,
    stop: CancellationToken,
}

impl Moves {
    /// Adds a task, unless one of the same source is active; says whether it did. Forgets the
    /// tasks of queues that `exists` does not know, as others may have deleted them.
    fn add(&self, source: QueueId, task: &Arc<Task>, exists: impl Fn(QueueId) -> bool) -> bool {
        let mut by_source = self.by_source.lock();
        by_source.retain(|source, _| exists(*source));
        let tasks = by_source.entry(source).or_default();
        if tasks.iter().any(|task| task.is_active()) {
            return false;
        }
        tasks.truncate(KEPT_MAX - 1);
        tasks.push_front(Arc::clone(task));
        true
    }

    fn find(&self, handle: &str) -> Option<Arc<Task>> {
        let by_source = self.by_source.lock();
        by_source.values().flatten().find(|task| task.handle == handle).cloned()
    }

    /// The tasks of a source, the newest first.
    fn of(&self, source: QueueId) -> Vec<Arc<Task>> {
        self.by_source.lock().get(&source).into_iter().flatten().cloned().collect()
    }

    /// Ends the task of a queue that is deleted, and forgets its tasks.
    pub(super) fn forget(&self, source: QueueId) {
        let tasks = self.by_source.lock().remove(&source);
        for task in tasks.into_iter().flatten() {
            // One that is over needs no end.
            let _ = task.cancel();
        }
    }

    /// Ends all tasks. What they have not moved stays where it is.
    pub(super) async fn end(&self) {
        self.stop.cancel();
        self.running.close();
        self.running.wait().await;
    }
}

impl Call<'_> {
    pub(super) async fn start_move(&self, p: StartMessageMoveTask) -> Result<Answer, SqsError> {
        let source = self.move_queue(&p.source_arn, "SourceArn").await?;
        let target = match p.destination_arn {
            None => None,
            Some(arn) => {
                let queue = self.move_queue(&arn, "DestinationArn").await?;
                if queue.id() == source.id() {
                    return Err(SqsError::invalid(
                        "Source queue arn and destination queue arn cannot be the same.",
                    ));
                }
                Some((queue.id(), arn))
            }
        };
        if !self.is_dead_letter_queue(&source).await? {
            return Err(SqsError::invalid(
                "Source queue must be configured as a Dead Letter Queue.",
            ));
        }
        let rate = p.max_number_of_messages_per_second.and_then(|rate| u32::try_from(rate).ok());
        let moves = &self.shared.moves;
        let order = Order { source: source.id(), source_arn: p.source_arn, target, rate };
        // In the form of AWS: others take the source out of it.
        let handle = serde_json::json!({
            "taskId": self.shared.request_id(),
            "sourceArn": order.source_arn,
        });
        let handle = STANDARD.encode(handle.to_string());
        let to_move = left_in(&source).await.map_err(|error| self.refused(&error))?;
        let cancel = moves.stop.child_token();
        let task = Arc::new(Task::new(handle.clone(), order, to_move, self.now(), cancel));
        let exists = |id| self.shared.engine.queue_by_id(id).is_some();
        if !moves.add(source.id(), &task, exists) {
            return Err(SqsError::invalid(
                "There is already a task running. Only one active task is allowed for a source \
                 queue arn at a given time.",
            ));
        }
        let engine = self.shared.engine.clone();
        let mut deed = self.shared.audit.begin(Act::Redrive, source.name().as_str(), self.who());
        moves.running.spawn(async move {
            task.run(engine).await;
            match task.ended() {
                (moved, true) => deed.done(moved),
                (moved, false) => deed.so_far(moved),
            }
        });
        Ok(Answer::StartMessageMoveTask(StartMessageMoveTaskAnswer { task_handle: handle }))
    }

    pub(super) async fn cancel_move(&self, p: CancelMessageMoveTask) -> Result<Answer, SqsError> {
        let task = match self.shared.moves.find(&p.task_handle) {
            Some(task) => task,
            None => return Err(self.no_task(&p.task_handle).await),
        };
        let moved = task.cancel().ok_or_else(|| {
            SqsError::new(ErrorCode::UnsupportedOperation, "Only active tasks can be cancelled.")
        })?;
        if let Some(source) = self.shared.engine.queue_by_id(task.source()) {
            self.audit(Act::CancelRedrive, &source, Some(moved));
        }
        let answer = CancelMessageMoveTaskAnswer { approximate_number_of_messages_moved: moved };
        Ok(Answer::CancelMessageMoveTask(answer))
    }

    pub(super) async fn list_moves(&self, p: ListMessageMoveTasks) -> Result<Answer, SqsError> {
        let source = self.move_queue(&p.source_arn, "SourceArn").await?;
        let most = p.max_results.and_then(|most| usize::try_from(most).ok()).unwrap_or(1);
        let tasks = self.shared.moves.of(source.id());
        let results = tasks.iter().take(most).map(|task| task.described()).collect();
        Ok(Answer::ListMessageMoveTasks(ListMessageMoveTasksAnswer { results }))
    }

    /// The queue that a parameter names.
    async fn move_queue(&self, arn: &str, parameter: &str) -> Result<Queue, SqsError> {
        if !is_arn(arn) {
            return Err(SqsError::invalid(format!(
                "You must use this format to specify the {parameter}: \
                 arn:<partition>:<service>:<region>:<account-id>:<resource-id>"
            )));
        }
        self.queue_of(arn).await?.ok_or_else(|| no_resource(parameter))
    }

    /// What is wrong with a handle that no task has.
    async fn no_task(&self, handle: &str) -> SqsError {
        let Some(source) = source_in(handle) else {
            return SqsError::invalid("Value for parameter TaskHandle is invalid.");
        };
        match self.queue_of(&source).await {
            Ok(Some(_)) => SqsError::new(ErrorCode::ResourceNotFound, "Task does not exist."),
            Ok(None) => no_resource("SourceArn"),
            Err(error) => error,
        }
    }

    async fn is_dead_letter_queue(&self, queue: &Queue) -> Result<bool, SqsError> {
        let name = queue.name();
        let queues = self.all_queues().await?;
        Ok(queues.iter().any(|other| other.info().settings.dead_letter.as_ref() == Some(&name)))
    }
}

/// What a task handle says, in the form of AWS.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HandleMembers {
    #[serde(rename = "taskId")]
    _task_id: String,
    source_arn: String,
}

/// The ARN of the source in a task handle; `None` when it is none.
fn source_in(handle: &str) -> Option<String> {
    let text = STANDARD.decode(handle).ok()?;
    serde_json::from_slice(&text).ok().map(|members: HandleMembers| members.source_arn)
}

fn no_resource(parameter: &str) -> SqsError {
    SqsError::new(
        ErrorCode::ResourceNotFound,
        format!("The resource that you specified for the {parameter} parameter doesn't exist."),
    )
}
