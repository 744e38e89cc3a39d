//! The store as its users see it: opening, and the queue verbs.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use slipring::clock::{millis_ceil, monotonic_ns};
use slipring::lifecycle::Settlement;
use slipring::store::{
    AppendBatch, Capabilities, ClaimBatch, ClaimEnd, Claimed, Deadlines, Demand, ExtendBatch, Head,
    Pass, Sent, SettleBatch, Settled, Store,
};
use slipring::{
    Delivery, Error, ErrorKind, MessageId, QueueId, Randomness, ReceiptKey, Retry, Timestamp,
};

use crate::address::Address;
use crate::catalog::Listed;
use crate::changes::Changes;
use crate::fault::garbled;
use crate::flush::Flusher;
use crate::held::{Held, Wait};
use crate::loads::{self, Reserved};
use crate::options::{PostgresOptions, WhenToMigrate};
use crate::pace::Pace;
use crate::passes::{self, Moment, Rotation, Stuck};
use crate::retention::Retention;
use crate::rows::{to_sql, value};
use crate::schema::{self, State};
use crate::session::Session;
use crate::{append, aside, claim, inspect, migrate, queries, settle};

/// A claim that finds nothing in the part of a FIFO queue's log that it brings in goes on with the
/// next part, at most so many times in all. Each takes some 20 ms.
const CLAIM_TURNS_MAX: usize = 32;
/// So many for messages that cannot be read, where others wait for the end of the call.
const UNREAD_TURNS_MAX: usize = 3;

/// A store in a PostgreSQL database, which any number of processes may open at once.
///
/// Every call is one statement and one transaction. Nothing is kept on a connection but prepared
/// statements, and those only where no pooler shares connections out.
pub struct PostgresStore {
    pub(crate) session: Arc<Session>,
    flusher: Flusher,
    pub(crate) key: ReceiptKey,
    pub(crate) changes: Changes,
    pub(crate) listed: Listed,
    /// How long a look whether the store can serve may take.
    pub(crate) check_timeout: Duration,
    randomness: Arc<dyn Randomness>,
    stuck: Stuck,
    held: Held,
    pace: Pace,
    rotation: Rotation,
    retention: Retention,
    pub(crate) reserved: Reserved,
    /// Tells the leases of this store's sessions from those of others.
    holder: i64,
    /// Some lease belongs to a session.
    has_sessions: AtomicBool,
    /// The latest time that a caller has named, in milliseconds.
    latest_ms: AtomicU64,
}

impl PostgresStore {
    /// Opens the store in a database, and brings its schema up to date where the options say so.
    ///
    /// # Errors
    /// `StorageUnavailable`, saying what to do, when the database cannot be reached, is too old,
    /// read-only, of another program, restored into another cluster, or when rights are missing
    /// or the schema is older and may not be changed; `StorageTooNew` when a newer program has
    /// made the schema.
    pub async fn open(
        address: &Address,
        options: PostgresOptions,
    ) -> Result<Arc<PostgresStore>, Error> {
        let options = address.overrides(options);
        let session = Arc::new(Session::new(address, &options)?);
        match open_session(&session, options.migrate).await {
            Ok(key) => {
                session.choose_statements(address, &options).await;
                let mut holder = [0; 8];
                options.randomness.fill(&mut holder);
                Ok(Arc::new(PostgresStore {
                    flusher: Flusher::new(Arc::clone(&session)),
                    session,
                    key,
                    changes: Changes::default(),
                    listed: Listed::default(),
                    check_timeout: options.connect_timeout,
                    randomness: options.randomness,
                    stuck: Stuck::default(),
                    held: Held::default(),
                    pace: Pace::default(),
                    rotation: Rotation {
                        bytes: to_sql(options.rotate_bytes),
                        age_ms: to_sql(millis_ceil(options.rotate_age)),
                        rest: Mutex::default(),
                        after: Mutex::default(),
                    },
                    retention: Retention::default(),
                    reserved: Reserved::default(),
                    // Never below zero, which nobody is.
                    holder: i64::from_le_bytes(holder) & i64::MAX,
                    has_sessions: AtomicBool::new(false),
                    latest_ms: AtomicU64::new(0),
                }))
            }
            Err(error) => {
                session.close();
                Err(session.located(error).during("open"))
            }
        }
    }

    fn note(&self, now: Timestamp) {
        // Mostly a plain load: callers' times seldom differ by much.
        if now.as_millis() > self.latest_ms.load(Ordering::Relaxed) {
            self.latest_ms.fetch_max(now.as_millis(), Ordering::Relaxed);
        }
    }

