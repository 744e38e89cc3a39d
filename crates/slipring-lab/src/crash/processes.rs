//! What the crash test kills and starts again: servers on one store, and the PostgreSQL under
//! them. A server that does not start again is a failure of the round, with its reason.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;

use super::aim::Aim;
use super::clearing::Clearing;
use super::database::Database;
use super::dice::Dice;
use super::disk::Disk;
use super::flood::Flood;
use super::queues::LEASE_MS;
use crate::targets::server::{Addresses, Server};

/// Where the servers keep their messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Storage {
    /// A SQLite file.
    Sqlite,
    /// A PostgreSQL of the run's own.
    Postgres,
}

/// What happens in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Strike {
    /// SIGKILL to a server at some moment.
    Server,
    /// SIGKILL to a server while it copies the log into its file.
    Copy,
    /// SIGTERM to a server, and SIGKILL while it copies and truncates its log at its end.
    Truncation,
    /// SIGKILL to a server on its way through a purge or the deletion of a large queue.
    Clearing,
    /// SIGKILL to a server on a full disk; needs `--small-disk`.
    FullDisk,
    /// SIGSTOP to a server for longer than its leases, then SIGCONT.
    Pause,
    /// SIGKILL to PostgreSQL.
    Database,
    /// SIGKILL to the process of one of PostgreSQL's sessions, upon which it ends all others.
    Backend,
    /// Sessions of PostgreSQL are ended, each in the middle of what it does.
    Sessions,
    /// One of those that are possible, by chance.
    Any,
}

/// How many sessions [`Strike::Sessions`] ends.
pub const SESSIONS: u64 = 25;
/// How often a server is started that has not, so that the run goes on.
const STARTS_MAX: u32 = 50;
/// How long a disk stays full before the kill, at most.
const FULL_MS: u64 = 400;
/// Longer than any lease.
const PAUSE: Duration = Duration::from_millis(LEASE_MS + 500);

/// The servers, and what they run on.
pub struct Processes {
    servers: Vec<Option<Server>>,
    addresses: Vec<Addresses>,
    store: String,
    logs: PathBuf,
    database: Option<Database>,
    /// Its file, where the store is one.
    file: Option<PathBuf>,
    disk: Option<Disk>,
    clearing: Clearing,
    flood: Flood,
    /// Kills that met a copy or truncation of the log.
    met: u64,
    /// Why servers did not start again, or what they had forgotten then.
    failures: Vec<String>,
}

impl Processes {
    /// Starts `count` servers on one store.
    ///
    /// # Errors
    /// When PostgreSQL or a server does not start.
    pub fn start(
        storage: Storage,
        count: u64,
        folder: &Path,
        disk: Option<Disk>,
    ) -> Result<Processes> {
        let place = disk.as_ref().map_or(folder, Disk::folder);
        let file = (storage == Storage::Sqlite).then(|| place.join("slipring.db"));
        let (store, database) = match &file {
            Some(file) => (format!("sqlite:{}", file.display()), None),
            None => {
                let database = Database::start()?;
                (database.url(), Some(database))
            }
        };
        let logs = folder.join("slipring");
        let mut processes = Processes {
            servers: Vec::new(),
            addresses: Vec::new(),
            store,
            logs,
            database,
            file,
            disk,
            clearing: Clearing::default(),
            flood: Flood::default(),
            met: 0,
            failures: Vec::new(),
        };
        for number in 0..count {
            let server = processes.serve(number as usize, None)?;
            processes.addresses.push(server.addresses().clone());
            processes.servers.push(Some(server));
        }
        Ok(processes)
    }

    /// Where each server listens, over all restarts.
    pub fn addresses(&self) -> &[Addresses] {
        &self.addresses
    }

    /// The address of the database, where there is one. It goes away at times, and then operations
    /// may be answered with "not at the moment".
    pub fn database_address(&self) -> Option<&str> {
        self.database.is_some().then_some(&*self.store)
    }

