//! What a queue costs that is one of many, by SQL: to create one more, in the memory of a session
//! that uses it, and in a dump of the database.
//!
//! ```text
//!   a session: send, send, receive   ──▶ what it holds in memory
//!   a session: create_queue × n      ──▶ how long each takes
//!   pg_dump ──file──▶ pg_restore     ──▶ how long both take, and the locks of a dump
//! ```

use std::ffi::OsStr;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tokio::process::Command;
use tokio_postgres::config::Host;
use tokio_postgres::{Client, Config, NoTls};

use super::closed_loop::fill;
use super::{Answer, Settings};
use crate::body;
use crate::ledger::{Checks, Ledger};
use crate::programs;
use crate::stats::Latencies;
use crate::targets::postgres::{connect, url};
use crate::time::monotonic_ns;

/// The queue that the session uses.
const QUEUE: &str = "costs";
/// How often the session sends.
const SENDS: usize = 2;
/// Between two looks at the locks of a dump, which holds all of them until its end.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How much of what a failed program wrote is shown: it begins with the reason.
const ERRORS_SHOWN: usize = 1000;

/// Runs it; see the file's head for the shape.
pub async fn run(settings: &Settings, folder: &Path) -> Result<Answer> {
    let (url, begun) = (url(settings)?, Instant::now());
    let client = connect(url).await?;
    if !create_queue(&client, QUEUE).await? {
        bail!("the queue {QUEUE} was there already");
    }
    let (memory_bytes, checks) = session(url).await?;
    let created = create(&client, settings.queues).await?;
    let mut dump = Dump::new(url, folder)?;
    let figures = dump.there_and_back(&client).await?;
    let mut found = Answer::new(0, begun.elapsed().as_secs_f64(), checks);
    found.latency("create_queue", &created);
    found.figures.insert("session_mb".into(), memory_bytes / 1e6);
    found.figures.extend(figures.map(|(name, figure)| (name.to_owned(), figure)));
    Ok(found)
}

async fn create_queue(client: &Client, name: &str) -> Result<bool> {
    let create = include_str!("../../queries/sql_create_queue.sql");
    let row = client.query_one(create, &[&name]).await.context("making a queue")?;
    Ok(row.try_get(0)?)
}

/// What a new session holds in memory that has sent and received.
async fn session(url: &str) -> Result<(f64, Checks)> {
    let (session, ledger) = (connect(url).await?, Ledger::new(0, SENDS as u64));
    let mut bodies = Vec::new();
    for _ in 0..SENDS {
        fill(&mut bodies, 1, &ledger)?;
        let body = bodies.first().context("a body")?.as_slice();
        session.execute(include_str!("../../queries/sql_send.sql"), &[&QUEUE, &body]).await?;
    }
    let receive = include_str!("../../queries/sql_receive.sql");
    let mut receipts: Vec<String> = Vec::new();
    for row in session.query(receive, &[&QUEUE, &(SENDS as i32)]).await? {
        receipts.push(row.try_get(0)?);
        ledger.note(body::read(row.try_get(1)?)?.number)?;
    }
    let memory = include_str!("../../queries/costs_memory.sql");
    let memory_bytes = session.query_one(memory, &[]).await?.try_get(0)?;
    session.query_one(include_str!("../../queries/sql_ack.sql"), &[&receipts]).await?;
    Ok((memory_bytes, ledger.final_checks()))
}

/// Creates queues, and one before that is not measured: it compiles the functions.
async fn create(client: &Client, count: usize) -> Result<Latencies> {
    let mut latencies = Latencies::new()?;
    for number in 0..=count {
        let begun_ns = monotonic_ns();
        if !create_queue(client, &format!("{QUEUE}-{number}")).await? {
            bail!("a queue was there already");
        }
        if number > 0 {
            latencies.add(monotonic_ns() - begun_ns);
        }
    }
    Ok(latencies)
}

/// A dump of a database that is restored into another one.
struct Dump {
    config: Config,
    name: String,
    restored: String,
    file: std::path::PathBuf,
}

