//! The handle of a queue: send, receive, settle, and administration of the one queue.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use crate::admin::{PeekFilter, Peeked};
use crate::clock::{Clock, Timestamp};
use crate::error::{Error, ErrorKind};
use crate::lease::Receipt;
use crate::lifecycle::Settlement;
use crate::limits::Limits;
use crate::message::{Delivery, NewMessage};
use crate::queue::{QueueId, QueueInfo, QueueName, QueueSettings, QueueStats};
use crate::store::{Demand, Prolong, Sent, Settled};

use super::EngineHandle;
use super::core::QueueCore;
use super::portions::{PROLONGATION, of_message, of_settlement};
use super::turns::{SendAnswer, SendRequest};

/// What a receive asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceiveRequest {
    /// At most so many messages, 1 to `receive_messages_max`.
    pub up_to: u32,
    /// How long to wait for a first message, at most `wait_max`; zero does not wait, and
    /// [`Duration::MAX`] waits without an end.
    pub wait: Duration,
    /// How long the lease lasts; `None` takes the message's own or the queue's. Zero gives a
    /// lease that has lapsed at once.
    pub lease: Option<Duration>,
    /// The lease belongs to a connection and ends with this process (see the failure table).
    pub session: bool,
}

impl ReceiveRequest {
    /// At most `up_to` messages, without waiting, with the default lease.
    pub fn up_to(up_to: u32) -> ReceiveRequest {
        ReceiveRequest { up_to, wait: Duration::ZERO, lease: None, session: false }
    }

    /// The same receive, waiting up to `wait` for a first message.
    #[must_use]
    pub fn wait(mut self, wait: Duration) -> ReceiveRequest {
        self.wait = wait;
        self
    }

    /// The same receive with a lease of this length.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> ReceiveRequest {
        self.lease = Some(lease);
        self
    }

    pub(super) fn demand(&self) -> Demand {
        Demand { up_to: self.up_to, lease: self.lease, session: self.session }
    }
}

/// A queue of an [`crate::Engine`]. Cheap to clone; keeps its engine alive.
#[derive(Clone)]
pub struct Queue {
    pub(super) engine: Arc<EngineHandle>,
    pub(super) core: Arc<QueueCore>,
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Queue").field(&self.core.info().name).finish()
    }
}

impl Queue {
    /// The queue's number.
    pub fn id(&self) -> QueueId {
        self.core.id
    }

    /// The queue's name.
    pub fn name(&self) -> QueueName {
        self.core.info().name.clone()
    }

    /// The queue's settings as this engine knows them; costs no storage access.
    pub fn info(&self) -> Arc<QueueInfo> {
        self.core.info()
    }

