//! Where the contenders of case 4 run: a throw-away PostgreSQL and MariaDB for all of them, with a
//! fresh database for each measurement, and a fresh folder for what lives in files.

use std::path::Path;

use anyhow::{Context, Result};

use super::contenders::{Backend, Contender, Database, What};
use super::drive::{self, Load, Measured};
use super::driven::Driven;
use super::laravel::{self, Config};
use super::method::Method;
use super::tables::mariadb::{self as mariadb_table, MariaDb};
use super::tables::postgres::{self, Postgres};
use super::tables::sqlite::Sqlite;
use crate::mariadb;
use crate::run::cluster::Cluster;
use crate::targets::postgres::{SkipLocked, Sql, connect, version};
use crate::targets::server::Server;
use crate::targets::{Kind, Store, Target, TubeServer};
use crate::workloads::{Settings, Work, temporary_folder};

/// The servers of a run. A database that cannot be had leaves its contenders out.
pub struct Places {
    postgres: Cluster,
    mariadb: Result<mariadb::Server>,
    laravel: Result<String>,
    /// Whether what one measurement wrote is flushed before the next begins.
    checkpoints: bool,
}

impl Places {
    /// Starts what there is. For a run whose figures count, Laravel is installed where it is
    /// missing; MariaDB is in any case.
    ///
    /// # Errors
    /// When there is no PostgreSQL.
    pub async fn open(figures_count: bool) -> Result<Places> {
        let mariadb = tokio::spawn(mariadb::Server::start());
        let postgres = Cluster::open(None).await?;
        let mariadb = mariadb.await.context("starting MariaDB")?;
        let laravel = laravel::prepare(figures_count).await;
        Ok(Places { postgres, mariadb, laravel, checkpoints: figures_count })
    }

    /// The versions and settings that matter, and what is left out and why.
    ///
    /// # Errors
    /// When a server fails.
    pub async fn notes(&self) -> Result<Vec<String>> {
        let mut notes = vec![format!(
            "{}: synchronous_commit=on, autovacuum at its defaults",
            version(&self.postgres.admin().await?).await?
        )];
        notes.push(match &self.mariadb {
            Ok(server) => format!("MariaDB: {}", server.settings().await?),
            Err(error) => format!("all on MariaDB are left out: {error:#}"),
        });
        notes.push(match &self.laravel {
            Ok(versions) => format!("Laravel's queue: {versions}"),
            Err(error) => format!("the real Laravel queue is left out: {error:#}"),
        });
        Ok(notes)
    }

    /// Whether what a contender needs is there.
    pub fn has(&self, contender: &Contender) -> bool {
        let laravel = matches!(contender.what, What::Laravel(_));
        let mariadb = matches!(
            contender.what,
            What::Table(Database::MariaDb, _) | What::Laravel(Backend::Database(Database::MariaDb))
        );
        (!laravel || self.laravel.is_ok()) && (!mariadb || self.mariadb.is_ok())
    }

    /// Runs a contender once, on a database or in a folder that is then removed.
    ///
    /// # Errors
    /// When it fails.
    pub async fn measure(&mut self, contender: &Contender, load: Load) -> Result<Measured> {
        let load = Load { up_to: contender.up_to, ..load };
        let folder = temporary_folder()?;
        match contender.what {
            What::Table(Database::Sqlite, method) => {
                drive::run(Sqlite::new(folder.path(), method)?, load).await
            }
            What::Table(Database::MariaDb, method) => self.on_mariadb(method, load).await,
            What::Table(Database::Postgres, method) => {
                let (admin, name) = self.database().await?;
                let jobs = Postgres::new(&self.postgres.url(&name), method).await?;
                let found = drive::run(jobs, load).await;
                self.postgres.drop_database(&admin, &name).await?;
                found
            }
            What::Target(kind) => self.target(kind, load, folder.path()).await,
            What::Laravel(backend) => self.laravel(backend, load, folder.path()).await,
        }
    }

    /// A fresh database of PostgreSQL, after a checkpoint where figures count.
    async fn database(&self) -> Result<(tokio_postgres::Client, String)> {
        let admin = self.postgres.admin().await?;
        if self.checkpoints {
            admin.batch_execute("CHECKPOINT").await?;
        }
        let name = self.postgres.create_database(&admin).await?;
        Ok((admin, name))
    }

