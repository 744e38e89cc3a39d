//! The three combined calls of a queue: sends, settlements, lease prolongations.

use std::sync::Arc;

use crate::clock::{Clock, Timestamp};
use crate::error::{Error, Retry};
use crate::lease::Receipt;
use crate::lifecycle::Settlement;
use crate::message::NewMessage;
use crate::queue::QueueId;
use crate::store::{
    AppendBatch, Appended, ExtendBatch, Prolong, Sent, SettleBatch, Settled, Store,
};

use super::combiner::Turn;
use super::counts::{Counts, nacks};
use super::isolated::{isolated, unanswered};
use super::portions::{CallSize, PROLONGATION, of_message, of_settlement, reason_bytes};
use super::receives::{Along, Receives};
use super::registry::Registry;
use super::schedule::Schedule;

/// What the turns of a queue share.
#[derive(Clone)]
pub(super) struct TurnParts {
    pub(super) queue: QueueId,
    pub(super) fifo: bool,
    pub(super) store: Arc<dyn Store>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) receives: Arc<Receives>,
    pub(super) schedule: Arc<Schedule>,
    pub(super) registry: Arc<Registry>,
    pub(super) counts: Arc<Counts>,
    /// Whether the store hands out in the call that stores.
    pub(super) along: bool,
}

impl TurnParts {
    /// After a call of which it is unknown whether it took effect, all look again: messages
    /// may be ready, delayed or elsewhere without the engine having been told.
    fn look_again_after(&self, error: &Error) {
        if error.retry() == Retry::Unknown {
            let now = self.clock.now();
            self.registry.wake_all();
            self.schedule.due_at(now);
            self.schedule.expire_at(now);
        }
    }
}

/// Messages of one caller.
pub(super) enum SendRequest {
    /// One message.
    One(NewMessage),
    /// All or nothing (S9.1).
    Whole(Vec<NewMessage>),
    /// Each for itself.
    Each(Vec<NewMessage>),
}

/// One answer for each message of the request.
pub(super) enum SendAnswer {
    One(Result<Sent, Error>),
    Many(Vec<Result<Sent, Error>>),
}

pub(super) struct SendTurn(pub(super) TurnParts);

impl Turn for SendTurn {
    type Request = SendRequest;
    type Answer = SendAnswer;

    fn bytes(request: &SendRequest) -> u64 {
        match request {
            SendRequest::One(message) => message.size_bytes(),
            SendRequest::Whole(list) | SendRequest::Each(list) => {
                list.iter().map(NewMessage::size_bytes).sum()
            }
        }
    }

    fn size(request: &SendRequest) -> CallSize {
        let all =
            |list: &[NewMessage]| list.iter().map(of_message).fold(CallSize::ZERO, CallSize::and);
        match request {
            SendRequest::One(message) => of_message(message),
            SendRequest::Whole(list) | SendRequest::Each(list) => all(list),
        }
    }

    async fn run(&self, requests: Vec<SendRequest>) -> Vec<SendAnswer> {
        let mut messages = Vec::with_capacity(requests.len());
        let mut units = Vec::with_capacity(requests.len());
        // How many messages each caller brought; `None` for a single one.
        let mut shapes = Vec::with_capacity(requests.len());
        for request in requests {
            match request {
                SendRequest::One(message) => {
                    messages.push(message);
                    units.push(1);
                    shapes.push(None);
                }
                SendRequest::Whole(list) => {
                    units.push(u32::try_from(list.len()).unwrap_or(u32::MAX));
                    shapes.push(Some(list.len()));
                    messages.extend(list);
                }
                SendRequest::Each(list) => {
                    units.extend(list.iter().map(|_| 1));
                    shapes.push(Some(list.len()));
                    messages.extend(list);
                }
            }
        }
        let parts = &self.0;
        let ready = messages.iter().filter(|message| message.delay.is_none_or(|d| d.is_zero()));
        let ready = if parts.along { ready.count() as u64 } else { 0 };
        let batch = AppendBatch { queue: parts.queue, now: parts.clock.now(), messages, units };
        let sent = match parts.receives.along(ready) {
            Some(along) => self.append_along(batch, along).await,
            None => isolated(parts.store.append(batch)).await.inspect(|sent| {
                parts.receives.notify(self.announce(sent));
            }),
        };
        match sent {
            Ok(sent) => deal(sent.into_iter(), shapes),
            Err(error) => {
                parts.look_again_after(&error);
                deal(std::iter::repeat(Err(error)), shapes)
            }
        }
    }
}

impl SendTurn {
    /// Stores messages and hands out what is ready to receives at rest, in one call.
    async fn append_along(
        &self,
        batch: AppendBatch,
        along: Along<'_>,
    ) -> Result<Vec<Result<Sent, Error>>, Error> {
        let now = batch.now;
        match isolated(self.0.store.append_and_claim(batch, along.demands())).await {
            Ok(Appended { sent, claimed }) => {
                along.sent(self.announce(&sent), now, claimed);
                Ok(sent)
            }
            Err(error) => {
                along.failed(now);
                Err(error)
            }
        }
    }

