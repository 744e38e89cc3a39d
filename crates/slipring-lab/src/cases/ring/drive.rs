//! Threads that push, or push and pop, each with a connection of its own, until a time is over.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, OnceLock};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};

use super::slots::{number_of, write_message};

/// Between two tries of a push or pop whose slot is not ready.
const LOOK_AGAIN: Duration = Duration::from_micros(100);
/// A counted step ends with an error when it takes longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// One connection to a design.
pub trait Session: Sized {
    /// Where it connects to, and how it works there.
    type Place: Sync;

    /// Connects and prepares the statements.
    ///
    /// # Errors
    /// When the database refuses.
    async fn open(place: &Self::Place) -> Result<Self>;

    /// Tries to push a message, with a new ticket or again with the one it has.
    ///
    /// # Errors
    /// When the database fails.
    async fn push(&mut self, number: i64, message: &str, again: Option<i64>) -> Result<Tried<()>>;

    /// Tries to pop a message, with a new ticket or again with the one it has.
    ///
    /// # Errors
    /// When the database fails.
    async fn pop(&mut self, again: Option<i64>) -> Result<Tried<String>>;

    /// Ends the connection; answers how often it waited for a lock, where only it knows.
    ///
    /// # Errors
    /// When the database fails.
    async fn close(self) -> Result<u64>;
}

/// One try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tried<T> {
    /// The ticket it used; none where the design has none.
    pub ticket: Option<i64>,
    /// What came of it; nothing when the slot was not ready.
    pub done: Option<T>,
}

/// What is done by each thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Pushes alone.
    Push,
    /// Pops alone, for counting.
    Pop,
    /// A push and then a pop.
    Cycle,
}

/// How long it is done.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Length {
    /// For some time, of which the first part is not measured.
    Time {
        /// Not measured.
        warmup: Duration,
        /// Measured.
        measured: Duration,
    },
    /// So many operations of each thread.
    Operations(u64),
}

/// A load.
#[derive(Debug, Clone, Copy)]
pub struct Load<'a> {
    /// Threads, each with a connection.
    pub threads: usize,
    /// What each does.
    pub phase: Phase,
    /// How long.
    pub length: Length,
    /// The first number of a message; a thread's numbers begin 2^32 after those of the one before.
    pub first_number: i64,
    /// Set when the run is to end.
    pub stop: &'a AtomicBool,
}

/// What the threads saw.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    /// Operations per second in the measured time.
    pub rate: f64,
    /// The numbers of messages that were pushed.
    pub pushed: Vec<i64>,
    /// The numbers of messages that were popped.
    pub popped: Vec<i64>,
    /// Tries that found their slot not ready.
    pub slot_waits: u64,
    /// Waits for a lock that only the sessions know of.
    pub lock_waits: u64,
    /// The highest ticket of a push.
    pub push_ticket: Option<i64>,
    /// The highest ticket of a pop.
    pub pop_ticket: Option<i64>,
}

/// Runs a load.
///
/// # Errors
/// When a thread cannot connect, a statement fails or a counted step takes longer than a minute.
pub fn drive<S: Session>(place: &S::Place, load: &Load<'_>) -> Result<Outcome> {
    let (barrier, begin) = (Barrier::new(load.threads + 1), OnceLock::new());
    let failed = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let caller = |thread| {
            let (barrier, begin, failed) = (&barrier, &begin, &failed);
            scope.spawn(move || caller::<S>(place, load, thread, barrier, begin, failed))
        };
        let callers: Vec<_> = (0..load.threads).map(caller).collect();
        barrier.wait();
        begin.get_or_init(Instant::now);
        barrier.wait();
        let mut all = Outcome::default();
        let mut trouble = None;
        for caller in callers {
            match caller.join().map_err(|_| anyhow!("a thread of the load panicked"))? {
                Ok(seen) => all.add(seen),
                Err(error) => trouble = trouble.or(Some(error)),
            }
        }
        match trouble {
            Some(error) => Err(error),
            None => Ok(all),
        }
    })
}

impl Outcome {
    fn add(&mut self, other: Outcome) {
        self.rate += other.rate;
        self.pushed.extend(other.pushed);
        self.popped.extend(other.popped);
        self.slot_waits += other.slot_waits;
        self.lock_waits += other.lock_waits;
        self.push_ticket = self.push_ticket.max(other.push_ticket);
        self.pop_ticket = self.pop_ticket.max(other.pop_ticket);
    }
}

