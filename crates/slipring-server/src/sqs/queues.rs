//! CreateQueue, DeleteQueue, GetQueueUrl, ListQueues, PurgeQueue, and the reset of test mode.

use std::sync::Arc;

use slipring::{Error, Queue};
use slipring_wire::sqs::{
    Answer, CreateQueue, CreateQueueAnswer, DeleteQueue, ErrorCode, GetQueueUrl, GetQueueUrlAnswer,
    ListQueues, ListQueuesAnswer, PurgeQueue, SqsError, attributes_by_name,
};
use tokio::sync::OwnedMutexGuard;

use super::attributes::{apply, as_shown, first_other, fresh_settings};
use super::call::Call;
use super::paging::page;
use super::queue_type;
use super::tags::tag;
use crate::audit::Act;

impl Call<'_> {
    pub(super) async fn create_queue(&self, p: CreateQueue) -> Result<Answer, SqsError> {
        let attributes = attributes_by_name(p.attributes);
        let fifo = queue_type::of_new(&attributes);
        self.check_name(&p.queue_name, fifo)?;
        queue_type::check_new(&attributes)?;
        let redrive = self.redrive_in(&attributes, &p.queue_name, fifo).await?;
        let queue_url = self.url_of(&p.queue_name);
        let answer = Answer::CreateQueue(CreateQueueAnswer { queue_url });
        let turn = self.turn().await;
        // Another server may have deleted the queue; the answer is that there is one.
        let noted = self.shared.engine.note_deletions().await;
        noted.map_err(|error| self.refused(&error))?;
        if let Some(queue) = self.queue_named(&p.queue_name).await? {
            // Attributes that are not named may have any value.
            let present = as_shown(queue.info().settings.clone());
            return match first_other(&present, &attributes, redrive.as_ref()) {
                Some(name) => Err(exists(name)),
                None => Ok(answer),
            };
        }
        let recently = self.shared.deleted.has(p.queue_name.as_str(), self.now());
        let settings = &self.shared.settings;
        if recently && settings.minute_rules && !settings.test_mode {
            return Err(SqsError::new(
                ErrorCode::QueueDeletedRecently,
                "You must wait 60 seconds after deleting a queue before you can create another \
                 with the same name.",
            ));
        }
        let mut settings = fresh_settings();
        settings.fifo = fifo;
        apply(&mut settings, &attributes, redrive.as_ref())?;
        tag(&mut settings, &p.queue_name, p.tags.into_map(), self.limits())?;
        self.to_the_end(move |call| {
            Box::pin(async move {
                let _turn = turn;
                let created = call.shared.engine.create_queue(&p.queue_name, settings).await;
                let created = created.map_err(|error| call.refused(&error))?;
                call.audit(Act::Create, &created, None);
                Ok(answer)
            })
        })
        .await
    }

    /// The turn to make or delete queues, for an act that keeps it to its end.
    async fn turn(&self) -> OwnedMutexGuard<()> {
        Arc::clone(&self.shared.changes).lock_owned().await
    }

    /// Checks the name of a queue that is to be made.
    fn check_name(&self, name: &str, fifo: bool) -> Result<(), SqsError> {
        let base = match (name.strip_suffix(".fifo"), fifo) {
            (Some(base), true) => base,
            (None, true) => {
                return Err(SqsError::invalid(
                    "The name of a FIFO queue can only include alphanumeric characters, hyphens, \
                     or underscores, must end with .fifo suffix and be 1 to 80 in length",
                ));
            }
            (_, false) => name,
        };
        let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        let long = name.len() > self.limits().queue_name_bytes_max;
        if base.is_empty() || long || !base.bytes().all(allowed) {
            return Err(SqsError::invalid(
                "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in \
                 length",
            ));
        }
        Ok(())
    }

    pub(super) async fn delete_queue(&self, p: DeleteQueue) -> Result<Answer, SqsError> {
        let turn = self.turn().await;
        let queue = self.queue(&p.queue_url).await?;
        let messages = messages_in(&queue).await;
        self.to_the_end(move |call| {
            Box::pin(async move {
                let _turn = turn;
                call.delete_whole(&queue, messages).await?;
                call.shared.deleted.note(queue.name().to_string(), call.now());
                Ok(Answer::Nothing)
            })
        })
        .await
    }

    async fn delete_whole(&self, queue: &Queue, messages: Option<u64>) -> Result<(), SqsError> {
        let deleted = self.shared.engine.delete_queue(queue).await;
        deleted.map_err(|error| self.refused(&error))?;
        self.shared.moves.forget(queue.id());
        self.audit(Act::Delete, queue, messages);
        Ok(())
    }

    pub(super) async fn get_queue_url(&self, p: GetQueueUrl) -> Result<Answer, SqsError> {
        match self.queue_named(&p.queue_name).await? {
            Some(_) => {
                let queue_url = self.url_of(&p.queue_name);
                Ok(Answer::GetQueueUrl(GetQueueUrlAnswer { queue_url }))
            }
            None => Err(SqsError::no_queue()),
        }
    }

    pub(super) async fn list_queues(&self, p: ListQueues) -> Result<Answer, SqsError> {
        let queues = self.all_queues().await?;
        let prefix = p.queue_name_prefix.unwrap_or_default();
        let names = queues.iter().map(|queue| queue.name().to_string());
        let names = names.filter(|name| name.starts_with(&prefix));
        let (names, next_token) =
            page(names, p.max_results, p.next_token.as_deref(), self.limits())?;
        let queue_urls = names.iter().map(|name| self.url_of(name)).collect();
        Ok(Answer::ListQueues(ListQueuesAnswer { queue_urls, next_token }))
    }

    pub(super) async fn purge_queue(&self, p: PurgeQueue) -> Result<Answer, SqsError> {
        let queue = self.queue(&p.queue_url).await?;
        let rule = self.shared.settings.minute_rules;
        let purge = {
            let (queue, audit, who) = (queue.clone(), self.shared.audit.clone(), self.who());
            async move {
                let mut deed = audit.begin(Act::Purge, queue.name().as_str(), who);
                let purged = queue.purge(|messages| deed.so_far(messages)).await?;
                deed.done(purged);
                Ok::<_, Error>(purged)
            }
        };
        match self.shared.purges.run(queue.id(), self.now(), rule, purge).await {
            Some(purged) => purged.map(|()| Answer::Nothing).map_err(|error| self.refused(&error)),
            None => Err(SqsError::new(
                ErrorCode::PurgeQueueInProgress,
                format!(
                    "Only one PurgeQueue operation on {} is allowed every 60 seconds.",
                    queue.name()
                ),
            )),
        }
    }

    /// Deletes every queue, for test suites.
    pub(super) async fn reset(&self) -> Result<Answer, SqsError> {
        let turn = self.turn().await;
        let queues = self.all_queues().await?;
        self.to_the_end(move |call| {
            Box::pin(async move {
                let _turn = turn;
                for queue in queues {
                    call.delete_whole(&queue, messages_in(&queue).await).await?;
                }
                call.shared.purges.clear();
                call.shared.deleted.clear();
                Ok(Answer::Nothing)
            })
        })
        .await
    }

    /// All queues, by name.
    pub(super) async fn all_queues(&self) -> Result<Vec<Queue>, SqsError> {
        let queues: Result<Vec<Queue>, Error> = self.shared.engine.queues().await;
        queues.map_err(|error| self.refused(&error))
    }
}

/// How many messages a queue has, where that can be said.
async fn messages_in(queue: &Queue) -> Option<u64> {
    queue.stats().await.ok().map(|stats| stats.total())
}

fn exists(attribute: &str) -> SqsError {
    SqsError::new(
        ErrorCode::QueueNameExists,
        format!(
            "A queue already exists with the same name and a different value for attribute \
             {attribute}"
        ),
    )
}
