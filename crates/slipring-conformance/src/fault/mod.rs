//! A store wrapper that fails, loses answers or hangs when it is told to.
//!
//! The verbs of [`Store`] have faults, and a few of administration; the others pass through.

mod admin;
mod loads;

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use slipring::store::{
    AppendBatch, Appended, ClaimAny, ClaimBatch, Claimed, ClaimedAny, Deadlines, Demand,
    ExtendBatch, Head, Pass, Sent, SettleBatch, Settled,
};
use slipring::{
    Capabilities, Clock, Delivery, Error, ErrorKind, MessageId, QueueId, Retry, Store, Timestamp,
};
use tokio::sync::watch;

/// A task that was woken has begun its next call after so many turns of the others.
const WAKE_TURNS: u32 = 20;

/// A verb that can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "each is named like the verb of the store")]
pub enum Verb {
    Append,
    AppendAndClaim,
    Claim,
    ClaimAny,
    ClaimMessage,
    Lookup,
    Heads,
    Settle,
    Extend,
    Due,
    Expire,
    Prune,
    Kick,
    Purge,
    MoveMessages,
    MoveChosen,
    Check,
    Stats,
    DeleteQueue,
    Deadlines,
    ForeignChanges,
    QueueChanges,
}

/// What goes wrong with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It fails and does nothing.
    Before,
    /// It takes effect, and its answer is lost.
    After,
    /// It does nothing until [`FaultyStore::release`], then goes on as usual.
    Hang,
    /// It takes effect, and its answer comes only after [`FaultyStore::release`].
    HangAfter,
    /// It does nothing and panics, as a store that is at fault.
    Panic,
    /// It takes effect, and then panics.
    PanicAfter,
}

/// A store with faults on demand.
pub struct FaultyStore {
    inner: Arc<dyn Store>,
    /// What it says of the largest call in place of the store.
    call_messages_max: Option<u32>,
    /// Whether it is asked to append and claim in one call. Without it a send and the look after it
    /// are calls of their own in all stores, whose faults can be planned one by one.
    appends_and_claims: bool,
    plan: Mutex<Plan>,
    hanging: watch::Sender<u64>,
    releases: watch::Sender<u64>,
    /// Calls that have begun and not ended.
    running: watch::Sender<u64>,
}

/// Counts a call as long as it runs, also when its caller goes away.
struct Running<'s>(&'s watch::Sender<u64>);

