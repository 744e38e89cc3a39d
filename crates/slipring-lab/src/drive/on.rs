//! Which target a run drives: one that the lab starts, or one at an address.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use anyhow::{Context, Result, bail};
use tokio::runtime::Runtime;

use super::messages::{Messages, Strangers, Verb};
use super::operation::Empty;
use super::options::{Action, Options};
use super::report::Report;
use super::session::{Session, Watched};
use super::statement::{PostgresStatement, SqliteStatement, Statement};
use super::stop::Stop;
use crate::ledger::{Ledger, MESSAGES_MAX};
use crate::run::cluster::Cluster;
use crate::run::condition::number;
use crate::targets::postgres::{Pgmq, Pgq, SkipLocked, Sql, Table};
use crate::targets::{
    Kind, Nats, RabbitMq, RawFile, RawSqlite, Redis, SqsServer, Store, Target, TubeServer, server,
};
use crate::time::monotonic_ns;
use crate::waits::classes::{Metrics, Source};
use crate::workloads::{Settings, Work, temporary_folder};

/// Measures what the options name.
///
/// # Errors
/// When not even one step could begin.
pub fn measure(options: &Options, stop: &Stop) -> Result<Report> {
    options.check()?;
    let folder = temporary_folder()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.context("starting the runtime")?;
    runtime.block_on(async { stop.on_signals() }).context("catching signals")?;
    let report = Report::new(folder.path(), options.title());
    let mut session = Session { options, stop, runtime: &runtime, report };
    let action = options.action.unwrap_or(Action::Noop);
    match action.verb() {
        Some(verb) => session.messages(verb, folder.path())?,
        None if action == Action::Sql => session.statement()?,
        None => {
            session.report.empty = true;
            let ledger = Arc::new(Ledger::new(0, 0));
            let nothing = Watched { classes: Source::Nothing, url: None };
            session.measure(&Empty { batch: 0, ledger }, &nothing)?;
        }
    }
    Ok(session.report)
}

