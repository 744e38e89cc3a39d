//! SendMessage and SendMessageBatch.

use std::time::Duration;

use slipring::store::Sent;
use slipring::{Error, NewMessage, Queue, QueueSettings};
use slipring_wire::sqs::{
    Answer, ErrorCode, FailedEntry, OutgoingMessage, SendMessage, SendMessageAnswer,
    SendMessageBatch, SendMessageBatchAnswer, SentEntry, SqsError, attributes_digest, body_digest,
    content_id,
};

use super::attributes;
use super::call::Call;
use super::messages::{headers_of, message_id, sequence_number};
use crate::resend::send_each;

/// A message ready for the engine, and its answer but for the numbers.
struct Accepted {
    message: NewMessage,
    answer: SendMessageAnswer,
}

impl Call<'_> {
    pub(super) async fn send_message(&self, p: SendMessage) -> Result<Answer, SqsError> {
        let queue = self.queue(&p.queue_url).await?;
        let info = queue.info();
        check_fifo(&p.message, &info.settings)?;
        check_size(&p.message, &info.settings, "are invalid")?;
        let Accepted { message, mut answer } = accept(p.message, &info.settings)?;
        for sent in self.send(&queue, vec![message]).await {
            let sent = sent.map_err(|error| self.refused(&error))?;
            number(&mut answer, &sent, &info.settings);
        }
        Ok(Answer::SendMessage(answer))
    }

    pub(super) async fn send_message_batch(&self, p: SendMessageBatch) -> Result<Answer, SqsError> {
        let queue = self.queue(&p.queue_url).await?;
        let info = queue.info();
        for entry in p.entries.iter() {
            check_fifo(&entry.message, &info.settings).map_err(as_of_batch)?;
        }
        let mut batch = SendMessageBatchAnswer::default();
        let mut waiting = Vec::with_capacity(p.entries.len());
        let mut messages = Vec::with_capacity(p.entries.len());
        for entry in p.entries.into_vec() {
            let checked = entry
                .message
                .check(self.limits())
                .and_then(|()| check_size(&entry.message, &info.settings, "cannot be validated"));
            match checked.and_then(|()| accept(entry.message, &info.settings)) {
                Ok(accepted) => {
                    messages.push(accepted.message);
                    waiting.push((entry.id, accepted.answer));
                }
                Err(error) => batch.failed.push(FailedEntry::new(entry.id, error)),
            }
        }
        let sent = self.send(&queue, messages).await;
        for ((id, mut answer), sent) in waiting.into_iter().zip(sent) {
            match sent {
                Ok(sent) => {
                    number(&mut answer, &sent, &info.settings);
                    batch.successful.push(SentEntry { id, sent: answer });
                }
                Err(error) => batch.failed.push(FailedEntry::new(id, self.refused(&error))),
            }
        }
        Ok(Answer::SendMessageBatch(batch))
    }

    /// Sends messages each for itself. Where another server has deleted the queue and it was made
    /// anew, they go into the new one, if that has the same rules for them.
    async fn send(&self, queue: &Queue, messages: Vec<NewMessage>) -> Vec<Result<Sent, Error>> {
        let (engine, name) = (&self.shared.engine, queue.name());
        let info = queue.info();
        let anew = || async {
            let anew = engine.queue(name.as_str()).await?;
            let same = rules(&anew.info().settings) == rules(&info.settings);
            if same { Ok(anew) } else { Err(Error::queue_not_found(&name)) }
        };
        send_each(engine, queue, messages, 1, anew).await
    }
}

/// The settings that decide which messages a queue takes.
fn rules(settings: &QueueSettings) -> (bool, bool, u64) {
    let content_based = attributes::content_based(settings);
    (settings.fifo, content_based, attributes::message_bytes_max(settings))
}

/// What a FIFO queue must and a standard queue must not have; a batch is refused as a whole.
fn check_fifo(message: &OutgoingMessage, settings: &QueueSettings) -> Result<(), SqsError> {
    if !settings.fifo {
        return match &message.deduplication_id {
            Some(id) => Err(SqsError::bad_value(
                id,
                "MessageDeduplicationId",
                "The request include parameter that is not valid for this queue type.",
            )),
            None => Ok(()),
        };
    }
    if message.group_id.is_none() {
        return Err(SqsError::missing("MessageGroupId"));
    }
    if message.deduplication_id.is_none() && !attributes::content_based(settings) {
        return Err(SqsError::invalid(
            "The queue should either have ContentBasedDeduplication enabled or \
             MessageDeduplicationId provided explicitly",
        ));
    }
    Ok(())
}

/// A parameter that a message must have is missing; of a batch AWS says so by another code.
fn as_of_batch(error: SqsError) -> SqsError {
    match error.code {
        ErrorCode::MissingParameter => SqsError::invalid(error.message),
        _ => error,
    }
}

/// Checks the size that the queue allows; `what` the parameters are is worded as the action has it.
fn check_size(
    message: &OutgoingMessage,
    settings: &QueueSettings,
    what: &str,
) -> Result<(), SqsError> {
    let most = attributes::message_bytes_max(settings);
    if message.size() <= most {
        return Ok(());
    }
    Err(SqsError::invalid(format!(
        "One or more parameters {what}. Reason: Message must be shorter than {most} bytes."
    )))
}

/// Takes over a message whose size is checked.
fn accept(message: OutgoingMessage, settings: &QueueSettings) -> Result<Accepted, SqsError> {
    let delay = match message.delay_seconds {
        // In a FIFO queue the delay is the queue's; zero is what some clients always send.
        Some(0) if settings.fifo => None,
        Some(seconds) if settings.fifo => {
            return Err(SqsError::bad_value(
                seconds,
                "DelaySeconds",
                "The request include parameter that is not valid for this queue type.",
            ));
        }
        other => other.and_then(|seconds| u64::try_from(seconds).ok()).map(Duration::from_secs),
    };
    let headers = headers_of(&message)?;
    let OutgoingMessage { body, attributes, system_attributes, deduplication_id, group_id, .. } =
        message;
    let answer = SendMessageAnswer {
        md5_of_message_body: body_digest(body.as_bytes()),
        md5_of_message_attributes: attributes_digest(&attributes),
        md5_of_message_system_attributes: attributes_digest(&system_attributes),
        ..SendMessageAnswer::default()
    };
    let dedup_id = match deduplication_id {
        None if settings.fifo => Some(content_id(body.as_bytes())),
        given => given,
    };
    let message = NewMessage {
        delay,
        group: group_id.map(Into::into),
        dedup_id: dedup_id.map(Into::into),
        headers,
        ..NewMessage::new(body)
    };
    Ok(Accepted { message, answer })
}

fn number(answer: &mut SendMessageAnswer, sent: &Sent, settings: &QueueSettings) {
    answer.message_id = message_id(sent.id);
    answer.sequence_number = settings.fifo.then(|| sequence_number(sent.id));
}