    /// The server that was started.
    fn mariadb(&mut self) -> Result<&mut mariadb::Server> {
        self.mariadb.as_mut().map_err(|error| anyhow::anyhow!("no MariaDB: {error:#}"))
    }

    async fn on_mariadb(&mut self, method: Method, load: Load) -> Result<Measured> {
        let server = self.mariadb()?;
        let name = server.create_database().await?;
        let jobs = MariaDb::new(server.options(Some(&name)), method).await?;
        let found = drive::run(jobs, load).await;
        server.drop_database(&name).await?;
        found
    }

    async fn target(&self, kind: Kind, load: Load, folder: &Path) -> Result<Measured> {
        // Of the settings only the target and its place matter here.
        let mut settings = Settings::new(Work::Backlog, kind);
        if !kind.in_postgres() {
            return target(&settings, load, folder).await;
        }
        let (admin, name) = self.database().await?;
        settings.postgres = Some(self.postgres.url(&name));
        let found = target(&settings, load, folder).await;
        self.with_deadlocks(&admin, &name, found).await
    }

    /// Adds to what was found the deadlocks that PostgreSQL counted, and removes the database.
    async fn with_deadlocks(
        &self,
        admin: &tokio_postgres::Client,
        name: &str,
        found: Result<Measured>,
    ) -> Result<Measured> {
        let found = match found {
            Err(error) => Err(error),
            Ok(mut found) => {
                let client = connect(&self.postgres.url(name)).await?;
                let counted = postgres::deadlocks(&client, 0).await;
                counted.map(|deadlocks| {
                    found.counted.deadlocks = Some(deadlocks);
                    found
                })
            }
        };
        self.postgres.drop_database(admin, name).await?;
        found
    }

    async fn laravel(&mut self, back: Backend, load: Load, folder: &Path) -> Result<Measured> {
        match back {
            Backend::Database(Database::Sqlite) => {
                laravel::run(&Config::sqlite(&folder.join("jobs.db"))?, load, folder).await
            }
            Backend::Database(Database::MariaDb) => {
                let server = self.mariadb()?;
                let name = server.create_database().await?;
                let at = server.options(Some(&name));
                let user = at.user().unwrap_or_default();
                let config = Config::mariadb(at.ip_or_hostname(), at.tcp_port(), &name, user);
                let before = mariadb_table::counters(&at).await?;
                let mut found = laravel::run(&config, load, folder).await;
                if let Ok(found) = &mut found {
                    found.counted = mariadb_table::counted_since(before, &at).await?;
                }
                server.drop_database(&name).await?;
                found
            }
            Backend::Database(Database::Postgres) => {
                let (admin, name) = self.database().await?;
                let config = Config::postgres(&self.postgres.url(&name))?;
                let found = laravel::run(&config, load, folder).await;
                self.with_deadlocks(&admin, &name, found).await
            }
            Backend::Beanstalkd => {
                let server = Server::beanstalkd(Some((folder, Some(0)))).await?;
                let config = Config::beanstalkd(&server.addresses().beanstalkd)?;
                let found = laravel::run(&config, load, folder).await;
                server.stop().context("stopping beanstalkd")?;
                found
            }
            Backend::Slipring => {
                let server = Server::slipring(&folder.join("slipring.db"), None)?;
                let config = Config::beanstalkd(&server.addresses().beanstalkd)?;
                let found = laravel::run(&config, load, folder).await;
                server.stop().context("stopping slipring")?;
                found
            }
        }
    }
}

async fn target(settings: &Settings, load: Load, folder: &Path) -> Result<Measured> {
    async fn on<T: Target>(settings: &Settings, load: Load, folder: &Path) -> Result<Measured> {
        drive::run(Driven::new(T::start(settings, folder).await?).await?, load).await
    }
    match settings.target {
        Kind::Store => on::<Store>(settings, load, folder).await,
        Kind::SkipLocked => on::<SkipLocked>(settings, load, folder).await,
        Kind::Sql => on::<Sql>(settings, load, folder).await,
        _ => on::<TubeServer>(settings, load, folder).await,
    }
}
