//! One queue of the memory store: what the verbs do to its messages.
//!
//! All of it runs under the queue's lock. States change only as [`lifecycle`] says.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::admin::{PeekFilter, Peeked};
use crate::clock::Timestamp;
use crate::deal::PassedOver;
use crate::error::{Error, ErrorKind};
use crate::failures::{EndedBy, FailedAttempt, Reason, keep};
use crate::lease::Receipt;
use crate::lifecycle::{self, Next, Settlement, State};
use crate::message::MessageId;
use crate::queue::{QueueId, QueueInfo, QueueSettings, QueueStats};
use crate::store::Settled;

use super::dedup::Remembered;
use super::sharded::Sharded;
use super::stored::{Orders, Stored};

/// The messages of one queue.
#[derive(Debug)]
pub(super) struct QueueState {
    pub(super) info: Arc<QueueInfo>,
    /// No longer in the store; a holder of a handle must turn away.
    pub(super) deleted: bool,
    pub(super) messages: BTreeMap<MessageId, Stored>,
    pub(super) orders: Orders,
    pub(super) remembered: Remembered,
    /// Deliveries since the last one of a failing message that went past such (S11.1).
    pub(super) passed_over: PassedOver,
    /// The end of a pause that no pass over due messages has announced yet.
    pub(super) pause_end: Option<Timestamp>,
    pub(super) bytes: u64,
    /// Which queue holds a message; shared by all queues of the store.
    directory: Arc<Sharded<QueueId>>,
    /// The number of the next message; shared by all queues of the store.
    pub(super) next_message: Arc<AtomicU64>,
}

/// Where a message goes that is given up.
pub(super) enum DeadLetters<'a> {
    /// Not known: its lock is not held. The caller stops there and comes back with the answer.
    Unknown,
    /// Nowhere: the message is parked.
    Nobody,
    /// To this queue.
    Queue(&'a mut QueueState),
}

/// How a delivery ended: by what (`None` where it did not fail), why, and when.
type End<'a> = (Option<EndedBy>, Option<&'a Reason>, Timestamp);

/// The lock of the dead-letter queue is needed to go on.
#[derive(Debug)]
pub(super) struct NeedsDeadLetters;

impl QueueState {
    /// Replaces the settings.
    pub(super) fn configure(
        &mut self,
        settings: &QueueSettings,
        now: Timestamp,
    ) -> Result<QueueInfo, Error> {
        if self.info.settings.fifo != settings.fifo {
            let text = "fifo is fixed when a queue is created; make another queue";
            return Err(Error::new(ErrorKind::Invalid, text).with("queue", &self.info.name));
        }
        let (settings, modified_at) = (settings.clone(), self.info.next_modified_at(now));
        let info = QueueInfo { settings, modified_at, ..QueueInfo::clone(&self.info) };
        self.pause_end = info.settings.paused_until;
        self.info = Arc::new(info.clone());
        Ok(info)
    }

    pub(super) fn new(
        info: QueueInfo,
        directory: Arc<Sharded<QueueId>>,
        next_message: Arc<AtomicU64>,
    ) -> QueueState {
        QueueState {
            orders: Orders::new(info.settings.fifo),
            pause_end: info.settings.paused_until,
            info: Arc::new(info),
            deleted: false,
            messages: BTreeMap::new(),
            remembered: Remembered::default(),
            passed_over: PassedOver::default(),
            bytes: 0,
            directory,
            next_message,
        }
    }

    pub(super) fn insert(&mut self, stored: Stored) {
        let id = stored.message.id;
        self.directory.insert(id.0, self.info.id);
        self.bytes += stored.bytes;
        self.orders.put(&stored);
        self.messages.insert(id, stored);
    }

    pub(super) fn remove(&mut self, id: MessageId) -> bool {
        let removed = self.take_out(id).is_some();
        if removed {
            self.directory.remove(id.0);
        }
        removed
    }

