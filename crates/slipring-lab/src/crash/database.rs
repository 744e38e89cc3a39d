//! The PostgreSQL under the servers of the crash test, and what is done to it.

use anyhow::{Context, Result};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio_postgres::Client;

use super::dice::Dice;
use crate::run::cluster::Cluster;

/// A PostgreSQL with one database, and the runtime that speaks to it.
pub struct Database {
    cluster: Cluster,
    name: String,
    runtime: tokio::runtime::Runtime,
}

impl Database {
    /// Starts one with an empty database.
    ///
    /// # Errors
    /// When there is no PostgreSQL on this machine, or it does not start.
    pub fn start() -> Result<Database> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (cluster, name) = runtime.block_on(async {
            let cluster = Cluster::open(None).await?;
            let name = cluster.create_database(&cluster.admin().await?).await?;
            anyhow::Ok((cluster, name))
        })?;
        Ok(Database { cluster, name, runtime })
    }

    /// The address of the database.
    pub fn url(&self) -> String {
        self.cluster.url(&self.name)
    }

    /// SIGKILL to PostgreSQL, and starts it again.
    ///
    /// # Errors
    /// When it had ended by itself, or does not start.
    pub fn kill(&mut self) -> Result<()> {
        self.cluster.kill()?;
        // Sessions of the one that was killed answer until they notice, and the next one starts
        // when none is left.
        self.runtime.block_on(self.cluster.restart())
    }

    /// SIGKILL to the process of one session by the choice of `dice`: PostgreSQL ends all others
    /// and recovers by itself.
    ///
    /// # Errors
    /// When PostgreSQL fails otherwise, or does not come back within a minute.
    pub fn kill_backend(&mut self, dice: &Dice) -> Result<()> {
        self.runtime.block_on(async {
            let admin = self.cluster.admin().await?;
            let Some(session) = session(&admin, &self.name, dice).await? else { return Ok(()) };
            kill(Pid::from_raw(session), Signal::SIGKILL).context("killing a backend")?;
            // PostgreSQL takes connections until it has noticed; then this one ends.
            while admin.simple_query("").await.is_ok() {}
            self.cluster.wait_until_ready().await
        })
    }

    /// Ends `count` sessions, one after the other, each in the middle of something where there is
    /// one.
    ///
    /// # Errors
    /// When PostgreSQL fails.
    pub fn end_sessions(&self, count: u64, dice: &Dice) -> Result<()> {
        self.runtime.block_on(async {
            let admin = self.cluster.admin().await?;
            let end = include_str!("../../queries/crash_end_session.sql");
            for _ in 0..count {
                if let Some(session) = session(&admin, &self.name, dice).await? {
                    admin.execute(end, &[&session]).await.context("ending a session")?;
                }
            }
            Ok(())
        })
    }
}

/// The process of a session of a database by the choice of `dice`: one that is doing something,
/// where there is one.
async fn session(admin: &Client, database: &str, dice: &Dice) -> Result<Option<i32>> {
    let sessions = include_str!("../../queries/crash_sessions.sql");
    let rows = admin.query(sessions, &[&database]).await.context("looking at the sessions")?;
    let sessions = rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?)));
    let sessions = sessions.collect::<Result<Vec<(i32, bool)>>>()?;
    let busy = sessions.iter().filter(|(_, busy)| *busy).count();
    let among = if busy > 0 { busy } else { sessions.len() };
    Ok(sessions.get(dice.below(among as u64) as usize).map(|(pid, _)| *pid))
}
