//! One turn of a system: its database, the processes of its adapter, the load.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use parking_lot::Mutex;
use tempfile::TempDir;
use tokio::task::AbortHandle;
use tokio_postgres::Client;

use super::losses::{JOBS_EACH, Losses};
use super::pacer::Pacer;
use super::phase::{Lengths, Phase, Scale};
use super::process::{Adapter, Exit};
use super::record::{Dead, Record, Span};
use super::scenario::{Offer, Point, Scenario};
use super::system::{Place, System};
use crate::targets::postgres::connect_as;
use crate::time::wall_ms;
use crate::workloads;

/// The name of the lab's own sessions.
const OWN_SESSIONS: &str = "slipring-lab benchmark";
/// Between two looks whether an adapter has ended.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Between two looks at dead rows.
const DEAD_EVERY: Duration = Duration::from_secs(1);
/// A phase that begins within so many milliseconds after the last begins with its end.
const SEAM_MS: u64 = 200;

/// What is run in a turn.
#[derive(Debug, Clone, Copy)]
pub struct Cast<'a> {
    /// The system.
    pub system: System,
    /// The scenario.
    pub scenario: &'a Scenario,
    /// The size.
    pub point: Point,
    /// How long.
    pub scale: Scale,
}

/// A turn that is running. Dropping it ends the processes of the adapter.
pub struct Stage<'a> {
    /// PostgreSQL.
    pub place: &'a mut Place,
    /// What is run.
    pub cast: Cast<'a>,
    /// How long the phases are.
    pub lengths: Lengths,
    /// What is seen.
    pub record: Arc<Mutex<Record>>,
    /// The declared tables.
    pub tables: Vec<String>,
    /// What a reader must know.
    pub notes: Vec<String>,
    database: String,
    folder: TempDir,
    pacer: Pacer,
    /// By their numbers; none for one that is down.
    replicas: Vec<Option<Adapter>>,
    /// Processes that were started.
    started: usize,
    /// The end of the last phase, on the wall clock in milliseconds.
    at_ms: u64,
}

