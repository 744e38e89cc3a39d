//! One call of an action: what it works with, and which handler it goes to.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use parking_lot::Mutex;
use slipring::{Error, Queue, QueueSettings, Timestamp};
use slipring_wire::sqs::{
    Action, Answer, ErrorCode, Limits, SqsError, queue_name, queue_path, queue_url,
};
use tokio_util::sync::CancellationToken;

use super::Settings;
use super::failure::error_for;
use super::server::Shared;
use crate::audit::{Act, Who};
use crate::budget::Room;
use crate::proxies::Client;

/// One call of an action.
pub(super) struct Call<'c> {
    pub(super) shared: &'c Arc<Shared>,
    /// The server as the client knows it.
    pub(super) host: &'c str,
    /// Who calls.
    pub(super) client: Option<&'c Client>,
    /// The access key id in its signature, which is not checked.
    pub(super) access_key: Option<&'c str>,
    /// Ends waiting receives.
    pub(super) stop: &'c CancellationToken,
    /// Set by a receive that is ready to wait.
    pub(super) polls: AtomicBool,
    /// The room for what was fetched, which the answer keeps.
    pub(super) room: Mutex<Room>,
}

impl Call<'_> {
    /// Runs an action that has been checked. The rare ones are boxed, so that a request that
    /// waits takes little memory.
    pub(super) async fn run(&self, action: Action) -> Result<Answer, SqsError> {
        match action {
            Action::SendMessage(p) => self.send_message(p).await,
            Action::SendMessageBatch(p) => self.send_message_batch(p).await,
            Action::ReceiveMessage(p) => self.receive_message(p).await,
            Action::DeleteMessage(p) => self.delete_message(p).await,
            Action::DeleteMessageBatch(p) => self.delete_message_batch(p).await,
            Action::ChangeMessageVisibility(p) => self.change_visibility(p).await,
            Action::ChangeMessageVisibilityBatch(p) => self.change_visibility_batch(p).await,
            rare => Box::pin(self.run_rare(rare)).await,
        }
    }

    async fn run_rare(&self, action: Action) -> Result<Answer, SqsError> {
        match action {
            Action::AddPermission(p) => self.add_permission(p).await,
            Action::RemovePermission(p) => self.remove_permission(p).await,
            Action::CreateQueue(p) => self.create_queue(p).await,
            Action::DeleteQueue(p) => self.delete_queue(p).await,
            Action::GetQueueUrl(p) => self.get_queue_url(p).await,
            Action::ListQueues(p) => self.list_queues(p).await,
            Action::ListDeadLetterSourceQueues(p) => self.list_sources(p).await,
            Action::GetQueueAttributes(p) => self.get_attributes(p).await,
            Action::SetQueueAttributes(p) => self.set_attributes(p).await,
            Action::PurgeQueue(p) => self.purge_queue(p).await,
            Action::TagQueue(p) => self.tag_queue(p).await,
            Action::UntagQueue(p) => self.untag_queue(p).await,
            Action::ListQueueTags(p) => self.list_tags(p).await,
            Action::StartMessageMoveTask(p) => self.start_move(p).await,
            Action::CancelMessageMoveTask(p) => self.cancel_move(p).await,
            Action::ListMessageMoveTasks(p) => self.list_moves(p).await,
            _ => Err(SqsError::new(ErrorCode::InvalidAction, "The action is not known.")),
        }
    }

    /// The queue that a URL names.
    pub(super) async fn queue(&self, url: &str) -> Result<Queue, SqsError> {
        if url.is_empty() {
            return Err(SqsError::missing("QueueUrl"));
        }
        let name = queue_name(url).ok_or_else(SqsError::no_queue)?;
        self.queue_named(&name).await?.ok_or_else(SqsError::no_queue)
    }

    /// The queue of this name, if there is one.
    pub(super) async fn queue_named(&self, name: &str) -> Result<Option<Queue>, SqsError> {
        match self.shared.engine.queue(name).await {
            Ok(queue) => Ok(Some(queue)),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(self.refused(&error)),
        }
    }

    /// Changes some of a queue's settings; `change` is asked again when somebody was faster.
    pub(super) async fn change(
        &self,
        queue: &Queue,
        change: impl Fn(&mut QueueSettings) -> Result<(), SqsError>,
    ) -> Result<(), SqsError> {
        let changed = |present: &QueueSettings| {
            let mut settings = present.clone();
            change(&mut settings).map(|()| settings)
        };
        queue.change(changed).await.map_err(|error| self.refused(&error))?.map(drop)?;
        self.audit(Act::Configure, queue, None);
        Ok(())
    }

    /// Writes down what was done to a queue.
    pub(super) fn audit(&self, act: Act, queue: &Queue, messages: Option<u64>) {
        self.shared.audit.queue(act, queue.name().as_str(), messages, &self.who());
    }

    /// Who calls, as the audit has it.
    pub(super) fn who(&self) -> Who {
        Who {
            protocol: "sqs",
            peer: self.client.map(|client| client.address),
            access_key: self.access_key.map(str::to_owned),
            ..Who::default()
        }
    }

    /// The error for an error of the engine; failures go to the log too.
    pub(super) fn refused(&self, error: &Error) -> SqsError {
        let refusal = error_for(error);
        if !refusal.code.is_senders() {
            self.shared.failures.note(error, self.now());
        }
        refusal
    }

    pub(super) fn url_of(&self, name: &str) -> String {
        let Settings { account, public_url, .. } = &self.shared.settings;
        let tls = self.client.is_some_and(|client| client.tls);
        match public_url {
            Some(url) => url.with(&queue_path(account, name)),
            None => queue_url(tls, self.host, account, name),
        }
    }

    pub(super) fn now(&self) -> Timestamp {
        self.shared.engine.clock().now()
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.shared.settings.limits
    }
}

/// Whether there is no such queue; a name that no queue may have counts as one that none has.
fn is_absent(error: &Error) -> bool {
    use slipring::ErrorKind::{Invalid, QueueNotFound};
    matches!(error.kind(), QueueNotFound | Invalid)
}