    /// The address of the store.
    pub fn store(&self) -> &str {
        &self.store
    }

    /// How many kills met a copy or truncation of the log, and what failed.
    pub fn findings(&self) -> (u64, &[String]) {
        (self.met, &self.failures)
    }

    /// What a round does: as asked for, or one of what is possible by the choice of `dice`.
    pub fn choose(&self, strike: Strike, dice: &Dice) -> Strike {
        match (strike, self.database.is_some()) {
            (Strike::Any, false) => match dice.below(20) {
                _ if self.disk.is_some() => Strike::FullDisk,
                0..9 => Strike::Copy,
                9..13 => Strike::Truncation,
                13..17 => Strike::Clearing,
                _ => Strike::Server,
            },
            (Strike::Any, true) => match dice.below(8) {
                0 => Strike::Pause,
                1 => Strike::Database,
                2 => Strike::Backend,
                3 | 4 => Strike::Sessions,
                _ => Strike::Server,
            },
            (strike, _) => strike,
        }
    }

    /// What is done before a strike, for its moment to be the right one.
    ///
    /// # Errors
    /// When it does not apply to this store, or the server fails at it.
    pub fn aim(&mut self, strike: Strike, seed: u64, dice: &Dice) -> Result<()> {
        match strike {
            Strike::Copy => {
                let aim = self.aim_at_file()?;
                let address = &self.addresses.first().context("no server")?.sqs;
                self.flood.begin(address, seed);
                self.met += u64::from(aim.copy(dice));
            }
            Strike::Clearing => {
                let address = self.addresses.first().context("no server")?.sqs.clone();
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
                let begun = runtime.block_on(self.clearing.begin(&address, seed, dice));
                begun.context("filling a queue and clearing it")?;
            }
            Strike::FullDisk => {
                let disk = self.disk.as_ref().context("add --small-disk")?;
                disk.fill(dice)?;
                std::thread::sleep(Duration::from_millis(dice.below(FULL_MS)));
            }
            _ => {}
        }
        Ok(())
    }

