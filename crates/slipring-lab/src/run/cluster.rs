//! A PostgreSQL of the run's own: newest of the machine, 127.0.0.1, free port, an ordinary user,
//! durable; or one that is given by its address. Each measurement gets a fresh database in it.

use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, User};
use tokio_postgres::Client;

use crate::folder;
use crate::guard::Guard;
use crate::process::{Usage, ended_children_cpu_seconds};
use crate::programs::newest_postgresql;
use crate::targets::postgres::connect;

/// PostgreSQL does not start as root; this user is one of every machine that has it from Debian.
const ORDINARY_USER: &str = "postgres";
/// For starting and for stopping.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks whether the server takes connections.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// What differs from the defaults of `initdb`; everything that decides on durability stays on.
const SETTINGS: [&str; 8] = [
    "listen_addresses=127.0.0.1",
    "synchronous_commit=on",
    "max_connections=300",
    "shared_buffers=1GB",
    "max_wal_size=8GB",
    "checkpoint_timeout=15min",
    "autovacuum=on",
    "log_checkpoints=on",
];

/// A PostgreSQL that takes databases.
pub struct Cluster {
    /// The address up to the name of the database, and what follows it.
    address: (String, String),
    own: Option<Own>,
    databases: std::cell::Cell<u32>,
}

/// A PostgreSQL that was started here. Dropping it stops it and removes its data; when this process
/// is killed, its guard does.
struct Own {
    server: Child,
    /// None while the server is down.
    guard: Option<Guard>,
    recipe: Recipe,
    folder: tempfile::TempDir,
}

/// How the server is started, the first time and again.
struct Recipe {
    programs: PathBuf,
    folder: PathBuf,
    user: Option<User>,
    port: u16,
    /// Settings besides [`SETTINGS`].
    more: Vec<String>,
}

impl Cluster {
    /// The PostgreSQL at `url`, or one of its own when there is none.
    ///
    /// # Errors
    /// When there is no PostgreSQL on this machine, or it does not start.
    pub async fn open(url: Option<&str>) -> Result<Cluster> {
        match url {
            Some(url) => Cluster::ready(parts(url)?, None).await,
            None => Cluster::with_settings(&[]).await,
        }
    }

    /// One of its own with further settings, each as `name=value`.
    ///
    /// # Errors
    /// When there is no PostgreSQL on this machine, or it does not start.
    pub async fn with_settings(more: &[&str]) -> Result<Cluster> {
        let (own, port) = Own::start(more)?;
        let address = format!("postgres://lab@127.0.0.1:{port}/");
        Cluster::ready((address, String::new()), Some(own)).await
    }

    async fn ready(address: (String, String), own: Option<Own>) -> Result<Cluster> {
        let mut cluster = Cluster { address, own, databases: std::cell::Cell::new(0) };
        cluster.wait_until_ready().await?;
        Ok(cluster)
    }

    /// Whether it was started here, and so ends with the run.
    pub fn is_own(&self) -> bool {
        self.own.is_some()
    }

    /// The address of a database.
    pub fn url(&self, database: &str) -> String {
        let (before, after) = &self.address;
        format!("{before}{database}{after}")
    }

    /// A connection to the database that every PostgreSQL has.
    ///
    /// # Errors
    /// When PostgreSQL refuses.
    pub async fn admin(&self) -> Result<Client> {
        connect(&self.url("postgres")).await
    }

    /// Makes a database; answers its name.
    ///
    /// # Errors
    /// When the user may not.
    pub async fn create_database(&self, admin: &Client) -> Result<String> {
        self.copy_database(admin, "template1").await
    }

    /// Makes a database as a copy of another, to which nobody is connected; answers its name.
    ///
    /// # Errors
    /// When the user may not.
    pub async fn copy_database(&self, admin: &Client, template: &str) -> Result<String> {
        let number = self.databases.get();
        self.databases.set(number + 1);
        let name = format!("slipring_lab_{}_{number}", std::process::id());
        let create = format!("CREATE DATABASE {name} TEMPLATE {template}");
        admin.batch_execute(&create).await.context("making a database for a measurement")?;
        Ok(name)
    }