    /// Whether rows that were in the way of a call are out of it now.
    async fn clears(&self, queue: QueueId, now: Timestamp, error: &Error) -> bool {
        aside::clears(&self.session, queue, now, error).await
    }

    /// Takes back what was handed out beside a message that cannot be read, so that setting that
    /// one aside with their lease costs none of them an attempt. What is not taken back lapses.
    async fn undo(&self, batch: &ClaimBatch, claimed: Claimed, unread: &Error) {
        let given = claimed.deliveries.into_iter().flatten();
        let entries: Vec<_> = given.map(|given| (given.receipt, Settlement::HandBack)).collect();
        let back = SettleBatch { queue: batch.queue, now: batch.now, entries };
        if !back.entries.is_empty()
            && let Err(error) = self.settle(back).await
        {
            tracing::warn!(queue = %batch.queue, %error, "messages are not taken back");
        }
        self.clears(batch.queue, batch.now, unread).await;
    }

    async fn claim_waiting(&self, mut batch: ClaimBatch, wait: Wait) -> Result<Claimed, Error> {
        self.note(batch.now);
        batch.demands.iter().for_each(|demand| self.note_session(demand));
        let began = monotonic_ns();
        let (first, mut turns) = (batch.now, 0);
        loop {
            turns += 1;
            let claim =
                || claim::claim(&self.session, (&self.held, &self.pace), self.holder, &batch, wait);
            let (claimed, unread) = match claim().await {
                Err(error) if self.clears(batch.queue, batch.now, &error).await => claim().await?,
                answer => answer?,
            };
            let turns_max = match wait {
                Wait::AmongOthers if unread.is_some() => UNREAD_TURNS_MAX,
                Wait::AmongOthers => 1,
                _ => CLAIM_TURNS_MAX,
            };
            match unread {
                Some(error) => {
                    self.undo(&batch, claimed, &error).await;
                    if turns >= turns_max {
                        return Err(error.with_retry(Retry::Unknown));
                    }
                }
                None if turns >= turns_max || !is_unfinished(&claimed) => return Ok(claimed),
                None => {}
            }
            // Leases begin with the turn that gives them.
            batch.now = first.after(Duration::from_nanos(monotonic_ns().saturating_sub(began)));
        }
    }

    fn note_session(&self, demand: &Demand) {
        if demand.session {
            self.has_sessions.store(true, Ordering::Relaxed);
        }
    }

    /// Ends the leases of this store's sessions, for their connections end with it.
    pub(crate) async fn end_sessions(&self) -> Result<(), Error> {
        if !self.has_sessions.load(Ordering::Relaxed) {
            return Ok(());
        }
        let now = Timestamp::from_millis(self.latest_ms.load(Ordering::Relaxed));
        passes::end_sessions(&self.session, self.holder, now).await?;
        self.has_sessions.store(false, Ordering::Relaxed);
        Ok(())
    }
}

/// Whether a claim of a FIFO queue has looked at a part of its log only, and found nothing there.
fn is_unfinished(claimed: &Claimed) -> bool {
    claimed.end == ClaimEnd::More && claimed.deliveries.iter().all(Vec::is_empty)
}