    /// Counts what was stored and sees to what is due later; answers how many messages are ready.
    fn announce(&self, sent: &[Result<Sent, Error>]) -> u64 {
        let (mut stored, mut ready) = (0, 0);
        let mut first_due = Timestamp::MAX;
        for sent in sent.iter().flatten().filter(|sent| !sent.duplicate) {
            stored += 1;
            match sent.due {
                None => ready += 1,
                Some(due) => first_due = first_due.min(due),
            }
        }
        if first_due < Timestamp::MAX {
            self.0.schedule.due_at(first_due);
        }
        self.0.counts.sent(stored);
        ready
    }
}

fn deal(
    mut sent: impl Iterator<Item = Result<Sent, Error>>,
    shapes: Vec<Option<usize>>,
) -> Vec<SendAnswer> {
    let mut next = || sent.next().unwrap_or_else(|| Err(unanswered()));
    shapes
        .into_iter()
        .map(|shape| match shape {
            None => SendAnswer::One(next()),
            Some(count) => SendAnswer::Many((0..count).map(|_| next()).collect()),
        })
        .collect()
}

pub(super) struct SettleTurn(pub(super) TurnParts);

impl Turn for SettleTurn {
    type Request = Vec<(Receipt, Settlement)>;
    type Answer = Vec<Result<Settled, Error>>;

    fn bytes(request: &Self::Request) -> u64 {
        let reasons = request.iter().map(|(_, settlement)| reason_bytes(settlement));
        size_of_val(request.as_slice()) as u64 + reasons.sum::<u64>()
    }

    fn size(request: &Self::Request) -> CallSize {
        let sizes = request.iter().map(|(_, settlement)| of_settlement(settlement));
        sizes.fold(CallSize::ZERO, CallSize::and)
    }

    async fn run(&self, requests: Vec<Self::Request>) -> Vec<Self::Answer> {
        let parts = &self.0;
        let counts: Vec<usize> = requests.iter().map(Vec::len).collect();
        let entries: Vec<_> = requests.into_iter().flatten().collect();
        let nacks = nacks(&entries);
        let batch = SettleBatch { queue: parts.queue, now: parts.clock.now(), entries };
        let result = isolated(parts.store.settle(batch)).await;
        match &result {
            Ok(settled) => {
                parts.counts.settled(settled, &nacks);
                self.announce(settled);
            }
            Err(error) => parts.look_again_after(error),
        }
        split(result, counts)
    }
}

impl SettleTurn {
    fn announce(&self, settled: &[Result<Settled, Error>]) {
        let mut ready = 0;
        let mut first_due = Timestamp::MAX;
        let mut moved: Vec<QueueId> = Vec::new();
        for settled in settled.iter().flatten() {
            match settled {
                Settled::Ready => ready += 1,
                Settled::Delayed(until) => first_due = first_due.min(*until),
                Settled::DeadLettered(target) => moved.push(*target),
                // The end of a lease may free the next message of its group (S7.3).
                Settled::Done | Settled::Parked => ready += u64::from(self.0.fifo),
            }
        }
        self.0.receives.notify(ready);
        self.0.receives.notify_room();
        if first_due < Timestamp::MAX {
            self.0.schedule.due_at(first_due);
        }
        for target in moved {
            if let Some(core) = self.0.registry.by_id(target) {
                core.receives.notify(1);
            }
            self.0.receives.notify(u64::from(self.0.fifo));
        }
    }
}

pub(super) struct ExtendTurn(pub(super) TurnParts);

impl Turn for ExtendTurn {
    type Request = Vec<(Receipt, Prolong)>;
    type Answer = Vec<Result<Timestamp, Error>>;

    fn bytes(request: &Self::Request) -> u64 {
        size_of_val(request.as_slice()) as u64
    }

    fn size(request: &Self::Request) -> CallSize {
        request.iter().map(|_| PROLONGATION).fold(CallSize::ZERO, CallSize::and)
    }

    async fn run(&self, requests: Vec<Self::Request>) -> Vec<Self::Answer> {
        let parts = &self.0;
        let counts: Vec<usize> = requests.iter().map(Vec::len).collect();
        let entries = requests.into_iter().flatten().collect();
        let batch = ExtendBatch { queue: parts.queue, now: parts.clock.now(), entries };
        let result = isolated(parts.store.extend(batch)).await;
        match &result {
            Ok(deadlines) => {
                // An extension may also move a deadline closer.
                if let Some(first) = deadlines.iter().flatten().min() {
                    parts.schedule.expire_at(*first);
                }
            }
            Err(error) => parts.look_again_after(error),
        }
        split(result, counts)
    }
}

/// Gives each caller the answers to its own entries.
fn split<T>(
    result: Result<Vec<Result<T, Error>>, Error>,
    counts: Vec<usize>,
) -> Vec<Vec<Result<T, Error>>> {
    match result {
        Ok(answers) => {
            let mut answers = answers.into_iter();
            counts.into_iter().map(|count| answers.by_ref().take(count).collect()).collect()
        }
        Err(error) => counts
            .into_iter()
            .map(|count| (0..count).map(|_| Err(error.clone())).collect())
            .collect(),
    }
}
