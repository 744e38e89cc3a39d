//! What is driven on a bad day: a server or a database that was started for it, where it listens,
//! and how it is ended and started again.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use tokio_postgres::Client;

use super::frame::TIME_TO_RUN_SECONDS;
use super::others::{Load, Others};
use super::phase::Lengths;
use super::wall_clock::WallClock;
use crate::crash::disk::Disk;
use crate::process::Usage;
use crate::run::cluster::Cluster;
use crate::targets::postgres::{SkipLocked, Sql, connect};
use crate::targets::server::{Addresses, Server};
use crate::targets::{Kind, Target, TubeServer};
use crate::workloads::{self, Answer, Settings, Work};

/// The target of one turn. Dropping it stops what was started.
pub struct Stage<'a> {
    /// What is driven.
    pub kind: Kind,
    /// Tiny sizes.
    pub smoke: bool,
    /// How long the phases are.
    pub lengths: Lengths,
    /// Its choices.
    pub seed: u64,
    folder: &'a Path,
    server: Option<Server>,
    addresses: Addresses,
    cluster: Option<&'a mut Cluster>,
    database: Option<String>,
    url: Option<String>,
    sql: Option<Arc<Sql>>,
    /// The disk under the target, where it has one of its own.
    pub disk: Option<Disk>,
    /// The target's wall clock, where it has one of its own.
    pub clock: Option<WallClock>,
}

/// What a target has to itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Own {
    /// Its data.
    Data,
    /// A small disk as well.
    Disk,
    /// A wall clock as well.
    Clock,
}

/// What is the same for all turns of a day.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    /// Tiny sizes.
    pub smoke: bool,
    /// How long the phases are.
    pub lengths: Lengths,
    /// The seed of the choices.
    pub seed: u64,
}

