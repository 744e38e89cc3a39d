//! What can be driven: its name, its durability, its way.

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::postgres::{connect, version};
use super::{nats, rabbitmq, redis};
use crate::machine;
use crate::peers::{Peer, install};

/// What can be driven, by the name used on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A plain file: append, then fdatasync.
    RawFile,
    /// A plain rusqlite loop: WAL, synchronous=FULL.
    RawSqlite,
    /// Our engine over the SQLite store, in this process.
    Store,
    /// Our engine over the in-memory store, in this process.
    Memory,
    /// Our server by the beanstalkd protocol.
    SlipringBeanstalkd,
    /// Our server by the SQS protocol.
    SlipringSqs,
    /// Our server over the in-memory store, by the SQS protocol.
    SlipringSqsMemory,
    /// The original with a log that is flushed at each write (`-b DIR -f 0`).
    Beanstalkd,
    /// The original with a log that is flushed every 50 ms, which is its default (`-b DIR`).
    BeanstalkdLate,
    /// The original without a log.
    BeanstalkdMemory,
    /// Our engine over the PostgreSQL store, in this process.
    Postgres,
    /// Our server over the PostgreSQL store, by the beanstalkd protocol.
    PostgresServer,
    /// Our functions for users of SQL, with an engine beside them.
    Sql,
    /// PostgreSQL: COPY into a table without an index.
    PgCopy,
    /// PostgreSQL: COPY into a table with a primary key.
    PgCopyIndexed,
    /// PostgreSQL: multi-row INSERT into a table without an index.
    PgInsert,
    /// PostgreSQL: multi-row INSERT into a table with a primary key.
    PgInsertIndexed,
    /// PostgreSQL: an INSERT inside a function, for single sends in transactions only.
    PgInsertByFunction,
    /// PostgreSQL: a table claimed with SKIP LOCKED.
    SkipLocked,
    /// PostgreSQL: pgmq's functions.
    Pgmq,
    /// PostgreSQL: PgQ's functions.
    Pgq,
    /// PostgreSQL: graphile-worker, by a driver of its own.
    GraphileWorker,
    /// PostgreSQL: River, by a driver of its own.
    River,
    /// PostgreSQL: pg-boss, by a driver of its own.
    PgBoss,
    /// PostgreSQL: awa, by a driver of its own.
    Awa,
    /// moto's server, by the SQS protocol.
    Moto,
    /// ElasticMQ, by the SQS protocol.
    Elasticmq,
    /// ElasticMQ with its messages in a file of H2, by the SQS protocol.
    ElasticmqFile,
    /// Redis: a stream with a consumer group.
    Redis,
    /// NATS JetStream: a work-queue stream.
    Nats,
    /// RabbitMQ: a quorum queue.
    #[serde(rename = "rabbitmq")]
    #[value(name = "rabbitmq")]
    RabbitMq,
}

