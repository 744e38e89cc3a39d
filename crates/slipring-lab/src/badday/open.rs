//! A session by SQL that leaves a transaction open beside the others, and callers that go on beside
//! it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tokio_postgres::Client;

use super::account::PARTICIPANT;
use super::others::queue_name;
use super::stage::Stage;
use crate::body::{self, Body, Content};
use crate::run::condition::Condition;
use crate::time::monotonic_ns;

/// For a session that is to wait for the transaction, and for one that is to wait no more.
pub const PATIENCE: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// A call that need not wait for the transaction takes no longer.
pub const UNFELT_MS: f64 = 250.0;

/// The queue in which the transaction is open: one that the others use.
pub fn queue() -> String {
    queue_name(0)
}

/// Bodies of the participant, which the others receive and do not count.
pub fn bodies(count: u64) -> Vec<Body> {
    let content = |number| Content { number: PARTICIPANT + number, due_ns: 0 };
    (0..count).map(|number| body::write(content(number))).collect()
}

/// Makes a queue by SQL, before the others use it.
///
/// # Errors
/// When PostgreSQL refuses.
pub async fn create(session: &Client, queue: &str) -> Result<()> {
    let create = include_str!("../../queries/sql_create_queue.sql");
    session.execute(create, &[&queue]).await.context("making a queue")?;
    Ok(())
}

/// Gives a queue a limit that is never reached; answers it.
///
/// # Errors
/// When PostgreSQL refuses.
pub async fn limit(session: &Client, queue: &str) -> Result<i64> {
    const MESSAGES_MAX: i64 = 1_000_000_000;
    let limit = include_str!("../../queries/open_limit.sql");
    let row = session.query_one(limit, &[&queue, &MESSAGES_MAX]).await;
    Ok(row.context("limiting a queue")?.try_get(0)?)
}