    /// Removes a message that the directory still shows here.
    fn take_out(&mut self, id: MessageId) -> Option<Stored> {
        let stored = self.messages.remove(&id)?;
        self.orders.take(&stored);
        self.orders.left(&stored);
        self.bytes -= stored.bytes;
        Some(stored)
    }

    /// Changes a message and keeps the orders right.
    pub(super) fn change(&mut self, id: MessageId, change: impl FnOnce(&mut Stored)) {
        if let Some(stored) = self.messages.get_mut(&id) {
            self.orders.take(stored);
            change(stored);
            self.orders.put(stored);
        }
    }

    pub(super) fn settle(
        &mut self,
        receipt: Receipt,
        settlement: &Settlement,
        now: Timestamp,
        jitter: f64,
        dead_letters: &mut DeadLetters<'_>,
    ) -> Result<Result<Settled, Error>, NeedsDeadLetters> {
        let id = receipt.message;
        let Some(stored) = self.messages.get(&id) else {
            return Ok(Err(gone(id)));
        };
        let settings = &self.info.settings;
        let held = stored.held();
        let next = match lifecycle::settle(&held, receipt.fence, settlement, settings, now, jitter)
        {
            Ok(next) => next,
            Err(error) => return Ok(Err(error.with("message", id))),
        };
        if next == Next::DeadLetter {
            let end = (EndedBy::settlement(settlement), settlement.reason(), now);
            return self.give_up(id, end, dead_letters).map(Ok);
        }
        if next == Next::Done {
            self.remove(id);
            return Ok(Ok(Settled::Done));
        }
        self.note(id, (EndedBy::settlement(settlement), settlement.reason(), now));
        self.change(id, |stored| {
            if let Settlement::Nack { priority, .. } | Settlement::Park { priority } = settlement {
                stored.message.priority = priority.unwrap_or(stored.message.priority);
            }
            if let (Settlement::Nack { .. }, Next::Ready { .. }) = (settlement, next) {
                stored.message.delay = std::time::Duration::ZERO;
            }
        });
        Ok(Ok(self.enter(id, next, now)))
    }

    /// Brings a message that stays into its next state.
    fn enter(&mut self, id: MessageId, next: Next, now: Timestamp) -> Settled {
        let mut became = Settled::Parked;
        self.change(id, |stored| match next {
            Next::Ready { attempts } => {
                stored.state = State::Ready;
                stored.message.attempts = attempts;
                became = Settled::Ready;
            }
            Next::Delayed { until } => {
                stored.state = State::Delayed;
                stored.until = until;
                stored.message.delay = now.until(until);
                became = Settled::Delayed(until);
            }
            Next::Done | Next::Parked | Next::DeadLetter => stored.state = State::Parked,
        });
        became
    }

    /// Keeps how a delivery ended, if it is to be kept (S6.8).
    fn note(&mut self, id: MessageId, (ended_by, reason, at): End<'_>) {
        let (Some(ended_by), Some(stored)) = (ended_by, self.messages.get_mut(&id)) else { return };
        if reason.is_some() || !stored.failures.is_empty() {
            let (attempt, reason) = (stored.message.attempts, reason.cloned());
            keep(&mut stored.failures, FailedAttempt { attempt, at, ended_by, reason });
        }
    }

    /// Sends a message to the dead-letter queue, or parks it where there is none (S6.2).
    fn give_up(
        &mut self,
        id: MessageId,
        end: End<'_>,
        dead_letters: &mut DeadLetters<'_>,
    ) -> Result<Settled, NeedsDeadLetters> {
        match dead_letters {
            DeadLetters::Unknown if self.info.settings.dead_letter.is_some() => {
                Err(NeedsDeadLetters)
            }
            DeadLetters::Queue(target) => {
                self.note(id, end);
                self.move_to(id, target, true);
                Ok(Settled::DeadLettered(target.info.id))
            }
            _ => {
                self.note(id, end);
                self.change(id, |stored| stored.state = State::Parked);
                Ok(Settled::Parked)
            }
        }
    }

