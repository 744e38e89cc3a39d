//! A server that speaks the beanstalkd protocol: ours or the original.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use bytes::{Bytes, BytesMut};
use slipring_wire::beanstalkd::{Command, Put, Reply, TubeName};

use super::postgres::url;
use super::server::Server;
use super::{Caller, Kind, Look, Target, Wait};
use crate::body::{BODY_BYTES, Body};
use crate::process::Usage;
use crate::waits::classes::Source;
use crate::wire::beanstalkd::Connection;
use crate::workloads::Settings;

/// Reservations outlast any run.
const TIME_TO_RUN_SECONDS: u32 = 300;

/// A running server: one that was started for the run, or one at an address.
pub struct TubeServer {
    own: Option<Server>,
    address: String,
    time_to_run: u32,
}

impl TubeServer {
    /// The server that listens on `address` (host:port); it goes on after the run.
    pub fn at(address: &str) -> TubeServer {
        let (own, address) = (None, address.to_owned());
        TubeServer { own, address, time_to_run: TIME_TO_RUN_SECONDS }
    }

    /// The same, whose jobs have so many seconds to run.
    pub fn with_time_to_run(self, seconds: u32) -> TubeServer {
        TubeServer { time_to_run: seconds, ..self }
    }
}

impl Target for TubeServer {
    type Caller = TubeCaller;

    async fn start(settings: &Settings, folder: &Path) -> Result<TubeServer> {
        let server = match settings.target {
            Kind::SlipringBeanstalkd => Server::slipring(&folder.join("slipring.db"), None)?,
            Kind::PostgresServer => {
                Server::serving(url(settings)?, &folder.join("slipring.log"), None)?
            }
            Kind::Beanstalkd => Server::beanstalkd(Some((folder, Some(0)))).await?,
            Kind::BeanstalkdLate => Server::beanstalkd(Some((folder, None))).await?,
            Kind::BeanstalkdMemory => Server::beanstalkd(None).await?,
            kind => bail!("{kind:?} does not speak the beanstalkd protocol"),
        };
        let address = server.addresses().beanstalkd.clone();
        Ok(TubeServer { own: Some(server), address, time_to_run: TIME_TO_RUN_SECONDS })
    }

    async fn caller(&self, queue: &str) -> Result<TubeCaller> {
        self.caller_of(&[queue.to_owned()]).await
    }

    async fn caller_of(&self, queues: &[String]) -> Result<TubeCaller> {
        TubeCaller::open(&self.address, queues, self.time_to_run).await
    }

    fn usage(&self) -> Result<Option<Usage>> {
        self.own.as_ref().map(|server| Usage::of(server.pid())).transpose()
    }

    fn waits(&self) -> Result<Source> {
        self.own.as_ref().map_or(Ok(Source::Nothing), Server::wait_source)
    }

    async fn stop(self) -> Result<Vec<Wait>> {
        let Some(server) = self.own else { return Ok(Vec::new()) };
        let waits = server.waits()?;
        server.stop()?;
        Ok(waits)
    }
}

/// A connection that watches tubes and uses one of them after the other.
pub struct TubeCaller {
    connection: Connection,
    tubes: Vec<TubeName>,
    /// The tube of the next send.
    turn: usize,
    time_to_run: u32,
    held: Vec<u64>,
}

impl TubeCaller {
    async fn open(address: &str, queues: &[String], time_to_run: u32) -> Result<TubeCaller> {
        let mut connection = Connection::open(address).await?;
        let name =
            |text: &str| TubeName::from_bytes(text.as_bytes()).context("not the name of a tube");
        let tubes = queues.iter().map(|queue| name(queue)).collect::<Result<Vec<_>>>()?;
        connection.watch_only(&tubes).await?;
        if let [only] = tubes.as_slice() {
            connection.use_tube(only).await?;
        }
        Ok(TubeCaller { connection, tubes, turn: 0, time_to_run, held: Vec::new() })
    }
}

