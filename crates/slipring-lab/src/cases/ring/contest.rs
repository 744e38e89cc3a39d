//! The published designs on one database: tables are made when they are needed, each step is
//! driven, counted and noted, and in the end every message is accounted for.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::drive::{Length, Load, Outcome, Phase, Session, drive};
use super::ledger::{Ledger, Wrong};
use super::slots::{Design, Ring, Table, Tickets};

/// What a commit has survived when it is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// The log is on the disk.
    Full,
    /// The log is written later.
    Delayed,
}

impl Durability {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Durability::Full => "durable",
            Durability::Delayed => "delayed",
        }
    }
}

/// One step of a design.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    /// The design.
    pub design: Design,
    /// What a commit survives.
    pub durability: Durability,
    /// Threads.
    pub threads: usize,
    /// What each does.
    pub phase: Phase,
    /// How long.
    pub length: Length,
}

/// What is asked of a connection.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    /// The design.
    pub design: Design,
    /// What a commit survives.
    pub durability: Durability,
    /// The first ticket of a push and of a pop.
    pub first: (i64, i64),
    /// The step is for counting, and the log is kept for it.
    pub counted: bool,
}

/// Counts of a server from its start on.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Counts {
    /// Pages looked at (SQLite: pages written).
    pub pages: i64,
    /// Different pages changed since everything was written out.
    pub changed: i64,
    /// Waits for locks of rows.
    pub lock_waits: i64,
}

/// What the sessions of a server were doing, looked at again and again.
pub type Activity = BTreeMap<String, u64>;

/// Looks what the sessions are doing until it is told to end.
pub struct Watch {
    /// Ends it.
    pub stop: Arc<AtomicBool>,
    /// Gives what it saw.
    pub task: JoinHandle<Activity>,
}

/// A database that has the designs.
pub trait Server {
    /// A connection of a thread.
    type Session: Session;

    /// Makes a table anew and fills it.
    async fn build(&mut self, table: Table) -> Result<()>;

    /// Brings the tickets to where they begin; answers what a session needs to know.
    async fn place(&mut self, terms: Terms) -> Result<<Self::Session as Session>::Place>;

    /// The messages that are left in a table: each one's number, and that in its text.
    async fn left(&mut self, table: Table) -> Result<Vec<(i64, i64)>>;

    /// Writes everything out, so that changed pages can be counted.
    async fn write_out(&mut self, table: Table) -> Result<()>;

    /// The counts of now, when the sessions of a step have ended.
    async fn counts(&mut self, table: Table) -> Result<Counts>;

    /// Begins to look what sessions do, where the server tells that.
    async fn watch(&mut self, _table: Table) -> Result<Option<Watch>> {
        Ok(None)
    }
}

/// What a step came to.
#[derive(Debug, Clone, Default)]
pub struct Measured {
    /// Operations per second.
    pub rate: f64,
    /// How many there were, the unmeasured ones too.
    pub operations: u64,
    /// Tries that found their slot not ready.
    pub slot_waits: u64,
    /// Waits for locks.
    pub lock_waits: u64,
    /// Pages looked at.
    pub pages: i64,
    /// Different pages changed.
    pub changed: i64,
    /// What the sessions were seen doing.
    pub activity: Activity,
}

/// The designs on one database, whatever it is.
pub trait Contest {
    /// Runs a step.
    ///
    /// # Errors
    /// When the database fails, or the run was interrupted.
    fn step(&mut self, step: Step) -> Result<Measured>;

    /// Accounts for all messages; answers what was wrong in the whole run.
    ///
    /// # Errors
    /// When the database fails.
    fn finish(&mut self) -> Result<Wrong>;
}

/// What the lab knows of a table.
struct State {
    ledger: Ledger,
    first: (i64, i64),
}

/// A database with its tables.
pub struct On<S> {
    server: S,
    runtime: Handle,
    ring: Ring,
    /// Tables are made anew for each step.
    always_new: bool,
    tables: BTreeMap<Table, State>,
    steps: i64,
    wrong: Wrong,
    stop: Arc<AtomicBool>,
}

impl<S: Server> On<S> {
    /// The designs on `server`, with no tables yet.
    pub fn new(server: S, ring: Ring, always_new: bool, stop: Arc<AtomicBool>) -> Result<On<S>> {
        let runtime = Handle::try_current().context("the designs are made inside a runtime")?;
        let tables = BTreeMap::new();
        Ok(On {
            server,
            runtime,
            ring,
            always_new,
            tables,
            steps: 0,
            wrong: Wrong::default(),
            stop,
        })
    }