/// Returns when there is what is waited for: a phase of a smoke run may be over before it.
///
/// # Errors
/// When it does not come.
pub async fn until(what: &str, there: impl Fn() -> bool) -> Result<()> {
    let waits = async {
        while !there() {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    };
    let came = tokio::time::timeout(PATIENCE, waits).await;
    came.with_context(|| format!("not there within {PATIENCE:?}: {what}"))
}

/// A transaction that stays open.
pub struct Open {
    /// The session that it is in.
    pub session: Client,
    process: i32,
}

/// What another session saw of it just before its end.
#[derive(Debug, Default)]
pub struct Seen {
    idle: bool,
    locks: i64,
    waiting: i64,
}

impl Open {
    /// Begins it.
    ///
    /// # Errors
    /// When PostgreSQL refuses.
    pub async fn begin(stage: &Stage<'_>) -> Result<Open> {
        let session = stage.session().await?;
        session.batch_execute("BEGIN").await.context("beginning a transaction")?;
        let process = include_str!("../../queries/open_process.sql");
        let process = session.query_one(process, &[]).await?.try_get(0)?;
        Ok(Open { session, process })
    }

    /// Returns when a session waits for it.
    ///
    /// # Errors
    /// When PostgreSQL fails, or no session comes to wait.
    pub async fn awaited(&self, stage: &Stage<'_>) -> Result<()> {
        let looker = stage.session().await?;
        let deadline = Instant::now() + PATIENCE;
        while self.seen(&looker).await?.waiting == 0 {
            if Instant::now() > deadline {
                bail!("no session waits for the open transaction");
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        Ok(())
    }

    async fn seen(&self, looker: &Client) -> Result<Seen> {
        let look = include_str!("../../queries/open_seen.sql");
        let row = looker.query_opt(look, &[&self.process]).await;
        let row = row.context("looking at the open transaction")?.context("it is gone")?;
        Ok(Seen { idle: row.try_get(0)?, locks: row.try_get(1)?, waiting: row.try_get(2)? })
    }

    /// Ends the one that was begun; answers what was seen of it before.
    ///
    /// # Errors
    /// When PostgreSQL fails, or none was begun.
    pub async fn commit(begun: &mut Option<Open>, stage: &Stage<'_>) -> Result<Seen> {
        let open = begun.take().context("no transaction was begun")?;
        let seen = open.seen(&stage.session().await?).await?;
        open.session.batch_execute("COMMIT").await.context("the transaction that was open")?;
        Ok(seen)
    }
}

impl Seen {
    /// That it was open, with the locks of so many queues.
    pub fn conditions(&self, locks: u32) -> Vec<Condition> {
        let (idle, held) = (f64::from(u8::from(self.idle)), self.locks as f64);
        let open = "found idle in its transaction before the end".to_owned();
        let text = "locks of queues that it had then";
        let mut conditions = vec![Condition::at_least(open, "times", idle, 1.0)];
        conditions.push(match locks {
            0 => Condition::at_most(text, "locks", held, 0.0),
            some => Condition::at_least(text.to_owned(), "locks", held, f64::from(some)),
        });
        conditions
    }

    /// That a session waited for it, as it must.
    pub fn waited(&self, who: &str) -> Condition {
        Condition::at_least(who.to_owned(), "sessions", self.waiting as f64, 1.0)
    }
}

/// What one caller saw, call after call.
#[derive(Debug, Default)]
pub struct Calls {
    answered: AtomicU64,
    failed: AtomicU64,
    longest_ns: AtomicU64,
    /// When the call that is under way began, 0 for none.
    begun_ns: AtomicU64,
}

impl Calls {
    /// Of a caller that is about to begin.
    pub fn new() -> Arc<Calls> {
        Arc::default()
    }

    /// Makes a call and counts it. One that is given up counts with the time it has taken.
    ///
    /// # Errors
    /// Those of the call.
    pub async fn count<O>(&self, call: impl Future<Output = Result<O>>) -> Result<O> {
        let under_way = UnderWay::of(self);
        let answer = call.await;
        drop(under_way);
        let ended = if answer.is_ok() { &self.answered } else { &self.failed };
        ended.fetch_add(1, Ordering::SeqCst);
        answer
    }

    /// How many succeeded.
    pub fn answered(&self) -> f64 {
        self.answered.load(Ordering::SeqCst) as f64
    }

    /// How many failed.
    pub fn failed(&self) -> f64 {
        self.failed.load(Ordering::SeqCst) as f64
    }

    /// The longest in milliseconds; of one that is under way what it has taken until now.
    pub fn longest_ms(&self) -> f64 {
        let under_way_ns = match self.begun_ns.load(Ordering::SeqCst) {
            0 => 0,
            begun_ns => monotonic_ns().saturating_sub(begun_ns),
        };
        self.longest_ns.load(Ordering::SeqCst).max(under_way_ns) as f64 / 1e6
    }
}

/// The call that a caller makes at the moment.
struct UnderWay<'a> {
    calls: &'a Calls,
    begun_ns: u64,
}

impl<'a> UnderWay<'a> {
    fn of(calls: &'a Calls) -> UnderWay<'a> {
        let begun_ns = monotonic_ns();
        calls.begun_ns.store(begun_ns, Ordering::SeqCst);
        UnderWay { calls, begun_ns }
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        let took_ns = monotonic_ns().saturating_sub(self.begun_ns);
        self.calls.longest_ns.fetch_max(took_ns, Ordering::SeqCst);
        self.calls.begun_ns.store(0, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_call_that_hangs_counts_with_the_time_it_has_taken() {
        let calls = Calls::new();
        calls.count(async { Ok(()) }).await.unwrap();
        calls.count(async { bail!("refused") as Result<()> }).await.unwrap_err();
        assert_eq!((calls.answered(), calls.failed()), (1.0, 1.0));
        let before = calls.longest_ms();
        let mut hung = Box::pin(calls.count(std::future::pending::<Result<()>>()));
        assert!(futures::poll!(&mut hung).is_pending());
        while calls.longest_ms() <= before {
            tokio::task::yield_now().await;
        }
        drop(hung);
        let after = calls.longest_ms();
        assert!(after > before);
        tokio::task::yield_now().await;
        assert_eq!((calls.longest_ms(), calls.answered()), (after, 1.0));
    }

    #[test]
    fn a_transaction_that_was_not_open_is_a_missed_check() {
        let missed = |seen: Seen, locks| {
            let conditions = seen.conditions(locks);
            conditions.iter().filter(|condition| !condition.pass).count()
        };
        assert_eq!(missed(Seen::default(), 0), 1);
        assert_eq!(missed(Seen { idle: true, locks: 0, waiting: 0 }, 0), 0);
        assert_eq!(missed(Seen { idle: true, locks: 1, waiting: 0 }, 0), 1);
        assert_eq!(missed(Seen { idle: true, locks: 1, waiting: 0 }, 2), 1);
        assert!(Seen { idle: true, locks: 0, waiting: 1 }.waited("a sender").pass);
        assert!(!Seen::default().waited("a sender").pass);
    }
}