impl<'s> Running<'s> {
    fn begin(running: &'s watch::Sender<u64>) -> Running<'s> {
        running.send_modify(|count| *count += 1);
        Running(running)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

#[derive(Debug, Default)]
struct Plan {
    calls: BTreeMap<Verb, u64>,
    faults: BTreeMap<(Verb, u64), Fault>,
    largest: BTreeMap<Verb, usize>,
}

impl FaultyStore {
    /// A wrapper without faults.
    pub fn new(inner: Arc<dyn Store>) -> Arc<FaultyStore> {
        FaultyStore::with_calls_of(inner, None)
    }

    /// A wrapper that wants calls of no more messages than this.
    pub fn with_calls_of(inner: Arc<dyn Store>, messages: Option<u32>) -> Arc<FaultyStore> {
        Arc::new(FaultyStore { call_messages_max: messages, ..FaultyStore::plain(inner) })
    }

    /// A wrapper that is asked to append and claim in one call, also where the store has no call of
    /// its own for it.
    pub fn with_appends_and_claims(inner: Arc<dyn Store>) -> Arc<FaultyStore> {
        Arc::new(FaultyStore { appends_and_claims: true, ..FaultyStore::plain(inner) })
    }

    fn plain(inner: Arc<dyn Store>) -> FaultyStore {
        FaultyStore {
            inner,
            call_messages_max: None,
            appends_and_claims: false,
            plan: Mutex::default(),
            hanging: watch::Sender::new(0),
            releases: watch::Sender::new(0),
            running: watch::Sender::new(0),
        }
    }

    /// Makes the `nth` call of `verb` from now on go wrong; 1 is the next.
    pub fn plan(&self, verb: Verb, nth: u64, fault: Fault) {
        let mut plan = self.plan.lock();
        let at = plan.calls.get(&verb).copied().unwrap_or(0) + nth;
        plan.faults.insert((verb, at), fault);
    }

    /// How often `verb` was called.
    pub fn calls(&self, verb: Verb) -> u64 {
        self.plan.lock().calls.get(&verb).copied().unwrap_or(0)
    }

    /// How many messages or entries the largest call of `verb` had.
    pub fn largest(&self, verb: Verb) -> usize {
        self.plan.lock().largest.get(&verb).copied().unwrap_or(0)
    }

    fn sized(&self, verb: Verb, size: usize) {
        let mut plan = self.plan.lock();
        let largest = plan.largest.entry(verb).or_default();
        *largest = size.max(*largest);
    }

    /// Ends when `count` calls hang.
    pub async fn hanging(&self, count: u64) {
        let mut hanging = self.hanging.subscribe();
        // The sender lives as long as the store, so this cannot fail.
        let _ = hanging.wait_for(|now| *now >= count).await;
    }

    /// Ends when no call runs and nobody who is awake begins one.
    pub async fn idle(&self) {
        self.runs_at_most(0).await;
    }

    /// As [`FaultyStore::idle`], but for the calls that hang.
    pub async fn still(&self) {
        self.runs_at_most(*self.hanging.borrow()).await;
    }

    async fn runs_at_most(&self, calls: u64) {
        let mut running = self.running.subscribe();
        loop {
            for _ in 0..WAKE_TURNS {
                tokio::task::yield_now().await;
            }
            if *running.borrow_and_update() <= calls {
                return;
            }
            // The sender lives as long as the store, so this cannot fail.
            let _ = running.wait_for(|count| *count <= calls).await;
        }
    }

    /// Lets all hanging calls go on.
    pub fn release(&self) {
        self.releases.send_modify(|releases| *releases += 1);
    }

    async fn through<T>(
        &self,
        verb: Verb,
        call: impl Future<Output = Result<T, Error>> + Send,
    ) -> Result<T, Error> {
        let _running = Running::begin(&self.running);
        self.part(verb, call).await
    }

    /// Counts the next call of `verb`; answers what is planned for it.
    fn count(&self, verb: Verb) -> Option<Fault> {
        let mut plan = self.plan.lock();
        let calls = plan.calls.entry(verb).or_default();
        *calls += 1;
        let key = (verb, *calls);
        plan.faults.remove(&key)
    }

    /// Whether something is planned for the next call of `verb`.
    fn is_planned(&self, verb: Verb) -> bool {
        let plan = self.plan.lock();
        let next = plan.calls.get(&verb).copied().unwrap_or(0) + 1;
        plan.faults.contains_key(&(verb, next))
    }

    /// As [`FaultyStore::through`], of a part of a call that is counted as running.
    async fn part<T>(
        &self,
        verb: Verb,
        call: impl Future<Output = Result<T, Error>> + Send,
    ) -> Result<T, Error> {
        match self.count(verb) {
            None => call.await,
            Some(Fault::Before) => Err(broken(verb, Retry::Later)),
            Some(Fault::After) => {
                call.await?;
                Err(broken(verb, Retry::Unknown))
            }
            Some(Fault::Hang) => {
                self.hang().await;
                call.await
            }
            Some(Fault::HangAfter) => {
                let answer = call.await;
                self.hang().await;
                answer
            }
            Some(Fault::Panic) => panic!("a planned panic of {verb:?}"),
            Some(Fault::PanicAfter) => {
                call.await?;
                panic!("a planned panic after {verb:?}")
            }
        }
    }

    async fn hang(&self) {
        let mut releases = self.releases.subscribe();
        let before = *releases.borrow_and_update();
        self.hanging.send_modify(|hanging| *hanging += 1);
        // The sender lives as long as the store, so this cannot fail.
        let _ = releases.wait_for(|now| *now > before).await;
        self.hanging.send_modify(|hanging| *hanging -= 1);
    }
}

fn broken(verb: Verb, retry: Retry) -> Error {
    Error::new(ErrorKind::StorageUnavailable, format!("a planned fault of {verb:?}"))
        .with_retry(retry)
}

#[async_trait]
impl Store for FaultyStore {
    fn capabilities(&self) -> Capabilities {
        let own = self.inner.capabilities();
        let call_messages_max = self.call_messages_max.unwrap_or(own.call_messages_max);
        Capabilities { call_messages_max, appends_and_claims: self.appends_and_claims, ..own }
    }

    fn clock(&self) -> Option<Arc<dyn Clock>> {
        self.inner.clock()
    }

    async fn append(&self, batch: AppendBatch) -> Result<Vec<Result<Sent, Error>>, Error> {
        self.sized(Verb::Append, batch.messages.len());
        self.through(Verb::Append, self.inner.append(batch)).await
    }

    /// Counts as an append and a claim, and has the faults of both beside its own.
    async fn append_and_claim(
        &self,
        batch: AppendBatch,
        demands: Vec<Demand>,
    ) -> Result<Appended, Error> {
        self.sized(Verb::Append, batch.messages.len());
        let call = async {
            if !self.is_planned(Verb::Append) && !self.is_planned(Verb::Claim) {
                self.count(Verb::Append);
                self.count(Verb::Claim);
                return self.inner.append_and_claim(batch, demands).await;
            }
            let (queue, now) = (batch.queue, batch.now);
            let sent = self.part(Verb::Append, self.inner.append(batch)).await?;
            let claim = ClaimBatch { queue, now, demands };
            let claimed = self.part(Verb::Claim, self.inner.claim(claim)).await;
            Ok(Appended { sent, claimed })
        };
        self.through(Verb::AppendAndClaim, call).await
    }

    async fn claim(&self, batch: ClaimBatch) -> Result<Claimed, Error> {
        self.through(Verb::Claim, self.inner.claim(batch)).await
    }

    async fn claim_briefly(&self, batch: ClaimBatch) -> Result<Claimed, Error> {
        self.through(Verb::Claim, self.inner.claim_briefly(batch)).await
    }

    async fn claim_any(&self, claim: ClaimAny) -> Result<ClaimedAny, Error> {
        self.through(Verb::ClaimAny, self.inner.claim_any(claim)).await
    }

    async fn claim_message(
        &self,
        queue: QueueId,
        message: MessageId,
        demand: Demand,
        now: Timestamp,
    ) -> Result<Delivery, Error> {
        let call = self.inner.claim_message(queue, message, demand, now);
        self.through(Verb::ClaimMessage, call).await
    }

    async fn heads(&self, queues: &[QueueId], now: Timestamp) -> Result<Vec<Option<Head>>, Error> {
        self.through(Verb::Heads, self.inner.heads(queues, now)).await
    }

    async fn settle(&self, batch: SettleBatch) -> Result<Vec<Result<Settled, Error>>, Error> {
        self.sized(Verb::Settle, batch.entries.len());
        self.through(Verb::Settle, self.inner.settle(batch)).await
    }

    async fn extend(&self, batch: ExtendBatch) -> Result<Vec<Result<Timestamp, Error>>, Error> {
        self.sized(Verb::Extend, batch.entries.len());
        self.through(Verb::Extend, self.inner.extend(batch)).await
    }

    async fn due(&self, now: Timestamp) -> Result<Pass, Error> {
        self.through(Verb::Due, self.inner.due(now)).await
    }

    async fn expire(&self, now: Timestamp) -> Result<Pass, Error> {
        self.through(Verb::Expire, self.inner.expire(now)).await
    }

    async fn due_in(&self, queue: QueueId, now: Timestamp) -> Result<Pass, Error> {
        self.through(Verb::Due, self.inner.due_in(queue, now)).await
    }

    async fn expire_in(&self, queue: QueueId, now: Timestamp) -> Result<Pass, Error> {
        self.through(Verb::Expire, self.inner.expire_in(queue, now)).await
    }

    async fn deadlines(&self, from: u64) -> Result<Deadlines, Error> {
        // Not counted as running, as little as the next: nobody brings them about.
        self.part(Verb::Deadlines, self.inner.deadlines(from)).await
    }

    async fn prune(&self, now: Timestamp) -> Result<Pass, Error> {
        self.through(Verb::Prune, self.inner.prune(now)).await
    }

    async fn await_foreign_change(&self, within: Duration) -> Result<bool, Error> {
        self.inner.await_foreign_change(within).await
    }

    async fn foreign_changes(&self) -> Result<u64, Error> {
        self.part(Verb::ForeignChanges, self.inner.foreign_changes()).await
    }

    async fn queue_changes(&self) -> Result<u64, Error> {
        self.through(Verb::QueueChanges, self.inner.queue_changes()).await
    }
}