    /// The clock of the queue's engine.
    pub(crate) fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.engine.services.clock)
    }

    /// The limits of the queue's engine.
    pub(crate) fn limits(&self) -> &Limits {
        &self.engine.services.limits
    }

    /// How many receives wait on the queue in this process.
    pub fn waiting(&self) -> usize {
        self.core.receives.waiting()
    }

    /// Sends one message. It is as durable as the queue's durability says when this returns (S1).
    /// Dropping the future takes nothing back: the message may be stored all the same.
    ///
    /// # Errors
    /// `LimitExceeded`, `QueueNotFound`, `Closed` after shutdown, storage errors: nothing is stored
    /// then, unless the error's retry is `Unknown`.
    pub async fn send(&self, message: NewMessage) -> Result<Sent, Error> {
        self.check(|limits, settings| limits.check_message(&message, settings))?;
        match self.call(SendRequest::One(message)).await? {
            SendAnswer::One(sent) => sent.map_err(|e| self.named(e, "send")),
            SendAnswer::Many(_) => Err(mixed_up()),
        }
    }

    /// Sends messages all or nothing, in their order (S9). An empty batch stores nothing.
    ///
    /// # Errors
    /// As [`Queue::send`]; the context names the index of a bad message.
    pub async fn send_batch(&self, messages: Vec<NewMessage>) -> Result<Vec<Sent>, Error> {
        self.check(|limits, settings| limits.check_batch(&messages, settings))?;
        if messages.is_empty() {
            return Ok(Vec::new());
        }
        match self.call(SendRequest::Whole(messages)).await? {
            SendAnswer::Many(sent) => {
                sent.into_iter().collect::<Result<_, _>>().map_err(|e| self.named(e, "send"))
            }
            SendAnswer::One(_) => Err(mixed_up()),
        }
    }

    /// Sends messages each for itself in one trip: as many calls of [`Queue::send`], answered one
    /// by one.
    pub async fn send_each(&self, messages: Vec<NewMessage>) -> Vec<Result<Sent, Error>> {
        let info = self.info();
        let limits = &self.engine.services.limits;
        let refusals: Vec<Option<Error>> = messages
            .iter()
            .map(|message| limits.check_message(message, &info.settings).err())
            .collect();
        let accepted: Vec<NewMessage> = messages
            .into_iter()
            .zip(&refusals)
            .filter_map(|(message, refusal)| refusal.is_none().then_some(message))
            .collect();
        let mut sent = Vec::with_capacity(accepted.len());
        for call in self.engine.services.call_max().deal(accepted, of_message) {
            let count = call.len();
            match self.call(SendRequest::Each(call)).await {
                Ok(SendAnswer::Many(answers)) => sent.extend(answers),
                Ok(SendAnswer::One(_)) => sent.extend(vec![Err(mixed_up()); count]),
                Err(error) => sent.extend(vec![Err(error); count]),
            }
        }
        let mut sent = sent.into_iter();
        refusals
            .into_iter()
            .map(|refusal| match refusal {
                Some(error) => Err(error),
                None => sent.next().unwrap_or_else(|| Err(mixed_up())),
            })
            .map(|sent| sent.map_err(|e| self.named(e, "send")))
            .collect()
    }

    async fn call(&self, request: SendRequest) -> Result<SendAnswer, Error> {
        self.core.sends.call(request).await.map_err(|e| self.named(e, "send"))
    }

    /// Receives messages under a lease. Returns as soon as there is at least one, and an empty
    /// list when the wait is over. Dropping the future hands back what it was just given (S2.3).
    ///
    /// # Errors
    /// `LimitExceeded` for messages, a lease or a wait out of range, too many waiting receives, or
    /// (when the wait is over) a queue whose `in_flight_max` is reached; `QueueNotFound` when the
    /// queue is deleted; storage errors.
    pub async fn receive(&self, request: ReceiveRequest) -> Result<Vec<Delivery>, Error> {
        let until = self.check_receive(&request, "receive")?;
        let pending = self.core.receives.enter(request.demand(), until);
        match pending {
            Ok(pending) => pending.answer().await,
            Err(error) => Err(error),
        }
        .map_err(|e| self.named(e, "receive"))
    }

    /// Ends leases; answers entry by entry (S9.3). Dropping the future takes nothing back: what
    /// got in takes effect.
    ///
    /// # Errors
    /// `Closed` after shutdown, `LimitExceeded` for a delay, which settles none of them; everything
    /// else is in the entries' answers.
    pub async fn settle(
        &self,
        entries: Vec<(Receipt, Settlement)>,
    ) -> Result<Vec<Result<Settled, Error>>, Error> {
        let delays = entries.iter().filter_map(|(_, settlement)| match settlement {
            Settlement::Nack { delay, .. } => *delay,
            _ => None,
        });
        self.check_durations(delays, "settle")?;
        let call_max = self.engine.services.call_max();
        let calls = call_max.deal(entries, |(_, settlement)| of_settlement(settlement));
        self.one_by_one(calls, "settle", |call| self.core.settlements.call(call)).await
    }

    /// Acks one message: done, never to come again (S4.1).
    ///
    /// # Errors
    /// `LeaseLost`, `MessageGone`, `ReceiptInvalid` for one of another queue, `Closed` after
    /// shutdown, storage errors.
    pub async fn ack(&self, receipt: &Receipt) -> Result<(), Error> {
        self.settle_one(receipt, Settlement::Ack).await.map(|_| ())
    }

    /// Gives one message back as failed; `None` waits by the queue's backoff (S6.5).
    ///
    /// # Errors
    /// As [`Queue::ack`]; `LimitExceeded` for the delay.
    pub async fn nack(&self, receipt: &Receipt, delay: Option<Duration>) -> Result<Settled, Error> {
        self.settle_one(receipt, Settlement::Nack { delay, priority: None, reason: None }).await
    }

    /// Prolongs leases to now + duration; `None` takes the message's own or the queue's. Answers
    /// entry by entry. Dropping the future takes nothing back: what got in takes effect.
    ///
    /// # Errors
    /// `Closed` after shutdown, `LimitExceeded` for a duration; everything else is in the
    /// entries' answers.
    pub async fn extend(
        &self,
        entries: Vec<(Receipt, Option<Duration>)>,
    ) -> Result<Vec<Result<Timestamp, Error>>, Error> {
        self.check_durations(entries.iter().filter_map(|(_, duration)| *duration), "extend")?;
        let entries = entries.into_iter().map(|(receipt, lease)| (receipt, lease.into()));
        self.prolong(entries.collect()).await
    }

    /// As [`Queue::extend`], and also takes up leases that are over while no other receive got the
    /// message (S3.7).
    ///
    /// # Errors
    /// As [`Queue::extend`].
    pub async fn take_up(
        &self,
        entries: Vec<(Receipt, Duration)>,
    ) -> Result<Vec<Result<Timestamp, Error>>, Error> {
        self.check_durations(entries.iter().map(|(_, duration)| *duration), "extend")?;
        let prolong = |lease| Prolong { lease: Some(lease), take_up: true };
        let entries = entries.into_iter().map(|(receipt, lease)| (receipt, prolong(lease)));
        self.prolong(entries.collect()).await
    }

    async fn prolong(
        &self,
        entries: Vec<(Receipt, Prolong)>,
    ) -> Result<Vec<Result<Timestamp, Error>>, Error> {
        let calls = self.engine.services.call_max().deal(entries, |_| PROLONGATION);
        self.one_by_one(calls, "extend", |call| self.core.extensions.call(call)).await
    }

    /// Makes one call after another, so that those of others come in between, and answers entry by
    /// entry. When a call fails the entries of the later ones have its error too.
    async fn one_by_one<E, A, F>(
        &self,
        calls: Vec<Vec<E>>,
        operation: &'static str,
        call: impl Fn(Vec<E>) -> F,
    ) -> Result<Vec<Result<A, Error>>, Error>
    where
        F: Future<Output = Result<Vec<Result<A, Error>>, Error>>,
    {
        let mut answers: Vec<Result<A, Error>> = Vec::new();
        let mut failed: Option<Error> = None;
        for entries in calls {
            let count = entries.len();
            if failed.is_none() {
                match call(entries).await {
                    Ok(part) => {
                        answers.extend(part);
                        continue;
                    }
                    Err(error) => failed = Some(self.named(error, operation)),
                }
            }
            match &failed {
                Some(error) if answers.is_empty() => return Err(error.clone()),
                Some(error) => answers.extend((0..count).map(|_| Err(error.clone()))),
                None => {}
            }
        }
        Ok(answers)
    }

    /// What the queue holds.
    ///
    /// # Errors
    /// `QueueNotFound`, storage errors.
    pub async fn stats(&self) -> Result<QueueStats, Error> {
        let services = &self.engine.services;
        let stats = services.store.stats(self.core.id, services.clock.now()).await;
        stats.map_err(|e| self.named(e, "stats"))
    }

    /// Looks at messages without taking them.
    ///
    /// # Errors
    /// `LimitExceeded` for none or more than 1,000, `QueueNotFound`, storage errors.
    pub async fn peek(&self, filter: PeekFilter) -> Result<Vec<Peeked>, Error> {
        if filter.limit == 0 || filter.limit > 1000 {
            let error = Error::limit("peek_messages_max", 1000, u64::from(filter.limit));
            return Err(self.named(error, "peek"));
        }
        let services = &self.engine.services;
        let peeked = services.store.peek(self.core.id, filter, services.clock.now()).await;
        peeked.map_err(|e| self.named(e, "peek"))
    }

    pub(super) async fn settle_one(
        &self,
        receipt: &Receipt,
        how: Settlement,
    ) -> Result<Settled, Error> {
        let answers = self.settle(vec![(*receipt, how)]).await?;
        match answers.into_iter().next() {
            Some(answer) => answer.map_err(|e| self.named(e, "settle")),
            None => Err(mixed_up()),
        }
    }

    /// Checks what a receive asks for; answers until when it waits, if it does.
    pub(super) fn check_receive(
        &self,
        request: &ReceiveRequest,
        operation: &'static str,
    ) -> Result<Option<Timestamp>, Error> {
        let limits = self.limits();
        let most = limits.receive_messages_max;
        if request.up_to == 0 || request.up_to > most {
            let asked = u64::from(request.up_to);
            let error = Error::limit("receive_messages_max", u64::from(most), asked);
            return Err(self.named(error, operation));
        }
        self.check_durations(request.lease, operation)?;
        if request.wait.is_zero() {
            return Ok(None);
        }
        if request.wait == Duration::MAX {
            return Ok(Some(Timestamp::MAX));
        }
        limits.check_wait(request.wait).map_err(|e| self.named(e, operation))?;
        Ok(Some(self.engine.services.clock.end_of(request.wait)))
    }

    fn check_durations(
        &self,
        durations: impl IntoIterator<Item = Duration>,
        operation: &'static str,
    ) -> Result<(), Error> {
        let check = |duration| self.limits().check_duration("duration_seconds_max", duration);
        durations.into_iter().try_for_each(check).map_err(|e| self.named(e, operation))
    }

    fn check(
        &self,
        check: impl FnOnce(&Limits, &QueueSettings) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let info = self.core.info();
        check(self.limits(), &info.settings).map_err(|e| self.named(e, "send"))
    }

    pub(super) fn named(&self, error: Error, operation: &'static str) -> Error {
        let error = error.during(operation);
        if error.context().iter().any(|(key, _)| *key == "queue") {
            return error;
        }
        error.with("queue", &self.core.info().name)
    }
}

fn mixed_up() -> Error {
    Error::new(ErrorKind::Internal, "the combined call was answered out of order")
}