/// One thread. It comes to both barriers whatever happens, so that nobody waits for it for ever.
fn caller<S: Session>(
    place: &S::Place,
    load: &Load<'_>,
    thread: usize,
    barrier: &Barrier,
    begin: &OnceLock<Instant>,
    failed: &AtomicBool,
) -> Result<Outcome> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let opened = runtime.context("a runtime for a thread of the load").and_then(|runtime| {
        let session = runtime.block_on(S::open(place))?;
        Ok((runtime, session))
    });
    failed.fetch_or(opened.is_err(), Ordering::SeqCst);
    barrier.wait();
    barrier.wait();
    let (runtime, session) = opened?;
    if failed.load(Ordering::SeqCst) {
        bail!("another thread of the load could not connect");
    }
    let begin = *begin.get_or_init(Instant::now);
    let number = load.first_number + (i64::try_from(thread)? << 32);
    runtime.block_on(Caller::new(session, load, begin, number).run())
}

/// A thread at work.
struct Caller<'a, S> {
    session: S,
    load: &'a Load<'a>,
    number: i64,
    /// Operations that end from then on count.
    from: Instant,
    until: Instant,
    message: String,
    seen: Outcome,
}

impl<'a, S: Session> Caller<'a, S> {
    fn new(session: S, load: &'a Load<'a>, begin: Instant, number: i64) -> Caller<'a, S> {
        let (from, until) = match load.length {
            Length::Time { warmup, measured } => (begin + warmup, begin + warmup + measured),
            Length::Operations(_) => (begin, begin + PATIENCE),
        };
        let (message, seen) = (String::new(), Outcome::default());
        Caller { session, load, number, from, until, message, seen }
    }

    async fn run(mut self) -> Result<Outcome> {
        let limit = match self.load.length {
            Length::Time { .. } => u64::MAX,
            Length::Operations(limit) => limit,
        };
        let (mut done, mut counted) = (0, 0u64);
        while done < limit && self.operation().await? {
            done += 1;
            let now = Instant::now();
            counted += u64::from(now >= self.from && now <= self.until);
        }
        if let Length::Operations(limit) = self.load.length
            && done < limit
            && !self.load.stop.load(Ordering::Relaxed)
        {
            bail!("{done} of {limit} operations were done within {PATIENCE:?}");
        }
        let seconds = match self.load.length {
            Length::Time { measured, .. } => measured.as_secs_f64(),
            Length::Operations(_) => self.from.elapsed().as_secs_f64(),
        };
        self.seen.rate = counted as f64 / seconds;
        self.seen.lock_waits = self.session.close().await?;
        Ok(self.seen)
    }

    /// One operation; false when the time was over before it was done.
    async fn operation(&mut self) -> Result<bool> {
        match self.load.phase {
            Phase::Push => self.push().await,
            Phase::Pop => self.pop().await,
            Phase::Cycle => Ok(self.push().await? && self.pop().await?),
        }
    }

    fn is_over(&self) -> bool {
        self.load.stop.load(Ordering::Relaxed) || Instant::now() >= self.until
    }

    async fn push(&mut self) -> Result<bool> {
        write_message(&mut self.message, self.number);
        let mut again = None;
        while !self.is_over() {
            let tried = self.session.push(self.number, &self.message, again).await?;
            self.seen.push_ticket = self.seen.push_ticket.max(tried.ticket);
            if tried.done.is_some() {
                self.seen.pushed.push(self.number);
                self.number += 1;
                return Ok(true);
            }
            self.seen.slot_waits += 1;
            again = tried.ticket;
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        Ok(false)
    }

    async fn pop(&mut self) -> Result<bool> {
        let mut again = None;
        while !self.is_over() {
            let tried = self.session.pop(again).await?;
            self.seen.pop_ticket = self.seen.pop_ticket.max(tried.ticket);
            if let Some(message) = tried.done {
                self.seen.popped.push(number_of(&message)?);
                return Ok(true);
            }
            self.seen.slot_waits += 1;
            again = tried.ticket;
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        Ok(false)
    }
}
