//! One call of an action: what it works with, and which handler it goes to.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use futures::future::BoxFuture;
use parking_lot::Mutex;
use slipring::{Error, ErrorKind, Queue, QueueSettings, Timestamp};
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
            Action::GetQueueUrl(p) => self.get_queue_url(p).await,
            Action::ListQueues(p) => self.list_queues(p).await,
            Action::ListDeadLetterSourceQueues(p) => self.list_sources(p).await,
            Action::GetQueueAttributes(p) => self.get_attributes(p).await,
            Action::PurgeQueue(p) => self.purge_queue(p).await,
            Action::ListQueueTags(p) => self.list_tags(p).await,
            Action::StartMessageMoveTask(p) => self.start_move(p).await,
            Action::CancelMessageMoveTask(p) => self.cancel_move(p).await,
            Action::ListMessageMoveTasks(p) => self.list_moves(p).await,
            Action::AddPermission(p) => self.add_permission(p).await,
            Action::RemovePermission(p) => self.remove_permission(p).await,
            Action::CreateQueue(p) => self.create_queue(p).await,
            Action::DeleteQueue(p) => self.delete_queue(p).await,
            Action::SetQueueAttributes(p) => self.set_attributes(p).await,
            Action::TagQueue(p) => self.tag_queue(p).await,
            Action::UntagQueue(p) => self.untag_queue(p).await,
            _ => Err(SqsError::new(ErrorCode::InvalidAction, "The action is not known.")),
        }
    }

    /// Runs an act to its end, with its line of the audit and all that is remembered of it, also
    /// when the client leaves meanwhile: the engine does its part all the same. A stop of the
    /// server waits for them.
    ///
    /// What may wait long before the act begins, such as for the turn of another, has no place in
    /// it: nobody who has left begins one.
    pub(super) async fn to_the_end(
        &self,
        act: impl for<'a> FnOnce(&'a Call<'a>) -> BoxFuture<'a, Result<Answer, SqsError>>
        + Send
        + 'static,
    ) -> Result<Answer, SqsError> {
        let (shared, stop) = (Arc::clone(self.shared), self.stop.clone());
        let (host, client) = (self.host.to_owned(), self.client.cloned());
        let access_key = self.access_key.map(str::to_owned);
        let task = self.shared.acts.spawn(async move {
            let call = Call {
                shared: &shared,
                host: &host,
                client: client.as_ref(),
                access_key: access_key.as_deref(),
                stop: &stop,
                polls: AtomicBool::new(false),
                room: Mutex::new(shared.leaving.room()),
            };
            act(&call).await
        });
        let broken = |_| {
            let error = Error::new(ErrorKind::Internal, "the act was broken off");
            Err(self.refused(&error))
        };
        task.await.unwrap_or_else(broken)
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

    /// Changes some of a queue's settings, to the end; `change` is asked again when somebody was
    /// faster.
    pub(super) async fn change(
        &self,
        queue: &Queue,
        change: impl Fn(&mut QueueSettings) -> Result<(), SqsError> + Send + Sync + 'static,
    ) -> Result<Answer, SqsError> {
        let queue = queue.clone();
        let changed = move |present: &QueueSettings| {
            let mut settings = present.clone();
            change(&mut settings).map(|()| settings)
        };
        self.to_the_end(move |call| {
            Box::pin(async move {
                queue.change(changed).await.map_err(|error| call.refused(&error))?.map(drop)?;
                call.audit(Act::Configure, &queue, None);
                Ok(Answer::Nothing)
            })
        })
        .await
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

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::pin::pin;

    use slipring::stores::MemoryStore;
    use slipring::{Engine, QueueSettings};
    use slipring_wire::sqs::{Head, Request};
    use tokio_util::task::TaskTracker;

    use crate::audit::{Audit, AuditFile};
    use crate::budget::Budget;
    use crate::server::SharedParts;
    use crate::sqs::Server;

    use super::*;

    /// More than any call here takes of a runtime with one thread.
    const TURNS: usize = 200;
    const URL: &str = "QueueUrl=http://localhost/000000000000/q";

    /// An act, its request, and how to see that it took effect.
    type Case<'a> = (&'a str, &'a str, fn(&Engine) -> bool);

    /// A server over the engine, with this file for its audit.
    fn shared(engine: &Engine, file: &Path) -> Arc<Shared> {
        let file = AuditFile::open(file).unwrap();
        let audit = Audit::new(Arc::clone(engine.clock()), Some(file));
        let leaving = Budget::new(1 << 20, 0);
        let parts = SharedParts { leaving, audit, acts: TaskTracker::new() };
        Server::sharing(engine.clone(), Settings::default(), parts).shared()
    }

    fn call<'c>(shared: &'c Arc<Shared>, stop: &'c CancellationToken) -> Call<'c> {
        Call {
            shared,
            host: "localhost",
            client: None,
            access_key: None,
            stop,
            polls: AtomicBool::new(false),
            room: Mutex::new(shared.leaving.room()),
        }
    }

    fn action(body: &str) -> Action {
        let head = Head {
            method: "POST",
            path: "/",
            query: None,
            content_type: Some("application/x-www-form-urlencoded"),
            target: None,
            trace: None,
        };
        Request::parse(&head, body.as_bytes()).unwrap().action
    }

    async fn turns() {
        for _ in 0..TURNS {
            tokio::task::yield_now().await;
        }
    }

    /// Makes a call, leaves it after so many looks, and answers whether it was over before that.
    async fn left_after(looks: usize, file: &Path, (act, body, done): Case<'_>) -> bool {
        let engine = Engine::open(MemoryStore::shared(), Default::default()).await.unwrap();
        engine.create_queue("q", QueueSettings::default()).await.unwrap();
        let shared = shared(&engine, file);
        let over = {
            let stop = CancellationToken::new();
            let call = call(&shared, &stop);
            let mut run = pin!(call.run(action(body)));
            let mut over = false;
            for _ in 0..looks {
                over = futures::poll!(run.as_mut()).is_ready();
                if over {
                    break;
                }
                tokio::task::yield_now().await;
            }
            over
        };
        turns().await;
        let text = std::fs::read_to_string(file).unwrap();
        let line = text.contains(&format!("\"act\":\"{act}\",\"outcome\":\"done\""));
        assert_eq!(line, done(&engine), "{act} left after {looks} looks: {text}");
        let deleted = engine.known_queue("q").is_none();
        assert_eq!(shared.deleted.has("q", engine.clock().now()), deleted, "{act}, {looks} looks");
        over
    }

    #[tokio::test]
    async fn an_act_whose_client_leaves_is_written_down_if_it_is_done() {
        // S16.5
        let folder = tempfile::tempdir().unwrap();
        let tagged = |engine: &Engine| {
            let settings = engine.known_queue("q").map(|queue| queue.info().settings.clone());
            settings.is_none_or(|settings| settings != QueueSettings::default())
        };
        let (delete, tag) = (
            format!("Action=DeleteQueue&{URL}"),
            format!("Action=TagQueue&{URL}&Tag.1.Key=k&Tag.1.Value=v"),
        );
        let acts: [Case<'_>; 3] = [
            ("create", "Action=CreateQueue&QueueName=new", |engine| {
                engine.known_queue("new").is_some()
            }),
            ("delete", &delete, |engine| engine.known_queue("q").is_none()),
            ("configure", &tag, tagged),
        ];
        for act in acts {
            let mut looks = 0;
            let file = |looks: usize| folder.path().join(format!("{}{looks}", act.0));
            while !left_after(looks, &file(looks), act).await {
                looks += 1;
                assert!(looks < TURNS, "{} does not end", act.0);
            }
            assert!(looks > 1, "{} was left in the middle", act.0);
        }
    }

    #[tokio::test]
    async fn an_act_that_waits_for_its_turn_is_not_done_for_a_client_that_has_left() {
        let folder = tempfile::tempdir().unwrap();
        let engine = Engine::open(MemoryStore::shared(), Default::default()).await.unwrap();
        engine.create_queue("q", QueueSettings::default()).await.unwrap();
        let shared = shared(&engine, &folder.path().join("acts"));
        let stop = CancellationToken::new();
        for body in [format!("Action=DeleteQueue&{URL}"), "Action=CreateQueue&QueueName=new".into()]
        {
            let turn = shared.changes.lock().await;
            {
                let call = call(&shared, &stop);
                let mut run = pin!(call.run(action(&body)));
                for _ in 0..TURNS {
                    assert!(futures::poll!(run.as_mut()).is_pending(), "{body}");
                    tokio::task::yield_now().await;
                }
            }
            drop(turn);
            turns().await;
            assert!(shared.acts.is_empty(), "{body}");
            assert!(engine.known_queue("q").is_some(), "{body}");
            assert!(engine.known_queue("new").is_none(), "{body}");
        }
    }
}