impl Session<'_> {
    /// The wait classes that the options name, or else those of the target.
    fn classes(&self, of_target: Source) -> Result<Source> {
        match &self.options.metrics {
            Some(address) => {
                let token = self.options.metrics_token.as_deref();
                Ok(Source::Metrics(Metrics::new(address, token)?))
            }
            None => Ok(of_target),
        }
    }

    fn statement(&mut self) -> Result<()> {
        let statement = Statement {
            sql: self.options.statement.clone().unwrap_or_default(),
            parameters: self.options.parameters.clone(),
            seed: self.options.seed,
        };
        let classes = self.classes(Source::Nothing)?;
        if let Some(file) = &self.options.file {
            let maker = SqliteStatement { file: file.clone(), statement };
            return self.measure(&maker, &Watched { classes, url: None });
        }
        let url = self.options.url.clone().context("`sql` needs --url or --file")?;
        let watched = Watched { classes, url: Some(url.clone()) };
        self.measure(&PostgresStatement { url, statement }, &watched)
    }

    /// Starts the target, or finds the one at the address, and drives it.
    fn messages(&mut self, verb: Verb, folder: &Path) -> Result<()> {
        let options = self.options;
        if let Some(address) = &options.tube {
            return self.on(TubeServer::at(address), verb, None);
        }
        if let Some(address) = &options.sqs {
            return self.on(SqsServer::at(host_of(address)?), verb, None);
        }
        if let Some(file) = &options.file {
            let store = self.runtime.block_on(Store::on_file(file))?;
            self.report.durability = Some(Kind::Store.durability().to_owned());
            return self.on(store, verb, None);
        }
        let kind = match (options.target, &options.url) {
            (Some(kind), _) => kind,
            (None, Some(_)) => Kind::Postgres,
            (None, None) => Kind::Store,
        };
        let mut settings = Settings::new(Work::Cycle, kind);
        // It lives until the target has stopped, and ends with this function.
        let cluster;
        settings.postgres = options.url.clone();
        if kind.in_postgres() && settings.postgres.is_none() {
            cluster = self.runtime.block_on(Cluster::open(None))?;
            let made = async { cluster.create_database(&cluster.admin().await?).await };
            settings.postgres = Some(cluster.url(&self.runtime.block_on(made)?));
        }
        self.report.durability = Some(kind.durability().to_owned());
        self.start(kind, &settings, verb, folder)
    }

    fn start(&mut self, kind: Kind, settings: &Settings, verb: Verb, folder: &Path) -> Result<()> {
        match kind {
            Kind::RawFile => self.begin::<RawFile>(settings, verb, folder),
            Kind::RawSqlite => self.begin::<RawSqlite>(settings, verb, folder),
            Kind::Store | Kind::Memory | Kind::Postgres => {
                self.begin::<Store>(settings, verb, folder)
            }
            Kind::SlipringSqs | Kind::SlipringSqsMemory => {
                server::build()?;
                self.begin::<SqsServer>(settings, verb, folder)
            }
            Kind::SlipringBeanstalkd | Kind::PostgresServer => {
                server::build()?;
                self.begin::<TubeServer>(settings, verb, folder)
            }
            Kind::Moto | Kind::Elasticmq | Kind::ElasticmqFile => {
                self.begin::<SqsServer>(settings, verb, folder)
            }
            Kind::Beanstalkd | Kind::BeanstalkdLate | Kind::BeanstalkdMemory => {
                self.begin::<TubeServer>(settings, verb, folder)
            }
            Kind::PgCopy
            | Kind::PgCopyIndexed
            | Kind::PgInsert
            | Kind::PgInsertIndexed
            | Kind::PgInsertByFunction => self.begin::<Table>(settings, verb, folder),
            Kind::Sql => self.begin::<Sql>(settings, verb, folder),
            Kind::SkipLocked => self.begin::<SkipLocked>(settings, verb, folder),
            Kind::Pgmq => self.begin::<Pgmq>(settings, verb, folder),
            Kind::Pgq => self.begin::<Pgq>(settings, verb, folder),
            Kind::Redis => self.begin::<Redis>(settings, verb, folder),
            Kind::Nats => self.begin::<Nats>(settings, verb, folder),
            Kind::RabbitMq => self.begin::<RabbitMq>(settings, verb, folder),
            Kind::GraphileWorker | Kind::River | Kind::PgBoss | Kind::Awa => {
                bail!("{} has a driver of its own; use run postgres", kind.name())
            }
        }
    }

    fn begin<T: Target>(&mut self, settings: &Settings, verb: Verb, folder: &Path) -> Result<()> {
        let target = self.runtime.block_on(async {
            tokio::select! {
                started = T::start(settings, folder) => started,
                () = self.stop.told() => bail!("stopped while the target was started"),
            }
        })?;
        self.on(target, verb, settings.postgres.clone())
    }

    fn on<T: Target>(&mut self, target: T, verb: Verb, url: Option<String>) -> Result<()> {
        let runtime: &Runtime = self.runtime;
        let of_target = target.waits()?;
        // An engine in this process works on the runtime it was opened on.
        let shared = matches!(of_target, Source::Engine(_)) || url.is_some();
        let strangers = Arc::new(Strangers::default());
        let maker = Messages {
            target: &target,
            runtime: shared.then(|| runtime.handle().clone()),
            queue: &self.options.queue,
            verb,
            batch: self.options.batch,
            wait: self.options.wait,
            ledger: Arc::new(Ledger::new(0, MESSAGES_MAX)),
            strangers: Arc::clone(&strangers),
            since_ns: monotonic_ns(),
        };
        runtime.block_on(maker.fill(self.options.fill, self.stop))?;
        let watched = Watched { classes: self.classes(of_target)?, url };
        let measured = self.measure(&maker, &watched);
        self.report.checks = maker.ledger.checks();
        for (count, whose) in
            [(&strangers.earlier, "by an earlier run"), (&strangers.foreign, "by others")]
        {
            let count = count.load(Ordering::Relaxed);
            if count > 0 {
                let note = format!("{} messages came that were sent {whose}", number(count as f64));
                self.report.notes.push(note);
            }
        }
        drop(watched);
        drop(maker);
        let stopped = runtime.block_on(target.stop());
        measured?;
        match stopped {
            // It may be what ended the run.
            Err(error) if self.report.incomplete.is_some() => {
                self.report.notes.push(format!("the target did not stop cleanly: {error:#}"));
                Ok(())
            }
            stopped => stopped.map(drop),
        }
    }
}

/// Host and port of a plain HTTP address.
fn host_of(address: &str) -> Result<&str> {
    let host = match address.split_once("://") {
        None => address,
        Some(("http", rest)) => rest,
        Some((scheme, _)) => bail!("--sqs takes http://host:port; {scheme}:// is not driven"),
    };
    let host = host.trim_end_matches('/');
    if host.contains('/') || !host.contains(':') {
        bail!("--sqs is {address:?}; it takes http://host:port, without a path");
    }
    Ok(host)
}
