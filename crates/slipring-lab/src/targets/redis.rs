//! Redis: a stream with one consumer group, in a server whose log is flushed before each answer.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use redis::aio::MultiplexedConnection;
use redis::io::tcp::TcpSettings;
use redis::{AsyncConnectionConfig, Client, IntoConnectionInfo};

use super::server::free_address;
use super::{Caller, Look, Target, Wait};
use crate::body::Body;
use crate::guarded::Guarded;
use crate::machine;
use crate::process::Usage;
use crate::programs;
use crate::workloads::Settings;

/// The server, and the package that Debian keeps it in.
pub const PROGRAM: &str = "redis-server";
/// Debian's package.
pub const PACKAGE: &str = "redis-server";

/// Each command that changes something is in the log, and on the disk, before it is answered. What
/// came in together is flushed together. There are no snapshots besides.
const SETTINGS: [&str; 8] = [
    "--bind",
    "127.0.0.1",
    "--appendonly",
    "yes",
    "--appendfsync",
    "always",
    "--save",
    "", // Never.
];

/// The one consumer group of each stream.
const GROUP: &str = "lab";
/// The one field of each entry.
const FIELD: &str = "body";

/// What the installed server is.
///
/// # Errors
/// When it is not installed.
pub fn version() -> Result<String> {
    let program = programs::find(PROGRAM).context("there is no redis-server")?;
    let said = machine::version_of(&program.display().to_string(), "--version");
    let number = said.split_whitespace().find_map(|word| word.strip_prefix("v="));
    Ok(format!("Redis {}", number.unwrap_or("?")))
}

/// A running server.
pub struct Redis {
    server: Guarded,
    client: Client,
    callers: AtomicU64,
}

impl Target for Redis {
    type Caller = RedisCaller;

    async fn start(_: &Settings, folder: &Path) -> Result<Redis> {
        let missing = || format!("redis-server is not installed; on Debian: {PACKAGE}");
        let address = free_address()?;
        let port = address.rsplit(':').next().unwrap_or_default();
        let mut command = Command::new(programs::find(PROGRAM).with_context(missing)?);
        command.args(["--port", port]).args(SETTINGS).arg("--dir").arg(folder);
        let mut server = Guarded::start("Redis", command, &folder.join("redis.log"), None)?;
        let plain = format!("redis://{address}/").into_connection_info()?;
        let client =
            Client::open(plain.set_tcp_settings(TcpSettings::default().set_nodelay(true)))?;
        let look = || async { connect(&client).await.map(drop) };
        server.until_ready(look).await?;
        Ok(Redis { server, client, callers: AtomicU64::new(0) })
    }

    /// Each caller has a connection of its own, since a receive that waits occupies it.
    async fn caller(&self, queue: &str) -> Result<RedisCaller> {
        let mut connection = connect(&self.client).await?;
        let mut create = redis::cmd("XGROUP");
        create.arg("CREATE").arg(queue).arg(GROUP).arg("0").arg("MKSTREAM");
        match create.exec_async(&mut connection).await {
            Err(error) if error.code() != Some("BUSYGROUP") => {
                return Err(error).context("making a stream");
            }
            _ => {}
        }
        let number = self.callers.fetch_add(1, Ordering::Relaxed);
        let consumer = format!("caller-{number}");
        Ok(RedisCaller { connection, queue: queue.to_owned(), consumer, held: Vec::new() })
    }

    fn usage(&self) -> Result<Option<Usage>> {
        Usage::of(self.server.pid()).map(Some)
    }

    async fn stop(self) -> Result<Vec<Wait>> {
        self.server.stop()?;
        Ok(Vec::new())
    }
}

/// A connection without a time limit on answers: receives wait as long as they are told to.
async fn connect(client: &Client) -> Result<MultiplexedConnection> {
    let config = AsyncConnectionConfig::new().set_response_timeout(None);
    let connection = client.get_multiplexed_async_connection_with_config(&config).await;
    connection.context("connecting to Redis")
}

/// A connection with a consumer's name.
pub struct RedisCaller {
    connection: MultiplexedConnection,
    queue: String,
    consumer: String,
    held: Vec<String>,
}

/// What XREADGROUP answers: for each stream its name and its entries, each with one field.
type Read = Option<Vec<(String, Vec<(String, (String, Vec<u8>))>)>>;

impl Caller for RedisCaller {
    async fn send(&mut self, bodies: &[Body]) -> Result<()> {
        let mut pipe = redis::pipe();
        for body in bodies {
            pipe.cmd("XADD").arg(&self.queue).arg("*").arg(FIELD).arg(body);
        }
        let ids: Vec<String> = pipe.query_async(&mut self.connection).await?;
        if ids.len() != bodies.len() {
            bail!("{} of {} messages were taken", ids.len(), bodies.len());
        }
        Ok(())
    }

    async fn receive(&mut self, up_to: usize, wait: Duration, look: Look<'_>) -> Result<usize> {
        let mut read = redis::cmd("XREADGROUP");
        read.arg("GROUP").arg(GROUP).arg(&self.consumer).arg("COUNT").arg(up_to);
        // A block of 0 would wait for ever.
        if !wait.is_zero() {
            read.arg("BLOCK").arg(u64::try_from(wait.as_millis())?);
        }
        read.arg("STREAMS").arg(&self.queue).arg(">");
        let answer: Read = read.query_async(&mut self.connection).await?;
        let before = self.held.len();
        for (id, (_, body)) in answer.into_iter().flatten().flat_map(|(_, entries)| entries) {
            look(&body)?;
            self.held.push(id);
        }
        Ok(self.held.len() - before)
    }

    /// Acked and removed at once: an ack alone leaves the entry in the stream.
    async fn ack(&mut self) -> Result<()> {
        if self.held.is_empty() {
            return Ok(());
        }
        let mut pipe = redis::pipe();
        pipe.atomic();
        pipe.cmd("XACK").arg(&self.queue).arg(GROUP).arg(&self.held);
        pipe.cmd("XDEL").arg(&self.queue).arg(&self.held);
        let counts: (usize, usize) = pipe.query_async(&mut self.connection).await?;
        let held = self.held.len();
        self.held.clear();
        if counts != (held, held) {
            bail!("of {held} messages {} were acked and {} removed", counts.0, counts.1);
        }
        Ok(())
    }

    async fn count(&mut self) -> Result<Option<u64>> {
        let mut length = redis::cmd("XLEN");
        Ok(Some(length.arg(&self.queue).query_async(&mut self.connection).await?))
    }
}
