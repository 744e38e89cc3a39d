//! The real Laravel queue: Debian's packages, driven by `peers/laravel/jobs.php`, with a process
//! for each worker as published.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

use super::audit::Audit;
use super::claims::{Counted, Counts};
use super::drive::{Load, Measured};
use super::method::EXPIRY_SECONDS;
use crate::peers::install;
use crate::time::monotonic_ns;

/// What it needs of Debian.
const PACKAGES: [&str; 7] = [
    "php-cli",
    "php-illuminate-queue",
    "php-illuminate-database",
    "php-pda-pheanstalk",
    "php-pgsql",
    "php-mysql",
    "php-sqlite3",
];
const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/laravel/jobs.php");
/// Tells whether the packages are there.
const LOOK: &str = "require 'Illuminate/Queue/autoload.php'; require 'Pheanstalk/autoload.php'; \
                    $drivers = ['pgsql', 'mysql', 'sqlite']; \
                    exit(count(array_diff($drivers, PDO::getAvailableDrivers())));";
/// For the start of a worker, and for filling a queue.
const PATIENCE: Duration = Duration::from_secs(60);
/// What its workers and our server know of a queue.
const QUEUE: &str = "default";

/// Where a queue is, as Laravel is told.
#[derive(Debug, Clone)]
pub struct Config(Value);

impl Config {
    /// Its database driver over a database, which is a connection of `config/database.php`.
    pub fn database(database: &Value) -> Config {
        Config(json!({
            "queue": {
                "driver": "database",
                "table": "jobs",
                "queue": QUEUE,
                "retry_after": EXPIRY_SECONDS,
            },
            "database": database,
        }))
    }

    /// Over the PostgreSQL at `url`, which lets its user in without a password.
    ///
    /// # Errors
    /// When that is no address.
    pub fn postgres(url: &str) -> Result<Config> {
        let at: tokio_postgres::Config =
            url.parse().with_context(|| format!("the address {url}"))?;
        let host = at.get_hosts().iter().find_map(|host| match host {
            tokio_postgres::config::Host::Tcp(name) => Some(name.as_str()),
            tokio_postgres::config::Host::Unix(_) => None,
        });
        Ok(Config::database(&json!({
            "driver": "pgsql", "host": host, "port": at.get_ports().first(),
            "database": at.get_dbname(), "username": at.get_user(), "password": "",
            "charset": "utf8", "sslmode": "disable",
        })))
    }

    /// Over MariaDB.
    pub fn mariadb(host: &str, port: u16, database: &str, user: &str) -> Config {
        Config::database(&json!({
            "driver": "mysql", "host": host, "port": port, "database": database,
            "username": user, "password": "", "charset": "utf8mb4", "strict": true,
        }))
    }

    /// Over a file of SQLite, which is made.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn sqlite(path: &Path) -> Result<Config> {
        std::fs::write(path, "").with_context(|| format!("making {}", path.display()))?;
        Ok(Config::database(&json!({ "driver": "sqlite", "database": path, "prefix": "" })))
    }

    /// Its beanstalkd driver; an address is host:port.
    ///
    /// # Errors
    /// When it is not.
    pub fn beanstalkd(address: &str) -> Result<Config> {
        let (host, port) = address.rsplit_once(':').context("an address without a port")?;
        let port: u16 = port.parse().with_context(|| format!("the port of {address}"))?;
        let queue = json!({
            "driver": "beanstalkd", "host": host, "port": port, "queue": QUEUE, "retry_after": 90,
        });
        Ok(Config(json!({ "queue": queue, "database": null })))
    }
}

/// Makes sure that PHP and Laravel's queue are there; answers what they are.
///
/// # Errors
/// When they are not and may not be installed. The error says what to install.
pub async fn prepare(may_install: bool) -> Result<String> {
    if !there().await {
        if !may_install {
            bail!("on Debian: sudo apt-get install {}", PACKAGES.join(" "));
        }
        for package in PACKAGES {
            install::apt(package)?;
        }
        if !there().await {
            bail!("PHP does not find what was installed: {}", PACKAGES.join(" "));
        }
    }
    let versions = Command::new("dpkg-query")
        .args(["-W", "-f", "${Package} ${Version} "])
        .args(PACKAGES)
        .output()
        .await;
    let versions = versions.map(|out| String::from_utf8_lossy(&out.stdout).trim().to_owned());
    Ok(versions.unwrap_or_else(|_| "not from Debian".to_owned()))
}