    /// Checks what [`Strike::Copy`] has sent, at the end.
    ///
    /// # Errors
    /// When some of it is missing.
    pub fn check_flood(&self) -> Result<()> {
        let address = &self.addresses.first().context("no server")?.sqs;
        if self.file.is_none() || address.is_empty() {
            return Ok(());
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(self.flood.check(address))
    }

    fn aim_at_file(&self) -> Result<Aim> {
        self.file.as_deref().map(Aim::at).context("there is no file to aim at: --store sqlite")
    }

    /// Strikes one of them by the choice of `dice`, and lets it go on. `between` is called when
    /// nothing of the process answers any more.
    ///
    /// # Errors
    /// When it had ended by itself, or does not start again.
    pub fn strike(
        &mut self,
        strike: Strike,
        dice: &Dice,
        between: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let which = dice.below(self.servers.len() as u64) as usize;
        match (strike, &mut self.database) {
            (Strike::Database, Some(database)) => {
                database.kill()?;
                between()
            }
            (Strike::Backend, Some(database)) => {
                database.kill_backend(dice)?;
                between()
            }
            (Strike::Sessions, Some(database)) => {
                database.end_sessions(SESSIONS, dice)?;
                between()
            }
            (Strike::Database | Strike::Backend | Strike::Sessions, None) => {
                bail!("there is no PostgreSQL to be struck; add --store postgres")
            }
            (Strike::Pause, _) => {
                let server = self.servers.get(which).and_then(Option::as_ref);
                let server = server.context("no such server")?;
                server.pause()?;
                between()?;
                std::thread::sleep(PAUSE);
                server.go_on()
            }
            (Strike::Truncation, _) => {
                let aim = self.aim_at_file()?;
                let mut met = false;
                self.take(which)?.kill_ending(|| met = aim.truncation(dice))?;
                self.met += u64::from(met);
                between()?;
                self.restart(which)
            }
            (Strike::FullDisk, _) => {
                self.take(which)?.kill()?;
                between()?;
                if dice.chance(0.5) {
                    self.start_without_room(which)?;
                }
                self.disk.as_ref().context("add --small-disk")?.free()?;
                self.restart(which)
            }
            (Strike::Clearing, _) => {
                self.take(which)?.kill()?;
                between()?;
                self.restart(which)?;
                let address = self.addresses.first().context("no server")?.sqs.clone();
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
                let checked = runtime.block_on(self.clearing.check(&address));
                self.failures.extend(checked.err().map(|error| format!("{error:#}")));
                Ok(())
            }
            (Strike::Server | Strike::Copy | Strike::Any, _) => {
                self.take(which)?.kill()?;
                between()?;
                self.flood.end()?;
                self.restart(which)
            }
        }
    }

    /// Stops all servers as an operator would.
    ///
    /// # Errors
    /// When one had ended by itself, or does not stop in time.
    pub fn stop(self) -> Result<()> {
        self.servers.into_iter().flatten().try_for_each(Server::stop)?;
        self.disk.map_or(Ok(()), |disk| disk.unmount())
    }

    fn take(&mut self, which: usize) -> Result<Server> {
        self.servers.get_mut(which).and_then(Option::take).context("no such server")
    }

    /// Starts a server again where it was. When it does not start, that is noted, and once more
    /// tried after SQLite alone has copied the log.
    fn restart(&mut self, which: usize) -> Result<()> {
        let at = self.addresses.get(which).cloned();
        let server = match (self.serve(which, at.as_ref()), &self.file) {
            (Ok(server), _) => server,
            (Err(error), Some(file)) => {
                let found = by_sqlite_alone(file);
                self.failures.push(format!("no start: {error:#}; SQLite alone says: {found}"));
                self.serve_at_last(which, file)?
            }
            (Err(error), None) => return Err(error),
        };
        if let Some(place) = self.servers.get_mut(which) {
            *place = Some(server);
        }
        Ok(())
    }

    /// Second processes may keep the file for a while, so this is tried several times.
    fn serve_at_last(&self, which: usize, file: &Path) -> Result<Server> {
        let at = self.addresses.get(which).cloned();
        for _ in 0..STARTS_MAX {
            by_sqlite_alone(file);
            if let Ok(server) = self.serve(which, at.as_ref()) {
                return Ok(server);
            }
        }
        self.serve(which, at.as_ref())
    }

    /// Without room a server starts, or says that there is none. It is killed again.
    fn start_without_room(&mut self, which: usize) -> Result<()> {
        let at = self.addresses.get(which).cloned();
        match self.serve(which, at.as_ref()) {
            Ok(server) => server.kill(),
            Err(error) if format!("{error:#}").contains("no room left") => Ok(()),
            Err(error) => {
                self.failures.push(format!("a start on a full disk: {error:#}"));
                Ok(())
            }
        }
    }

    fn serve(&self, number: usize, at: Option<&Addresses>) -> Result<Server> {
        let log = self.logs.with_extension(format!("{number}.log"));
        Server::serving(&self.store, &log, at).with_context(|| {
            let log = std::fs::read_to_string(&log).unwrap_or_default();
            format!("server {number}, whose log ends: {}", log.lines().last().unwrap_or("empty"))
        })
    }
}

/// Has SQLite check a file and copy its log; what it says about it.
fn by_sqlite_alone(file: &Path) -> String {
    let check = || {
        let connection = rusqlite::Connection::open(file)?;
        let said = connection.query_row("PRAGMA integrity_check(1)", (), |row| row.get(0))?;
        connection.query_row("PRAGMA wal_checkpoint(truncate)", (), |_| Ok(()))?;
        Ok::<String, rusqlite::Error>(said)
    };
    check().unwrap_or_else(|error| error.to_string())
}