    /// Whether a table must be made before a step: it is not there, or its tickets come near to
    /// slots that an earlier step has left in the middle of something.
    fn needs_table(&self, table: Table) -> bool {
        let Some(state) = self.tables.get(&table) else { return true };
        let (push, pop) = state.first;
        self.always_new
            || table != Table::RightEdge
                && (push > self.ring.slots * 7 / 8 || pop > self.ring.backlog * 3 / 4)
    }

    async fn check(&mut self, table: Table) -> Result<()> {
        if let Some(state) = self.tables.remove(&table) {
            let left = self.server.left(table).await.context("looking what is left")?;
            self.wrong += state.ledger.check(&left);
        }
        Ok(())
    }

    async fn prepare(&mut self, step: Step) -> Result<<S::Session as Session>::Place> {
        let table = step.design.table;
        if self.needs_table(table) {
            self.check(table).await?;
            let made = self.server.build(table).await;
            made.with_context(|| format!("making the table {}", table.name()))?;
            let (ledger, first) = (Ledger::new(self.ring.backlog), (self.ring.backlog, 0));
            self.tables.insert(table, State { ledger, first });
        }
        let first = self.tables.get(&table).map_or((0, 0), |state| state.first);
        let counted = matches!(step.length, Length::Operations(_));
        if counted {
            self.server.write_out(table).await.context("writing everything out")?;
        }
        let terms = Terms { design: step.design, durability: step.durability, first, counted };
        self.server.place(terms).await.context("bringing the tickets to their place")
    }

    /// Notes what was done, and where the next tickets begin: behind the last block that was
    /// handed out.
    fn note(&mut self, design: Design, outcome: &Outcome) {
        let Some(state) = self.tables.get_mut(&design.table) else { return };
        state.ledger.note(&outcome.pushed, &outcome.popped);
        let block = if design.tickets == Tickets::Sequence { self.ring.cache } else { 1 };
        let next = |first: i64, highest: Option<i64>| match highest {
            Some(highest) => first + ((highest - first) / block + 1) * block,
            None => first,
        };
        let (push, pop) = state.first;
        state.first = (next(push, outcome.push_ticket), next(pop, outcome.pop_ticket));
    }
}

impl<S: Server> Contest for On<S> {
    fn step(&mut self, step: Step) -> Result<Measured> {
        let table = step.design.table;
        let runtime = self.runtime.clone();
        let (place, before, watch) = runtime.block_on(async {
            let place = self.prepare(step).await?;
            let before = self.server.counts(table).await?;
            anyhow::Ok((place, before, self.server.watch(table).await?))
        })?;
        self.steps += 1;
        let (first_number, stop) = (self.steps << 40, Arc::clone(&self.stop));
        let load = Load {
            threads: step.threads,
            phase: step.phase,
            length: step.length,
            first_number,
            stop: &stop,
        };
        let driven = drive::<S::Session>(&place, &load);
        let activity = runtime.block_on(async {
            let Some(watch) = watch else { return anyhow::Ok(Activity::new()) };
            watch.stop.store(true, Ordering::Relaxed);
            watch.task.await.context("looking what the sessions did")
        })?;
        let outcome = driven?;
        self.note(step.design, &outcome);
        if self.stop.load(Ordering::Relaxed) {
            bail!("interrupted");
        }
        let after = runtime.block_on(self.server.counts(table))?;
        let since = |after: i64, before: i64| u64::try_from(after - before).unwrap_or(0);
        Ok(Measured {
            rate: outcome.rate,
            operations: outcome.pushed.len().max(outcome.popped.len()) as u64,
            slot_waits: outcome.slot_waits,
            lock_waits: outcome.lock_waits + since(after.lock_waits, before.lock_waits),
            pages: after.pages - before.pages,
            changed: after.changed - before.changed,
            activity,
        })
    }

    fn finish(&mut self) -> Result<Wrong> {
        let runtime = self.runtime.clone();
        for table in Table::ALL {
            runtime.block_on(self.check(table))?;
        }
        Ok(self.wrong)
    }
}

/// How often sessions are looked at.
pub const LOOK_EVERY: Duration = Duration::from_millis(20);