impl Dump {
    fn new(url: &str, folder: &Path) -> Result<Dump> {
        let config: Config = url.parse().context("the address of the database")?;
        let name = config.get_dbname().context("an address without a database")?.to_owned();
        let restored = format!("{name}_restored");
        Ok(Dump { config, name, restored, file: folder.join("dump") })
    }

    async fn there_and_back(&mut self, client: &Client) -> Result<[(&'static str, f64); 6]> {
        let look = include_str!("../../queries/costs_database.sql");
        let row = client.query_one(look, &[]).await?;
        let there: [i64; 3] = [row.try_get(0)?, row.try_get(1)?, row.try_get(2)?];
        let (dump_seconds, locks) = self.dump(client).await?;
        client.batch_execute(&format!("CREATE DATABASE {}", self.restored)).await?;
        let restored = self.restore().await;
        let again = self.queues_again().await;
        let drop = format!("DROP DATABASE {} WITH (FORCE)", self.restored);
        client.batch_execute(&drop).await.context("removing what was restored")?;
        let (restore_seconds, again) = (restored?, again?);
        if again != there[2] {
            bail!("{} queues were dumped, and {again} restored", there[2]);
        }
        Ok([
            ("database_mb", there[0] as f64 / 1e6),
            ("relations", there[1] as f64),
            ("queues", there[2] as f64),
            ("dump_seconds", dump_seconds),
            ("dump_locks", locks as f64),
            ("restore_seconds", restore_seconds),
        ])
    }

    /// Dumps; answers how long it took and the most locks it was seen with.
    async fn dump(&self, client: &Client) -> Result<(f64, i64)> {
        let arguments = ["-Fc".as_ref(), "-f".as_ref(), self.file.as_os_str()];
        let dumping = self.run("pg_dump", &arguments);
        tokio::pin!(dumping);
        let (look, mut most) = (client.prepare(include_str!("../../queries/costs_locks.sql")), 0);
        let look = look.await?;
        loop {
            tokio::select! {
                ended = &mut dumping => return Ok((ended?, most)),
                () = tokio::time::sleep(LOOK_EVERY) => {
                    most = most.max(client.query_one(&look, &[]).await?.try_get(0)?);
                }
            }
        }
    }

    async fn restore(&self) -> Result<f64> {
        let into = ["--exit-on-error".as_ref(), "-d".as_ref(), self.restored.as_ref()];
        self.run("pg_restore", &[&into[..], &[self.file.as_os_str()]].concat()).await
    }

    async fn queues_again(&self) -> Result<i64> {
        let mut config = self.config.clone();
        let (client, connection) = config.dbname(&self.restored).connect(NoTls).await?;
        tokio::spawn(connection);
        let look = include_str!("../../queries/costs_database.sql");
        Ok(client.query_one(look, &[]).await?.try_get(2)?)
    }

    /// Runs a program of PostgreSQL; answers how many seconds it took.
    async fn run(&self, name: &str, arguments: &[&OsStr]) -> Result<f64> {
        let mut command = Command::new(programs::newest_postgresql()?.join(name));
        // The password not as an argument, which every user of the machine can read.
        command.args(arguments).env("PGDATABASE", &self.name).kill_on_drop(true);
        match self.config.get_hosts().first() {
            Some(Host::Tcp(host)) => command.env("PGHOST", host),
            Some(Host::Unix(folder)) => command.env("PGHOST", folder),
            None => &mut command,
        };
        command.envs(self.config.get_ports().first().map(|port| ("PGPORT", port.to_string())));
        command.envs(self.config.get_user().map(|user| ("PGUSER", user)));
        let password = self.config.get_password().map(String::from_utf8_lossy);
        command.envs(password.map(|password| ("PGPASSWORD", password.into_owned())));
        let begun = Instant::now();
        let ended = command.output().await.with_context(|| format!("starting {name}"))?;
        if !ended.status.success() {
            let said = String::from_utf8_lossy(&ended.stderr);
            let said: String = said.trim().chars().take(ERRORS_SHOWN).collect();
            bail!("{name} failed ({}): {said}", ended.status);
        }
        Ok(begun.elapsed().as_secs_f64())
    }
}
