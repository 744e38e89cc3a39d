//! A worker process that holds jobs, the one that is stopped or killed, and who takes over.

use std::collections::HashSet;
use std::io::Read;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use nix::sys::signal::Signal;
use slipring_wire::beanstalkd::{Command, Put, Reply, TubeName};

use super::stage::Stage;
use crate::child::Group;
use crate::targets::{Caller, Target};
use crate::wire::beanstalkd::Connection;

/// The tube whose jobs the worker holds.
const TUBE: &str = "held";
/// Puts in flight.
const IN_FLIGHT: usize = 500;
/// For all that must come.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// What a worker process is told.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Where the server listens.
    #[arg(long)]
    address: String,
    /// How many jobs it reserves.
    #[arg(long)]
    count: usize,
}

/// Reserves jobs and holds them until its input ends; then deletes them, and prints how many of
/// them it could delete.
///
/// # Errors
/// When the server does not answer as it must.
pub fn run(options: &Options) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let deleted = runtime.block_on(async {
        let mut connection = watching(&options.address).await?;
        let ids = reserve(&mut connection, options.count).await?;
        std::io::stdin().read_to_end(&mut Vec::new()).context("waiting for the end of input")?;
        delete(&mut connection, &ids).await
    })?;
    println!("{deleted}");
    Ok(())
}

fn tube() -> Result<TubeName> {
    TubeName::from_bytes(TUBE.as_bytes()).context("not the name of a tube")
}

async fn watching(address: &str) -> Result<Connection> {
    let mut connection = Connection::open(address).await?;
    connection.watch_only(&[tube()?]).await?;
    Ok(connection)
}

/// Reserves so many jobs, one after the other; answers their ids.
async fn reserve(connection: &mut Connection, count: usize) -> Result<Vec<u64>> {
    let mut ids = Vec::with_capacity(count);
    for _ in 0..count {
        match connection.call(&Command::ReserveWithTimeout { seconds: 1 }).await? {
            Reply::Reserved { id, .. } => ids.push(id),
            other => bail!("reserve was answered {other:?}"),
        }
    }
    Ok(ids)
}

/// Deletes jobs; answers how many there were to delete.
async fn delete(connection: &mut Connection, ids: &[u64]) -> Result<usize> {
    ids.iter().for_each(|id| connection.add(&Command::Delete { id: *id }));
    connection.flush().await?;
    let mut deleted = 0;
    for id in ids {
        match connection.reply().await? {
            Reply::Deleted => deleted += 1,
            Reply::NotFound => {}
            other => bail!("delete {id} was answered {other:?}"),
        }
    }
    Ok(deleted)
}

/// Puts jobs for the worker, which it may hold for so many seconds.
///
/// # Errors
/// When the server does not take them.
pub async fn put(stage: &Stage<'_>, count: usize, time_to_run: u32) -> Result<()> {
    let mut connection = Connection::open(&stage.addresses().beanstalkd).await?;
    connection.use_tube(&tube()?).await?;
    let numbers: Vec<usize> = (0..count).collect();
    for some in numbers.chunks(IN_FLIGHT) {
        for number in some {
            let body = Bytes::from(number.to_string());
            connection.add(&Command::Put(Put { priority: 0, delay: 0, time_to_run, body }));
        }
        connection.flush().await?;
        for _ in some {
            match connection.reply().await? {
                Reply::Inserted { .. } => {}
                other => bail!("put was answered {other:?}"),
            }
        }
    }
    Ok(())
}

/// A worker process.
pub struct Worker(Group);

impl Worker {
    /// Starts one, and waits until it holds so many jobs.
    ///
    /// # Errors
    /// When it does not hold them in time.
    pub async fn start(stage: &Stage<'_>, count: usize) -> Result<Worker> {
        let address = stage.addresses().beanstalkd.clone();
        let arguments = ["badday-worker", "--address", &address, "--count", &count.to_string()];
        let worker = Group::start(&arguments.map(str::to_owned))?;
        let mut looker = stage.tubes().caller(TUBE).await?;
        let deadline = Instant::now() + PATIENCE;
        while looker.leased().await? != Some(count as u64) {
            if Instant::now() > deadline {
                bail!("a worker did not hold its {count} jobs within {PATIENCE:?}");
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        Ok(Worker(worker))
    }

    /// Stops it with SIGSTOP.
    ///
    /// # Errors
    /// When it is gone.
    pub fn pause(&self) -> Result<()> {
        self.0.signal(Signal::SIGSTOP)
    }

    /// Lets it go on.
    ///
    /// # Errors
    /// When it is gone.
    pub fn go_on(&self) -> Result<()> {
        self.0.signal(Signal::SIGCONT)
    }

    /// Has it delete what it holds; answers how many jobs it could delete. Blocks.
    ///
    /// # Errors
    /// When it fails.
    pub fn finish(mut self) -> Result<u64> {
        self.0.close_stdin();
        let told = self.0.finish(PATIENCE)?;
        told.trim().parse().with_context(|| format!("a worker said {told:?}"))
    }
}

/// Receives and deletes what the worker held, until all of it has come; answers how long that
/// took, and how many came twice.
///
/// # Errors
/// When some of it does not come in time.
pub async fn take_over(
    stage: &Stage<'_>,
    count: usize,
    within: Duration,
) -> Result<(Duration, usize)> {
    let (begun, mut again) = (Instant::now(), 0);
    let mut connection = watching(&stage.addresses().beanstalkd).await?;
    let mut seen = HashSet::with_capacity(count);
    while seen.len() < count {
        if begun.elapsed() > within {
            bail!("{} of {count} held jobs came back within {within:?}", seen.len());
        }
        let ids = match connection.call(&Command::ReserveWithTimeout { seconds: 1 }).await? {
            Reply::Reserved { id, body } => {
                again += usize::from(!seen.insert(body));
                vec![id]
            }
            Reply::TimedOut | Reply::DeadlineSoon => continue,
            other => bail!("reserve was answered {other:?}"),
        };
        if delete(&mut connection, &ids).await? != 1 {
            bail!("a job that was just reserved could not be deleted");
        }
    }
    Ok((begun.elapsed(), again))
}