    /// Removes a database with everything in it.
    ///
    /// # Errors
    /// When PostgreSQL fails.
    pub async fn drop_database(&self, admin: &Client, name: &str) -> Result<()> {
        let drop = format!("DROP DATABASE {name} WITH (FORCE)");
        admin.batch_execute(&drop).await.with_context(|| format!("removing the database {name}"))
    }

    /// Processor time of the server's processes, of those that have ended too but not of `others`,
    /// where it is our own.
    pub fn cpu_seconds_without(&self, others: &[u32]) -> Option<f64> {
        let own = self.own.as_ref()?;
        let processes = std::fs::read_dir("/proc").ok()?;
        let pids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        let server = own.server.id();
        let ours = pids.filter(|pid: &u32| *pid == server || parent(*pid) == Some(server));
        let ours = ours.filter(|pid| !others.contains(pid));
        let living: f64 = ours.filter_map(|pid| Usage::of(pid).ok()).map(|u| u.cpu_seconds).sum();
        Some(living + ended_children_cpu_seconds(server).ok()?)
    }

    /// Ends the server with SIGKILL, and waits until it is gone. Its other processes end by
    /// themselves when they notice.
    ///
    /// # Errors
    /// When it is not our own, or had ended by itself.
    pub fn kill(&mut self) -> Result<()> {
        let own = self.own.as_mut().context("the PostgreSQL at an address is not ours to kill")?;
        if let Some(status) = own.server.try_wait()? {
            bail!("PostgreSQL ended ({status}): {}", own.log());
        }
        drop(own.guard.take());
        own.server.kill().context("killing PostgreSQL")?;
        own.server.wait().context("waiting for the killed PostgreSQL")?;
        Ok(())
    }

    /// Stops the server as `pg_ctl stop` does: its sessions are ended, and nothing is left to
    /// recover. Blocks until it has ended.
    ///
    /// # Errors
    /// When it is not our own, had ended by itself, or does not end within a minute.
    pub fn stop(&mut self) -> Result<()> {
        let own = self.own.as_mut().context("the PostgreSQL at an address is not ours to stop")?;
        if let Some(status) = own.server.try_wait()? {
            bail!("PostgreSQL ended ({status}): {}", own.log());
        }
        match own.stop() {
            true => Ok(()),
            false => bail!("PostgreSQL does not stop: {}", own.log()),
        }
    }