    /// Moves a message, ready and without attempts (S6.4). Both queues are locked, so that no call
    /// sees it in two places or none.
    pub(super) fn move_to(&mut self, id: MessageId, target: &mut QueueState, dead: bool) {
        if let Some(mut stored) = self.take_out(id) {
            stored.state = State::Ready;
            let earlier = stored.message.earlier_attempts.saturating_add(stored.message.attempts);
            stored.message.earlier_attempts = if dead { earlier } else { 0 };
            stored.message.attempts = 0;
            stored.message.first_received_at = None;
            stored.message.dead_letter_source = dead.then(|| self.info.name.clone());
            target.insert(stored);
        }
    }

    /// Ends the lease that lapses next, if that is over; answers what became of its message.
    pub(super) fn lapse_next(
        &mut self,
        now: Timestamp,
        dead_letters: &mut DeadLetters<'_>,
    ) -> Result<Option<Settled>, NeedsDeadLetters> {
        let Some((_, id)) = self.orders.leased.first().copied().filter(|(at, _)| *at <= now) else {
            return Ok(None);
        };
        let attempts = self.messages.get(&id).map_or(0, |stored| stored.message.attempts);
        let end = (Some(EndedBy::Lapse), None, now);
        match lifecycle::lapse(attempts, &self.info.settings) {
            Next::DeadLetter => self.give_up(id, end, dead_letters).map(Some),
            next => {
                self.note(id, end);
                Ok(Some(self.enter(id, next, now)))
            }
        }
    }

    /// Makes a parked or delayed message ready; answers whether it was one.
    pub(super) fn kick(&mut self, id: MessageId, now: Timestamp) -> bool {
        let Some(stored) = self.messages.get(&id) else { return false };
        let Some(next) = lifecycle::kick(stored.state, stored.message.attempts) else {
            return false;
        };
        self.enter(id, next, now);
        true
    }

    pub(super) fn stats(&self) -> QueueStats {
        let oldest = self.orders.oldest_ready().and_then(|id| self.messages.get(&id));
        QueueStats {
            ready: self.orders.ready_count,
            urgent: self.orders.urgent_count,
            delayed: self.orders.delayed.len() as u64,
            leased: self.orders.leased.len() as u64,
            parked: self.orders.parked.len() as u64,
            bytes: self.bytes,
            oldest_ready_sent_at: oldest.map(|stored| stored.message.sent_at),
            set_aside: 0,
        }
    }

    pub(super) fn peek(&self, filter: PeekFilter) -> Vec<Peeked> {
        let orders = &self.orders;
        let wanted = |state| filter.state.is_none_or(|only| only == state);
        let ready = wanted(State::Ready).then(|| orders.ready_in_order());
        let delayed = wanted(State::Delayed).then(|| orders.delayed.iter().map(|(_, id)| *id));
        let leased = wanted(State::Leased).then(|| orders.leased.iter().map(|(_, id)| *id));
        let parked = wanted(State::Parked).then(|| orders.parked.iter().map(|(_, id)| *id));
        let ids = ready.into_iter().flatten().chain(delayed.into_iter().flatten());
        let ids = ids.chain(leased.into_iter().flatten()).chain(parked.into_iter().flatten());
        ids.take(filter.limit as usize).filter_map(|id| self.show(id)).collect()
    }

    pub(super) fn show(&self, id: MessageId) -> Option<Peeked> {
        let stored = self.messages.get(&id)?;
        let until = matches!(stored.state, State::Delayed | State::Leased).then_some(stored.until);
        let message = stored.message.clone();
        let (state, failures) = (stored.state, stored.failures.clone());
        Some(Peeked { queue: self.info.id, message, state, until, failures })
    }
}

/// The error for a message that has left its queue (S3.5).
pub(super) fn gone(id: MessageId) -> Error {
    Error::new(ErrorKind::MessageGone, format!("message {id} is not in the queue any more"))
        .with("message", id)
}