async fn there() -> bool {
    let mut look = Command::new("php");
    look.args(["-r", LOOK]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    look.status().await.is_ok_and(|status| status.success())
}

/// What a worker says in the end.
#[derive(Debug, Deserialize, Serialize)]
struct Said {
    counts: Counts,
    gone: u64,
    end_ns: u64,
}

/// A worker process. It ends with this.
struct Process {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Process {
    fn start(config: &Config, order: &Path, errors: &Path) -> Result<Process> {
        let log = std::fs::OpenOptions::new().create(true).append(true).open(errors)?;
        let mut command = program("work", config);
        command.arg(order).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
        let mut child = command.spawn().context("starting php")?;
        let out = child.stdout.take().context("a worker without output")?;
        Ok(Process { child, lines: BufReader::new(out).lines() })
    }

    async fn line(&mut self, within: Duration, errors: &Path) -> Result<String> {
        let line = timeout(within, self.lines.next_line()).await;
        let line = line.with_context(|| format!("a worker said nothing for {within:?}"))?;
        line?.with_context(|| {
            let text = std::fs::read_to_string(errors).unwrap_or_default();
            format!("a worker ended: {}", text.lines().next().unwrap_or("without a word"))
        })
    }
}

fn program(what: &str, config: &Config) -> Command {
    let mut command = Command::new("php");
    command.arg(PROGRAM).arg(what).arg(config.0.to_string()).kill_on_drop(true);
    command
}

/// Fills a queue and works it off.
///
/// # Errors
/// When a worker fails, or takes longer than the load allows.
pub async fn run(config: &Config, load: Load, folder: &Path) -> Result<Measured> {
    let mut fill = program("fill", config);
    let filled = timeout(PATIENCE, fill.arg(load.jobs.to_string()).output()).await;
    let filled = filled.context("filling the queue took a minute")?.context("starting php")?;
    if !filled.status.success() {
        let said = [filled.stderr, filled.stdout].concat();
        let said = String::from_utf8_lossy(&said).trim().to_owned();
        bail!("filling the queue: {}", said.lines().next().unwrap_or("php failed"));
    }
    let (order, errors): (PathBuf, PathBuf) = (folder.join("order"), folder.join("errors"));
    let mut workers = Vec::with_capacity(load.workers);
    for _ in 0..load.workers {
        workers.push(Process::start(config, &order, &errors)?);
    }
    for worker in &mut workers {
        let line = worker.line(PATIENCE, &errors).await?;
        if line != "ready" {
            bail!("a worker said {line:?}");
        }
    }
    let begin_ns = monotonic_ns();
    for worker in &mut workers {
        let stdin = worker.child.stdin.as_mut().context("a worker without input")?;
        stdin.write_all(b"go\n").await.context("starting the work")?;
    }
    let (mut counts, mut gone, mut end_ns) = (Counts::default(), 0, begin_ns);
    for worker in &mut workers {
        let line = worker.line(load.limit, &errors).await?;
        let said: Said =
            serde_json::from_str(&line).with_context(|| format!("a worker said {line:?}"))?;
        counts += said.counts;
        gone += said.gone;
        end_ns = end_ns.max(said.end_ns);
    }
    let text = std::fs::read_to_string(&order).context("reading the order of execution")?;
    let indices = text.lines().map(str::parse).collect::<Result<Vec<u32>, _>>();
    let indices = indices.context("an order of execution that is no numbers")?;
    Ok(Measured {
        seconds: end_ns.saturating_sub(begin_ns) as f64 / 1e9,
        gone: gone.min(u64::from(load.jobs)),
        audit: Audit::of(load.jobs, indices.into_iter())?,
        counts,
        counted: Counted::default(),
    })
}