    /// Starts the stopped or killed server again on its data.
    ///
    /// # Errors
    /// When it is not our own, or does not start within a minute.
    pub async fn restart(&mut self) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let own = self.own.as_mut();
            let own = own.context("the PostgreSQL at an address is not ours to start")?;
            own.launch()?;
            // It ends again when it sees processes of the one before, however long that takes it.
            let Some(ended) = self.ready_or_ended(deadline).await? else { return Ok(()) };
            if Instant::now() > deadline {
                return Err(ended);
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// Waits until connections are taken.
    ///
    /// # Errors
    /// When none are taken within a minute.
    pub async fn wait_until_ready(&mut self) -> Result<()> {
        match self.ready_or_ended(Instant::now() + PATIENCE).await? {
            None => Ok(()),
            Some(ended) => Err(ended),
        }
    }

    /// Waits until connections are taken, or the server has ended: what it said then.
    async fn ready_or_ended(&mut self, deadline: Instant) -> Result<Option<anyhow::Error>> {
        loop {
            let refused = match self.admin().await {
                Ok(_) => return Ok(None),
                Err(error) => error,
            };
            let Some(own) = &mut self.own else { return Err(refused) };
            if let Some(status) = own.server.try_wait()? {
                return Ok(Some(anyhow!("PostgreSQL ended ({status}): {}", own.log())));
            }
            if Instant::now() > deadline {
                bail!("PostgreSQL takes no connections ({refused}): {}", own.log());
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }
}

impl Own {
    fn start(more: &[&str]) -> Result<(Own, u16)> {
        let programs = newest_postgresql()?;
        let user = folder::ordinary_user(ORDINARY_USER)?;
        let folder = folder::of_user("postgres-", user.as_ref())?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let more = more.iter().map(|setting| (*setting).to_owned()).collect();
        let recipe = Recipe { programs, folder: folder.path().to_owned(), user, port, more };
        let mut initdb = recipe.program("initdb");
        initdb.arg("-D").arg(recipe.data()).args(["-U", "lab", "-A", "trust", "-E", "UTF8"]);
        let made = initdb.args(["--locale=C", "--no-sync"]).output().context("starting initdb")?;
        if !made.status.success() {
            bail!("initdb failed: {}", String::from_utf8_lossy(&made.stderr).trim());
        }
        let mut own = Own { server: recipe.start()?, guard: None, recipe, folder };
        own.watch()?;
        Ok((own, port))
    }

    /// Starts the server again.
    fn launch(&mut self) -> Result<()> {
        drop(self.guard.take());
        self.server = self.recipe.start()?;
        self.watch()
    }

    fn watch(&mut self) -> Result<()> {
        let guard = Guard::over(self.server.id(), Some(self.folder.path()), Signal::SIGINT)?;
        self.guard = Some(guard);
        Ok(())
    }

    /// Ends the server the fast way: it ends its connections and leaves nothing behind. Answers
    /// whether it has ended within a minute.
    fn stop(&mut self) -> bool {
        // The guard goes first: it must never signal another process.
        drop(self.guard.take());
        if matches!(self.server.try_wait(), Ok(Some(_))) {
            return true;
        }
        let Ok(pid) = i32::try_from(self.server.id()) else { return false };
        let _ = kill(Pid::from_raw(pid), Signal::SIGINT);
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if !matches!(self.server.try_wait(), Ok(None)) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        false
    }

    /// The end of the server's log.
    fn log(&self) -> String {
        let text = std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
        let lines: Vec<&str> = text.lines().rev().take(5).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("; ")
    }
}

impl Recipe {
    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.programs.join(name));
        if let Some(user) = &self.user {
            command.uid(user.uid.as_raw()).gid(user.gid.as_raw());
        }
        command.current_dir(&self.folder).stdin(Stdio::null());
        command
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn start(&self) -> Result<Child> {
        let path = self.folder.join("log");
        let log = std::fs::OpenOptions::new().create(true).append(true).open(path);
        let log = log.context("opening PostgreSQL's log")?;
        let mut server = self.program("postgres");
        server.arg("-D").arg(self.data()).args(["-p", &self.port.to_string()]);
        server.arg("-c").arg(format!("unix_socket_directories={}", self.folder.display()));
        // Of two that name the same, the later one counts.
        for setting in SETTINGS.into_iter().chain(self.more.iter().map(String::as_str)) {
            server.args(["-c", setting]);
        }
        // A group of its own: Ctrl-C is for the lab, which then stops the server.
        server.process_group(0);
        server.stdout(log.try_clone()?).stderr(log);
        server.spawn().context("starting postgres")
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        if !self.stop() {
            let _ = self.server.kill();
            let _ = self.server.wait();
        }
    }
}

/// The process that started another.
fn parent(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// An address cut around the name of its database.
fn parts(url: &str) -> Result<(String, String)> {
    let (before, after) = match url.split_once('?') {
        Some((before, after)) => (before, format!("?{after}")),
        None => (url, String::new()),
    };
    let authority = before.find("://").map(|at| at + 3);
    let Some(authority) = authority.filter(|_| before.starts_with("postgres")) else {
        bail!("not the address of a PostgreSQL: {url:?}; one is postgres://user@host:port/name");
    };
    let end = before[authority..].find('/').map_or(before.len(), |at| authority + at);
    Ok((format!("{}/", &before[..end]), after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_cut_around_the_name_of_its_database() {
        let cut = |url| parts(url).unwrap();
        let pair = |before: &str, after: &str| (before.to_owned(), after.to_owned());
        assert_eq!(cut("postgres://u:p@h:1/db?x=y"), pair("postgres://u:p@h:1/", "?x=y"));
        assert_eq!(cut("postgresql://h/db"), pair("postgresql://h/", ""));
        assert_eq!(cut("postgres://h"), pair("postgres://h/", ""));
        assert!(parts("mysql://h/db").is_err());
    }
}