impl Kind {
    /// What an acknowledged send has survived, for the report.
    pub fn durability(self) -> &'static str {
        match self {
            Kind::RawFile => "fdatasync per batch",
            Kind::RawSqlite => "WAL, synchronous=FULL",
            Kind::Store | Kind::SlipringBeanstalkd | Kind::SlipringSqs => "full",
            Kind::Beanstalkd => "-b DIR -f 0",
            Kind::BeanstalkdLate => "-b DIR: flushed every 50 ms",
            Kind::ElasticmqFile => "kill -9 loses what was sent in the last 0.5 s",
            Kind::Redis => "appendonly, appendfsync=always: flushed before each answer, acks too",
            Kind::Nats => "sync_interval=always: flushed before each answer, acks too",
            Kind::RabbitMq => {
                "quorum queue of one node: its log is flushed before each confirm; acks are not \
                 answered"
            }
            _ if self.in_postgres() => "synchronous_commit=on",
            _ => "none",
        }
    }

    /// Whether load and target are threads of one process.
    pub fn in_process(self) -> bool {
        matches!(self, Kind::RawFile | Kind::RawSqlite | Kind::Store | Kind::Memory)
    }

    /// Whether the load is a client of PostgreSQL. Such a client turns rows into bytes and back,
    /// and one thread of it would be the limit.
    pub fn in_postgres(self) -> bool {
        matches!(
            self,
            Kind::Postgres
                | Kind::PostgresServer
                | Kind::Sql
                | Kind::PgCopy
                | Kind::PgCopyIndexed
                | Kind::PgInsert
                | Kind::PgInsertIndexed
                | Kind::PgInsertByFunction
                | Kind::SkipLocked
                | Kind::Pgmq
                | Kind::Pgq
                | Kind::GraphileWorker
                | Kind::River
                | Kind::PgBoss
                | Kind::Awa
        )
    }

    /// Whether it comes from elsewhere: then it may be absent, and its trouble is not ours.
    pub fn is_foreign(self) -> bool {
        self.peer().is_some() || self.is_beanstalkd()
    }

    /// Whether it is the original of the beanstalkd protocol.
    fn is_beanstalkd(self) -> bool {
        matches!(self, Kind::Beanstalkd | Kind::BeanstalkdLate | Kind::BeanstalkdMemory)
    }

    /// Whether it is ours.
    pub fn is_ours(self) -> bool {
        matches!(
            self,
            Kind::Store
                | Kind::Memory
                | Kind::SlipringBeanstalkd
                | Kind::SlipringSqs
                | Kind::SlipringSqsMemory
                | Kind::Postgres
                | Kind::PostgresServer
                | Kind::Sql
        )
    }

    /// The peer that it is, which has to be installed.
    pub fn peer(self) -> Option<Peer> {
        match self {
            Kind::ElasticmqFile => Some(Peer::Elasticmq),
            kind => Peer::ALL.iter().copied().find(|peer| peer.kind() == kind),
        }
    }

    /// Whether a program of its own drives it, in the language of its library.
    pub fn has_driver(self) -> bool {
        matches!(self, Kind::GraphileWorker | Kind::River | Kind::PgBoss | Kind::Awa)
    }

    /// Its name on the command line.
    pub fn name(self) -> String {
        let value = clap::ValueEnum::to_possible_value(&self);
        value.map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// By which calls and settings it is driven here; peers with a driver of their own say it
    /// themselves.
    pub fn how(self) -> &'static str {
        match self {
            Kind::RawFile => "append and fdatasync",
            Kind::RawSqlite => "a bare rusqlite loop over a table of bodies",
            Kind::Store => "the engine in-process over slipring-sqlite",
            Kind::Memory => "the engine in-process over the in-memory store",
            Kind::SlipringBeanstalkd => "slipring serve over a file, by the beanstalkd protocol",
            Kind::SlipringSqs => "slipring serve over a file, by the SQS protocol",
            Kind::SlipringSqsMemory => "slipring serve in memory, by the SQS protocol",
            Kind::Beanstalkd | Kind::BeanstalkdLate => "the original server by the same protocol",
            Kind::BeanstalkdMemory => "the original server by the same protocol, keeping nothing",
            Kind::Postgres => "the engine in-process over slipring-postgres",
            Kind::PostgresServer => {
                "slipring serve over slipring-postgres, by the beanstalkd protocol"
            }
            Kind::Sql => "slipring.send, send_batch, receive, ack, one connection per caller",
            Kind::PgCopy => "binary COPY into a table without an index",
            Kind::PgCopyIndexed => "binary COPY into a table with a primary key",
            Kind::PgInsert => "INSERT … SELECT unnest into a table without an index",
            Kind::PgInsertIndexed => {
                "INSERT … SELECT unnest into a table with a primary key; single: a prepared INSERT"
            }
            Kind::PgInsertByFunction => {
                "the prepared INSERT inside a PL/pgSQL function of its owner's"
            }
            Kind::SkipLocked => "UPDATE … FOR UPDATE SKIP LOCKED, DELETE; batched, two indexes",
            Kind::Pgmq => "send_batch, read_with_poll, delete of arrays",
            Kind::Pgq => "insert_event by unnest, next_batch, finish_batch; no outcome per message",
            Kind::Moto => "moto_server by the same protocol; it closes after each answer",
            Kind::Elasticmq => "the server by the same protocol, with Java's defaults",
            Kind::ElasticmqFile => "as before, with messages-storage in a file of H2",
            Kind::Redis => {
                "XADD pipelined; XREADGROUP COUNT BLOCK; XACK and XDEL in one MULTI; a connection \
                 per caller"
            }
            Kind::Nats => {
                "a work-queue stream; batches by atomic publish, single messages with their ack; \
                 a pull consumer, acks answered one by one, pipelined; one connection for all \
                 callers"
            }
            Kind::RabbitMq => {
                "persistent messages with publisher confirms; a consumer with a prefetch of a \
                 batch, acked up to the last; two connections, a channel of each per caller"
            }
            Kind::GraphileWorker | Kind::River | Kind::PgBoss | Kind::Awa => "",
        }
    }

    /// The version of the target; of one inside PostgreSQL that has none of its own, the version
    /// of the PostgreSQL at this address.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn version(self, postgres: Option<&str>) -> Result<String> {
        match self {
            _ if self.is_ours() => Ok(format!("slipring {}", env!("CARGO_PKG_VERSION"))),
            kind if kind.is_beanstalkd() => Ok(machine::version_of("beanstalkd", "-v")),
            Kind::RawSqlite => Ok(format!("SQLite {}", rusqlite::version())),
            Kind::Moto => Ok(install::moto()?.version.unwrap_or_default()),
            Kind::Elasticmq | Kind::ElasticmqFile => {
                Ok(install::elasticmq()?.version.unwrap_or_default())
            }
            Kind::Redis => redis::version(),
            Kind::Nats => nats::version(),
            Kind::RabbitMq => rabbitmq::version(),
            Kind::Pgq => {
                let client = connect(postgres.unwrap_or_default()).await?;
                let row = client.query_one("SELECT pgq.version()", &[]).await?;
                Ok(format!("PgQ {}", row.try_get::<_, String>(0)?))
            }
            _ if self.in_postgres() => version(&connect(postgres.unwrap_or_default()).await?).await,
            _ => Ok(String::new()),
        }
    }
}