impl TubeCaller {
    /// The sum of a count in the statistics of its tubes, such as `current-jobs-ready`.
    ///
    /// # Errors
    /// When the server fails, or tells no such count.
    pub async fn statistic(&mut self, name: &str) -> Result<u64> {
        let mut sum = 0;
        for tube in &self.tubes {
            let text = match self.connection.call(&Command::StatsTube(tube.clone())).await? {
                Reply::Ok(text) => text,
                other => bail!("stats-tube was answered {other:?}"),
            };
            let text = std::str::from_utf8(&text).context("statistics that are no text")?;
            let mut lines = text.lines().filter_map(|line| line.split_once(": "));
            let count = lines.find(|(key, _)| *key == name).map(|(_, count)| count);
            sum += count.with_context(|| format!("statistics without {name}"))?.parse::<u64>()?;
        }
        Ok(sum)
    }

    async fn put(&mut self, bodies: &[Body], delay: u32) -> Result<()> {
        let moves = self.tubes.len() > 1;
        if moves {
            self.connection.add(&Command::Use(self.tubes[self.turn].clone()));
            self.turn = (self.turn + 1) % self.tubes.len();
        }
        let mut all: Bytes = BytesMut::from(bodies.as_flattened()).freeze();
        for _ in bodies {
            let body = all.split_to(BODY_BYTES);
            let put = Put { priority: 0, delay, time_to_run: self.time_to_run, body };
            self.connection.add(&Command::Put(put));
        }
        self.connection.flush().await?;
        if moves {
            match self.connection.reply().await? {
                Reply::Using(_) => {}
                other => bail!("use was answered {other:?}"),
            }
        }
        for _ in bodies {
            match self.connection.reply().await? {
                Reply::Inserted { .. } => {}
                other => bail!("put was answered {other:?}"),
            }
        }
        Ok(())
    }
}

impl Caller for TubeCaller {
    async fn send(&mut self, bodies: &[Body]) -> Result<()> {
        self.put(bodies, 0).await
    }

    /// Delays by the wire are of whole seconds; they are never shorter than `delay`.
    async fn send_delayed(&mut self, bodies: &[Body], delay: Duration) -> Result<()> {
        let seconds = delay.as_nanos().div_ceil(1_000_000_000);
        self.put(bodies, u32::try_from(seconds).context("a delay beyond 2^32 seconds")?).await
    }

    async fn receive(&mut self, up_to: usize, wait: Duration, look: Look<'_>) -> Result<usize> {
        let seconds = u32::try_from(wait.as_secs()).context("a wait beyond 2^32 seconds")?;
        for _ in 0..up_to {
            self.connection.add(&Command::ReserveWithTimeout { seconds });
        }
        self.connection.flush().await?;
        let mut count = 0;
        for _ in 0..up_to {
            match self.connection.reply().await? {
                Reply::Reserved { id, body } => {
                    look(&body)?;
                    self.held.push(id);
                    count += 1;
                }
                Reply::TimedOut => {}
                other => bail!("reserve was answered {other:?}"),
            }
        }
        Ok(count)
    }

    async fn ack(&mut self) -> Result<()> {
        for id in &self.held {
            self.connection.add(&Command::Delete { id: *id });
        }
        self.connection.flush().await?;
        for id in self.held.drain(..) {
            match self.connection.reply().await? {
                Reply::Deleted => {}
                other => bail!("delete {id} was answered {other:?}"),
            }
        }
        Ok(())
    }

    async fn ack_but(&mut self, failed: &[usize]) -> Result<()> {
        for (at, id) in self.held.iter().enumerate() {
            self.connection.add(&match failed.contains(&at) {
                true => Command::Release { id: *id, priority: 0, delay: 0 },
                false => Command::Delete { id: *id },
            });
        }
        self.connection.flush().await?;
        for (at, id) in self.held.drain(..).enumerate() {
            match (self.connection.reply().await?, failed.contains(&at)) {
                (Reply::Deleted, false) | (Reply::Released, true) => {}
                (other, _) => bail!("delete or release {id} was answered {other:?}"),
            }
        }
        Ok(())
    }

    async fn is_cut(&mut self) -> bool {
        self.connection.is_cut()
    }

    async fn leased(&mut self) -> Result<Option<u64>> {
        self.statistic("current-jobs-reserved").await.map(Some)
    }
}
