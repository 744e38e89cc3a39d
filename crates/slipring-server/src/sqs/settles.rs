//! DeleteMessage, ChangeMessageVisibility, and their batches.

use std::collections::HashSet;
use std::time::Duration;

use slipring::lifecycle::Settlement;
use slipring::{Error, ErrorKind, Queue, Receipt};
use slipring_wire::sqs::{
    Answer, BatchAnswer, ChangeMessageVisibility, ChangeMessageVisibilityBatch,
    ChangeMessageVisibilityBatchAnswer, DeleteMessage, DeleteMessageBatch,
    DeleteMessageBatchAnswer, ErrorCode, SqsError,
};

use super::call::Call;
use super::messages::open_receipt_handle;

/// A message that is deleted, with the handle as it came.
struct Deletion {
    receipt: Receipt,
    handle: String,
}

/// What is asked of one lease, in the place of its entry, with the handle as it came.
struct Change {
    receipt: Receipt,
    handle: String,
    seconds: u64,
}

/// Of a handle that is none of a queue's an answer shows so many characters; those of AWS are
/// shorter.
const HANDLE_SHOWN_CHARS_MAX: usize = 1_024;

impl Call<'_> {
    pub(super) async fn delete_message(&self, p: DeleteMessage) -> Result<Answer, SqsError> {
        let queue = self.queue(&p.queue_url).await?;
        let receipt = self.receipt(&queue, &p.receipt_handle);
        let (receipt, _) = receipt.map_err(|_| bad_handle(&p.receipt_handle))?;
        let deletion = Deletion { receipt, handle: p.receipt_handle };
        let outcome = self.delete(&queue, vec![deletion]).await?.into_iter().next();
        outcome.unwrap_or(Ok(())).map(|()| Answer::Nothing)
    }

    pub(super) async fn delete_message_batch(
        &self,
        p: DeleteMessageBatch,
    ) -> Result<Answer, SqsError> {
        let queue = self.queue(&p.queue_url).await?;
        let mut answer = BatchAnswer::default();
        let (mut ids, mut deletions) = (Vec::new(), Vec::new());
        for entry in p.entries.into_vec() {
            match self.receipt(&queue, &entry.receipt_handle) {
                Ok((receipt, _)) => {
                    ids.push(entry.id);
                    deletions.push(Deletion { receipt, handle: entry.receipt_handle });
                }
                Err(_) => answer.add(entry.id, Err(bad_handle(&entry.receipt_handle))),
            }
        }
        for (id, outcome) in ids.into_iter().zip(self.delete(&queue, deletions).await?) {
            answer.add(id, outcome);
        }
        Ok(Answer::DeleteMessageBatch(DeleteMessageBatchAnswer(answer)))
    }

    pub(super) async fn change_visibility(
        &self,
        p: ChangeMessageVisibility,
    ) -> Result<Answer, SqsError> {
        let queue = self.queue(&p.queue_url).await?;
        let seconds = p.visibility_timeout.unwrap_or_default();
        let change = self.change_of(&queue, &p.receipt_handle, seconds)?;
        let outcome = self.change_leases(&queue, vec![change]).await.into_iter().next();
        outcome.unwrap_or(Ok(())).map(|()| Answer::Nothing)
    }

    pub(super) async fn change_visibility_batch(
        &self,
        p: ChangeMessageVisibilityBatch,
    ) -> Result<Answer, SqsError> {
        let queue = self.queue(&p.queue_url).await?;
        let mut answer = BatchAnswer::default();
        let (mut ids, mut changes) = (Vec::new(), Vec::new());
        for entry in p.entries.into_vec() {
            let seconds = entry.check(self.limits());
            let change = seconds.and_then(|s| self.change_of(&queue, &entry.receipt_handle, s));
            match change {
                Ok(change) => {
                    ids.push(entry.id);
                    changes.push(change);
                }
                Err(error) => answer.add(entry.id, Err(error)),
            }
        }
        for (id, outcome) in ids.into_iter().zip(self.change_leases(&queue, changes).await) {
            answer.add(id, outcome);
        }
        Ok(Answer::ChangeMessageVisibilityBatch(ChangeMessageVisibilityBatchAnswer(answer)))
    }

    /// The receipt in a handle of this queue, and seconds since it was handed out.
    fn receipt(&self, queue: &Queue, handle: &str) -> Result<(Receipt, u64), SqsError> {
        let now = self.now();
        let (receipt, since) = open_receipt_handle(&self.shared.engine, handle, now)?;
        if receipt.queue != queue.id() {
            return Err(SqsError::bad_receipt());
        }
        Ok((receipt, since.until(now).as_secs()))
    }

    fn change_of(&self, queue: &Queue, handle: &str, seconds: i64) -> Result<Change, SqsError> {
        let (receipt, elapsed) = self.receipt(queue, handle)?;
        let seconds = u64::try_from(seconds).unwrap_or_default();
        let most = u64::try_from(self.limits().visibility_seconds_max).unwrap_or_default();
        if elapsed.saturating_add(seconds) > most {
            let reason = format!(
                "Total VisibilityTimeout for the message is beyond the limit [{most} seconds]."
            );
            return Err(SqsError::bad_value(seconds, "VisibilityTimeout", &reason));
        }
        Ok(Change { receipt, handle: handle.to_string(), seconds })
    }

    /// Deletes, answering in the order of the receipts. A message that is gone already is deleted
    /// as well as one can be; so is, for a standard queue, one that another receive got by now. In
    /// a FIFO queue the visibility timeout must not have ended (S3.4).
    async fn delete(
        &self,
        queue: &Queue,
        deletions: Vec<Deletion>,
    ) -> Result<Vec<Result<(), SqsError>>, SqsError> {
        let fifo = queue.info().settings.fifo;
        let entries = deletions.iter().map(|one| (one.receipt, Settlement::Ack)).collect();
        let settled = queue.settle(entries).await.map_err(|error| self.refused(&error))?;
        let outcomes = settled.into_iter().zip(deletions).map(|(settled, deletion)| {
            let error = match settled {
                Ok(_) => return Ok(()),
                Err(error) => error,
            };
            match error.kind() {
                ErrorKind::MessageGone => Ok(()),
                ErrorKind::LeaseLost if !fifo => Ok(()),
                ErrorKind::LeaseLost => Err(SqsError::invalid(format!(
                    "Value {} for parameter ReceiptHandle is invalid. Reason: The receipt handle \
                     has expired.",
                    deletion.handle
                ))),
                _ => Err(self.refused(&error)),
            }
        });
        Ok(outcomes.collect())
    }

    /// Prolongs leases, or gives back those whose timeout is zero; answers in order. On a standard
    /// queue a lease that is over is taken up while no other receive got the message (S3.7).
    async fn change_leases(
        &self,
        queue: &Queue,
        changes: Vec<Change>,
    ) -> Vec<Result<(), SqsError>> {
        let mut outcomes = Vec::with_capacity(changes.len());
        let mut left = changes.as_slice();
        while !left.is_empty() {
            // Changes of one lease take effect in their order.
            let mut named = HashSet::new();
            let again = left.iter().position(|change| !named.insert(change.receipt));
            let (part, later) = left.split_at(again.unwrap_or(left.len()));
            outcomes.extend(self.change_different(queue, part).await);
            left = later;
        }
        outcomes
    }

    /// Changes leases none of which is named twice.
    async fn change_different(
        &self,
        queue: &Queue,
        changes: &[Change],
    ) -> Vec<Result<(), SqsError>> {
        let nack = Settlement::Nack { delay: Some(Duration::ZERO), priority: None, reason: None };
        let given_back = changes.iter().filter(|change| change.seconds == 0);
        let given_back: Vec<_> = given_back.map(|change| (change.receipt, nack.clone())).collect();
        let count = given_back.len();
        // A call that fails as a whole is the answer of its own entries: the other one stands.
        let given_back = queue.settle(given_back).await;
        let given_back = given_back.unwrap_or_else(|error| vec![Err(error); count]);
        let mut given_back = given_back.into_iter().map(|settled| settled.map(|_| ()));
        let mut outcomes = Vec::with_capacity(changes.len());
        let mut prolonged = Vec::new();
        for change in changes {
            let outcome = (change.seconds == 0).then(|| given_back.next().unwrap_or(Ok(())));
            let lapsed =
                |error: &Error| error.kind() == ErrorKind::LeaseLost && !queue.info().settings.fifo;
            let outcome = outcome.filter(|outcome| !outcome.as_ref().is_err_and(lapsed));
            if outcome.is_none() {
                prolonged.push((change.receipt, Duration::from_secs(change.seconds)));
            }
            outcomes.push(outcome);
        }
        let count = prolonged.len();
        let prolonged = queue.take_up(prolonged).await;
        let prolonged = prolonged.unwrap_or_else(|error| vec![Err(error); count]);
        let mut prolonged = prolonged.into_iter().map(|deadline| deadline.map(|_| ()));
        let outcomes = outcomes.into_iter().zip(changes).map(|(outcome, change)| {
            let outcome = outcome.or_else(|| prolonged.next()).unwrap_or(Ok(()));
            outcome.map_err(|error| self.lease_refused(&error, &change.handle))
        });
        outcomes.collect()
    }

    fn lease_refused(&self, error: &Error, handle: &str) -> SqsError {
        match error.kind() {
            ErrorKind::MessageGone => SqsError::invalid(format!(
                "Value {handle} for parameter ReceiptHandle is invalid. Reason: Message does not \
                 exist or is not available for visibility timeout change."
            )),
            ErrorKind::LeaseLost => SqsError::new(
                ErrorCode::MessageNotInflight,
                "The specified message isn't in flight.",
            ),
            _ => self.refused(error),
        }
    }
}

/// The error of a delete whose handle is none of this queue.
fn bad_handle(handle: &str) -> SqsError {
    let shown: String = handle.chars().take(HANDLE_SHOWN_CHARS_MAX).collect();
    SqsError::new(
        ErrorCode::ReceiptHandleIsInvalid,
        format!("The input receipt handle \"{shown}\" is not a valid receipt handle."),
    )
}