impl<'a> Stage<'a> {
    /// In a fresh database; no process is started yet.
    ///
    /// # Errors
    /// When the machine refuses a folder or a thread.
    pub fn new(place: &'a mut Place, cast: Cast<'a>, database: &str) -> Result<Stage<'a>> {
        let folder = workloads::temporary_folder()?;
        std::fs::create_dir(folder.path().join("ledgers")).context("a folder for ledgers")?;
        Ok(Stage {
            place,
            cast,
            lengths: cast.scale.lengths(cast.scenario.full),
            record: Arc::default(),
            tables: Vec::new(),
            notes: Vec::new(),
            database: database.to_owned(),
            folder,
            pacer: Pacer::start()?,
            replicas: (0..cast.scenario.replicas).map(|_| None).collect(),
            started: 0,
            at_ms: 0,
        })
    }

    /// The name of the database.
    pub fn database(&self) -> &str {
        &self.database
    }

    /// A session of the lab in the database.
    ///
    /// # Errors
    /// When PostgreSQL refuses.
    pub async fn session(&self) -> Result<Client> {
        connect_as(&self.url(), OWN_SESSIONS).await
    }

    /// The address of the database.
    pub fn url(&self) -> String {
        self.place.cluster.url(&self.database)
    }

    /// How many replicas there are.
    pub fn replicas(&self) -> usize {
        self.replicas.len()
    }

    /// Offers so many times the load.
    pub fn load(&self, factor: f64) {
        if let Offer::Rate(rate) = self.cast.scenario.offer {
            self.pacer.offer(rate * factor);
        }
    }

    /// Starts a replica that is down, and waits until it is ready.
    ///
    /// # Errors
    /// When it does not start.
    pub async fn start(&mut self, replica: usize) -> Result<()> {
        let number = self.started;
        self.started += 1;
        let mut command = self.place.adapter(self.cast.system, &self.database).await?;
        command.envs(self.variables(replica, number));
        command.envs(self.cast.scenario.variables.iter().copied());
        let errors = self.folder.path().join(format!("errors-{number}"));
        let started = Adapter::start(command, number, &self.record, &errors).await;
        let (adapter, stdin, descriptor) = started?;
        if let Some(place) = self.replicas.get_mut(replica) {
            *place = Some(adapter);
        }
        self.pacer.connect(replica, stdin);
        if self.tables.is_empty() {
            self.tables = descriptor.event_tables;
        }
        Ok(())
    }

    /// What the process with a number is told as a replica.
    fn variables(&self, replica: usize, number: usize) -> Vec<(&'static str, String)> {
        let (scenario, point) = (self.cast.scenario, self.cast.point);
        let (mode, rate, depth) = match scenario.offer {
            Offer::Rate(rate) => ("fixed", rate, 0),
            Offer::Depth(depth) => ("depth-target", 0.0, depth),
        };
        let lease_ms = self.cast.system.lease_ms(scenario, self.cast.scale.smoke);
        let mut variables = vec![
            ("SCENARIO", "long_horizon".to_owned()),
            ("PRODUCER_MODE", mode.to_owned()),
            ("PRODUCER_RATE", rate.to_string()),
            ("TARGET_DEPTH", depth.to_string()),
            ("PRODUCER_PACING", "harness".to_owned()),
            ("PRODUCER_BATCH_MAX", 128.to_string()),
            ("PRODUCER_BATCH_MS", 25.to_string()),
            ("WORKER_COUNT", point.workers.to_string()),
            ("BENCH_QUEUE_COUNT", point.queues.to_string()),
            ("JOB_WORK_MS", point.work_ms.to_string()),
            ("JOB_PAYLOAD_BYTES", 256.to_string()),
            ("SAMPLE_EVERY_S", 1.to_string()),
            ("LATENCY_WINDOW_MS", (self.lengths.window() * 1000).to_string()),
            ("LEASE_DEADLINE_MS", lease_ms.to_string()),
            ("BENCH_INSTANCE_ID", replica.to_string()),
        ];
        if scenario.has_ledger() {
            let ledger = self.ledgers().join(number.to_string());
            variables.push(("SLIPRING_LAB_LEDGER", ledger.display().to_string()));
            variables.push(("SLIPRING_LAB_FIRST_JOB", (number as u64 * JOBS_EACH).to_string()));
        }
        variables
    }

    fn ledgers(&self) -> PathBuf {
        self.folder.path().join("ledgers")
    }

    /// What the ledgers say by now.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn losses(&self) -> Result<Losses> {
        Losses::read(&self.ledgers())
    }

    /// SIGKILL to a replica that is up.
    ///
    /// # Errors
    /// When it is down.
    pub fn kill(&mut self, replica: usize) -> Result<()> {
        let adapter = self.replicas.get_mut(replica).and_then(Option::take);
        let killed = adapter.context("a replica that is down")?.kill();
        self.pacer.disconnect(replica);
        killed
    }

    /// SIGTERM to a replica that is up, while it is ordered to go on; answers how it ended.
    ///
    /// # Errors
    /// When it is down.
    pub async fn terminate(&mut self, replica: usize) -> Result<Exit> {
        let adapter = self.replicas.get_mut(replica).and_then(Option::take);
        let exit = adapter.context("a replica that is down")?.terminate().await;
        self.pacer.disconnect(replica);
        exit
    }

    /// Waits until a moment of the wall clock, in milliseconds.
    ///
    /// # Errors
    /// When an adapter ends by itself before.
    pub async fn wait_until(&mut self, at_ms: u64) -> Result<()> {
        loop {
            for adapter in self.replicas.iter_mut().flatten() {
                if let Some(status) = adapter.ended()? {
                    bail!("the adapter ended by itself ({status}): {}", adapter.last_words());
                }
            }
            let left = Duration::from_millis(at_ms.saturating_sub(wall_ms()));
            if left.is_zero() {
                return Ok(());
            }
            tokio::time::sleep(left.min(LOOK_EVERY)).await;
        }
    }

    /// The next whole second at which a phase may begin, once it is there.
    ///
    /// # Errors
    /// As [`Stage::wait_until`].
    pub async fn whole_second(&mut self) -> Result<u64> {
        let now = wall_ms();
        let at_seam = now < self.at_ms + SEAM_MS;
        let from = if at_seam { self.at_ms } else { now.div_ceil(1000) * 1000 };
        self.wait_until(from).await?;
        Ok(from)
    }

    /// A phase has ended.
    pub fn ended(&mut self, phase: Phase, from_ms: u64, to_ms: u64) {
        self.record.lock().spans.push(Span { phase, from_ms, to_ms });
        self.at_ms = to_ms;
    }

    /// Lets a phase of so many seconds pass.
    ///
    /// # Errors
    /// As [`Stage::wait_until`].
    pub async fn pass(&mut self, phase: Phase, seconds: u64) -> Result<()> {
        let from = self.whole_second().await?;
        let to = from + seconds * 1000;
        self.wait_until(to).await?;
        self.ended(phase, from, to);
        Ok(())
    }

    /// Processor time of PostgreSQL and of the adapter until now, in seconds.
    pub fn cpu_seconds(&self) -> [f64; 2] {
        let server = self.place.cluster.cpu_seconds_without(&[]).unwrap_or(f64::NAN);
        [server, self.replicas.iter().flatten().map(Adapter::cpu_seconds).sum()]
    }

    /// Looks at the dead rows of the declared tables from now on, until what is answered is
    /// dropped.
    pub fn watch(&self) -> Watch {
        let looking = look(self.url(), self.tables.clone(), Arc::clone(&self.record));
        Watch(tokio::spawn(looking).abort_handle())
    }
}

/// Looks until it is dropped.
pub struct Watch(AbortHandle);

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn look(url: String, tables: Vec<String>, record: Arc<Mutex<Record>>) {
    let statement = include_str!("../../queries/benchmark_dead_rows.sql");
    let mut open: Option<Client> = None;
    loop {
        tokio::time::sleep(DEAD_EVERY).await;
        // While PostgreSQL is down there is nothing to see.
        let client = match open.take().filter(|client| !client.is_closed()) {
            Some(client) => client,
            None => match connect_as(&url, OWN_SESSIONS).await {
                Ok(client) => client,
                Err(_) => continue,
            },
        };
        let Ok(row) = client.query_one(statement, &[&tables]).await else { continue };
        let (Ok(rows), Ok(changed)) = (row.try_get(0), row.try_get(1)) else { continue };
        record.lock().dead.push(Dead { at_ms: wall_ms(), rows, changed });
        open = Some(client);
    }
}