async fn open_session(session: &Session, migrate: WhenToMigrate) -> Result<ReceiptKey, Error> {
    let connection = session.connection().await?;
    let state = schema::state(&**connection).await?;
    drop(connection);
    match (&state, migrate) {
        (State::Empty { .. }, WhenToMigrate::Empty | WhenToMigrate::Always)
        | (State::Behind { .. }, WhenToMigrate::Always) => {
            let done = migrate::up(session, false).await?;
            tracing::info!(from = ?done.from, to = done.to, "the schema was brought up to date");
        }
        _ => state.check()?,
    }
    let row = session.row(&queries::RECEIPT_KEY, &[]).await?;
    let row = row.ok_or_else(|| garbled("no receipt key"))?;
    let (known, here): (Option<i64>, Option<i64>) = (value(&row, 1)?, value(&row, 2)?);
    if let (Some(known), Some(here)) = (known, here)
        && known != here
    {
        let text = "the database was restored into another cluster, whose transactions are \
                    numbered anew: stop all servers on it and run `slipring import`";
        let error = Error::new(ErrorKind::StorageUnavailable, text);
        return Err(error.with("cluster", here).with("cluster_before", known));
    }
    if value::<Option<bool>>(&row, 3)?.unwrap_or(false) {
        let text = "the database was restored from a dump, whose transactions are numbered anew: \
                    stop all servers on it and run `slipring import`";
        return Err(Error::new(ErrorKind::StorageUnavailable, text));
    }
    let key = value::<&[u8]>(&row, 0)?;
    let key = key.try_into().map_err(|_| garbled("a receipt key that has not 32 bytes"))?;
    Ok(ReceiptKey::from_bytes(key))
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore")
            .field("database", &self.session.shown())
            .field("prepares", &self.session.prepares())
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Store for PostgresStore {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            name: "postgres",
            durable: true,
            shared: true,
            transactions: true,
            calls_one_by_one: true,
            appends_and_claims: false,
            passes_by_queue: true,
            deletes_if_empty: false,
            call_messages_max: 8192,
            call_bytes_max: 8 << 20,
        }
    }

    async fn append(&self, batch: AppendBatch) -> Result<Vec<Result<Sent, Error>>, Error> {
        self.note(batch.now);
        append::append(&self.session, &batch).await
    }

    async fn claim(&self, batch: ClaimBatch) -> Result<Claimed, Error> {
        self.claim_waiting(batch, Wait::Alone).await
    }

    async fn claim_briefly(&self, batch: ClaimBatch) -> Result<Claimed, Error> {
        self.claim_waiting(batch, Wait::AmongOthers).await
    }

    async fn claim_message(
        &self,
        queue: QueueId,
        message: MessageId,
        demand: Demand,
        now: Timestamp,
    ) -> Result<Delivery, Error> {
        self.note(now);
        self.note_session(&demand);
        let claim =
            || claim::claim_message(&self.session, self.holder, queue, message, demand, now);
        match claim().await {
            Err(error) if self.clears(queue, now, &error).await => claim().await,
            answer => answer,
        }
    }

    async fn heads(&self, queues: &[QueueId], now: Timestamp) -> Result<Vec<Option<Head>>, Error> {
        inspect::heads(&self.session, queues, now).await
    }

    async fn settle(&self, batch: SettleBatch) -> Result<Vec<Result<Settled, Error>>, Error> {
        self.note(batch.now);
        let settle = || settle::settle(&self.session, &self.flusher, &*self.randomness, &batch);
        match settle().await {
            Err(error) if self.clears(batch.queue, batch.now, &error).await => settle().await,
            answer => answer,
        }
    }

    async fn extend(&self, batch: ExtendBatch) -> Result<Vec<Result<Timestamp, Error>>, Error> {
        self.note(batch.now);
        settle::extend(&self.session, &batch).await
    }

    async fn due(&self, now: Timestamp) -> Result<Pass, Error> {
        self.note(now);
        passes::over_all(&self.session, &self.stuck, Moment::Due, now).await
    }

    async fn expire(&self, now: Timestamp) -> Result<Pass, Error> {
        self.note(now);
        passes::over_all(&self.session, &self.stuck, Moment::Lapse, now).await
    }

    async fn due_in(&self, queue: QueueId, now: Timestamp) -> Result<Pass, Error> {
        self.note(now);
        passes::turn(&self.session, &self.stuck, Moment::Due, queue, now).await
    }

    async fn expire_in(&self, queue: QueueId, now: Timestamp) -> Result<Pass, Error> {
        self.note(now);
        passes::turn(&self.session, &self.stuck, Moment::Lapse, queue, now).await
    }

    async fn deadlines(&self, from: u64) -> Result<Deadlines, Error> {
        passes::deadlines(&self.session, from).await
    }

    async fn prune(&self, now: Timestamp) -> Result<Pass, Error> {
        self.note(now);
        // What fails keeps none of the others from its turn.
        let pass = self.retention.prune(&self.session, now).await;
        let stand = self.changes.stand();
        let rotated = passes::rotate(&self.session, &self.rotation, stand, now).await;
        let loads = loads::prune(&self.session, now).await;
        let pass = pass?;
        match rotated.and(loads) {
            Ok(next) => Ok(loads::with_next(pass, next)),
            // What was removed has to be told.
            Err(error) if pass.removed > 0 => {
                tracing::error!(%error, "upkeep failed and is tried again");
                Ok(pass)
            }
            Err(error) => Err(error),
        }
    }

    async fn foreign_changes(&self) -> Result<u64, Error> {
        self.changes.told(&self.session).await
    }

    async fn await_foreign_change(&self, within: Duration) -> Result<bool, Error> {
        self.changes.awaited(&self.session, within).await
    }

    async fn queue_changes(&self) -> Result<u64, Error> {
        self.changes.queues(&self.session).await
    }
}