impl<'a> Stage<'a> {
    /// Starts `kind` with its data in `folder`, or in a database of its own in `cluster`; with a
    /// disk of its own, that is mounted there.
    ///
    /// # Errors
    /// When it does not start.
    pub async fn start(
        kind: Kind,
        sizes: Sizes,
        folder: &'a Path,
        cluster: Option<&'a mut Cluster>,
        own: Own,
    ) -> Result<Stage<'a>> {
        let database = match &cluster {
            Some(cluster) => Some(cluster.create_database(&cluster.admin().await?).await?),
            None => None,
        };
        let url = database.as_ref().zip(cluster.as_ref()).map(|(name, on)| on.url(name));
        let Sizes { smoke, lengths, seed } = sizes;
        let (server, addresses, sql) = (None, Addresses::default(), None);
        let disk = (own == Own::Disk).then(|| Disk::mount(folder)).transpose()?;
        let clock = (own == Own::Clock).then(|| WallClock::new(folder)).transpose()?;
        let mut stage = Stage {
            kind,
            smoke,
            lengths,
            seed,
            folder,
            server,
            addresses,
            cluster,
            database,
            url,
            sql,
            disk,
            clock,
        };
        match kind {
            Kind::Sql => stage.sql = Some(Arc::new(Sql::start(&stage.settings(), folder).await?)),
            Kind::SkipLocked => {}
            _ => stage.serve(None).await?,
        }
        Ok(stage)
    }

    async fn serve(&mut self, at: Option<&Addresses>) -> Result<()> {
        let mut environment = self.clock.as_ref().map_or_else(Vec::new, WallClock::environment);
        // A day's participants and the others together.
        environment.push(("SLIPRING_CONNECTIONS_MAX", "20000".to_owned()));
        let log = self.file().with_extension("log");
        let serving = |store: &str| Server::serving_in(&environment, store, &log, at);
        let server = match self.kind {
            Kind::SlipringBeanstalkd => serving(&format!("sqlite:{}", self.file().display()))?,
            Kind::PostgresServer => serving(self.url()?)?,
            Kind::Beanstalkd | Kind::BeanstalkdLate => {
                let flush_ms = (self.kind == Kind::Beanstalkd).then_some(0);
                let at = at.map(|at| at.beanstalkd.as_str());
                Server::beanstalkd_in(&environment, at, Some((self.folder, flush_ms))).await?
            }
            kind => bail!("{kind:?} is not driven on a bad day"),
        };
        self.addresses = server.addresses().clone();
        self.server = Some(server);
        Ok(())
    }

    /// The file of our store.
    pub fn file(&self) -> std::path::PathBuf {
        self.folder.join("slipring.db")
    }

    /// Where the server listens.
    pub fn addresses(&self) -> &Addresses {
        &self.addresses
    }

    /// The server by the beanstalkd protocol, as a target that works by it.
    pub fn tubes(&self) -> TubeServer {
        TubeServer::at(&self.addresses.beanstalkd)
    }

    /// The settings of a work of the participant.
    pub fn work(&self, work: Work) -> Settings {
        Settings { work, ..self.settings() }
    }

    /// Runs a work of the participant by the beanstalkd protocol.
    ///
    /// # Errors
    /// When the target fails, or an answer is not as it must be.
    pub async fn participate(&self, settings: &Settings) -> Result<Answer> {
        let answer = workloads::drive(settings, &self.tubes(), self.folder, &|_| Ok(())).await?;
        answer.wrong().map_or(Ok(answer), |wrong| bail!("{wrong}"))
    }

    fn settings(&self) -> Settings {
        let plain = Settings::new(Work::Paced, self.kind);
        Settings { postgres: self.url.clone(), seconds: self.lengths.fault.as_secs_f64(), ..plain }
    }

    /// The folder of its data.
    pub fn folder(&self) -> &Path {
        self.folder
    }

    /// A session of the participant in the database.
    ///
    /// # Errors
    /// When PostgreSQL refuses, or there is none.
    pub async fn session(&self) -> Result<Client> {
        connect(self.url()?).await
    }

    /// A caller by SQL of a queue of the participant.
    ///
    /// # Errors
    /// When PostgreSQL refuses, or this target is not ours by SQL.
    pub async fn sql_caller(&self, queue: &str) -> Result<<Sql as Target>::Caller> {
        self.sql.as_ref().context("this target is not ours by SQL")?.caller(queue).await
    }

    /// The address of the database.
    ///
    /// # Errors
    /// When there is none.
    pub fn url(&self) -> Result<&str> {
        self.url.as_deref().context("this target is in no PostgreSQL")
    }

    /// The PostgreSQL.
    ///
    /// # Errors
    /// When there is none.
    pub fn cluster(&mut self) -> Result<&mut Cluster> {
        self.cluster.as_deref_mut().context("this target is in no PostgreSQL")
    }

    /// The most resident memory the server has had, in megabytes of a million bytes.
    ///
    /// # Errors
    /// When it is gone.
    pub fn resident_peak_mb(&self) -> Result<f64> {
        let server = self.server.as_ref().context("this target is no server of its own")?;
        Ok(Usage::of(server.pid())?.resident_peak_bytes as f64 / 1e6)
    }

    /// SIGKILL to the server.
    ///
    /// # Errors
    /// When it had ended by itself.
    pub fn kill(&mut self) -> Result<()> {
        self.server.take().context("this target is no server of its own")?.kill()
    }

    /// Starts the killed server on the same data and ports.
    ///
    /// # Errors
    /// When it does not start.
    pub async fn restart(&mut self) -> Result<()> {
        let at = self.addresses.clone();
        self.serve(Some(&at)).await.context("starting the killed server again")
    }

    /// The others on this target.
    ///
    /// # Errors
    /// When they cannot connect.
    pub async fn others(&self, load: Load) -> Result<Others> {
        match (&self.sql, self.kind) {
            (Some(sql), _) => Others::start(Arc::clone(sql), load).await,
            (None, Kind::SkipLocked) => {
                let target = SkipLocked::start(&self.settings(), self.folder).await?;
                Others::start(Arc::new(target), load).await
            }
            _ => {
                let tubes = self.tubes().with_time_to_run(TIME_TO_RUN_SECONDS);
                Others::start(Arc::new(tubes), load).await
            }
        }
    }

    /// Stops what was started.
    ///
    /// # Errors
    /// When it had ended by itself, or does not stop in time.
    pub async fn stop(mut self) -> Result<()> {
        if let Some(sql) = self.sql.take().and_then(Arc::into_inner) {
            sql.stop().await?;
        }
        self.server.take().map_or(Ok(()), Server::stop)?;
        if let (Some(cluster), Some(database)) = (&self.cluster, &self.database) {
            cluster.drop_database(&cluster.admin().await?, database).await?;
        }
        self.disk.take().map_or(Ok(()), |disk| disk.unmount())
    }
}
