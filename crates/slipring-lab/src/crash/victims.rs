//! What the crash test kills and starts again: servers on one store, and the PostgreSQL under
//! them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;

use super::database::Database;
use super::dice::Dice;
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
    /// SIGKILL to a server.
    Server,
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
/// Longer than any lease.
const PAUSE: Duration = Duration::from_millis(LEASE_MS + 500);

/// The servers, and what they run on.
pub struct Victims {
    servers: Vec<Option<Server>>,
    addresses: Vec<Addresses>,
    store: String,
    logs: PathBuf,
    database: Option<Database>,
}

impl Victims {
    /// Starts `count` servers on one store.
    ///
    /// # Errors
    /// When PostgreSQL or a server does not start.
    pub fn start(storage: Storage, count: u64, folder: &Path) -> Result<Victims> {
        let (store, database) = match storage {
            Storage::Sqlite => (format!("sqlite:{}", folder.join("slipring.db").display()), None),
            Storage::Postgres => {
                let database = Database::start()?;
                (database.url(), Some(database))
            }
        };
        let logs = folder.join("slipring");
        let mut victims =
            Victims { servers: Vec::new(), addresses: Vec::new(), store, logs, database };
        for number in 0..count {
            let server = victims.serve(number as usize, None)?;
            victims.addresses.push(server.addresses().clone());
            victims.servers.push(Some(server));
        }
        Ok(victims)
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

    /// What a round does: as asked for, or one of what is possible by the choice of `dice`.
    pub fn choose(&self, strike: Strike, dice: &Dice) -> Strike {
        match (strike, self.database.is_some()) {
            (Strike::Any, false) => Strike::Server,
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

    /// Strikes one of them by the choice of `dice`, and lets it go on. `between` is called when
    /// nothing of the victim answers any more.
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
            (Strike::Server | Strike::Any, _) => {
                let server = self.servers.get_mut(which).and_then(Option::take);
                server.context("no such server")?.kill()?;
                between()?;
                let at = self.addresses.get(which).cloned();
                let server = self.serve(which, at.as_ref())?;
                if let Some(place) = self.servers.get_mut(which) {
                    *place = Some(server);
                }
                Ok(())
            }
        }
    }

    /// Stops all servers as an operator would.
    ///
    /// # Errors
    /// When one had ended by itself, or does not stop in time.
    pub fn stop(self) -> Result<()> {
        self.servers.into_iter().flatten().try_for_each(Server::stop)
    }

    fn serve(&self, number: usize, at: Option<&Addresses>) -> Result<Server> {
        let log = self.logs.with_extension(format!("{number}.log"));
        Server::serving(&self.store, &log, at).with_context(|| format!("server {number}"))
    }
}
