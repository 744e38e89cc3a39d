//! The wall clock of the server's machine is stepped two hours ahead, then two hours behind, while
//! delays and reservations are open.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use slipring_wire::beanstalkd::{Command, Put, Reply, TubeName};

use crate::badday::day::{About, Day, SINGLE, TUBES};
use crate::badday::stage::Stage;
use crate::run::condition::Condition;
use crate::wire::beanstalkd::Connection;

/// Its name on the command line.
pub const NAME: &str = "clock-step";
/// The steps, in seconds from the machine's clock.
const STEPS: [(&str, i64); 2] = [("ahead", 7200), ("back", -7200)];
const TUBE: &str = "stepped";
/// So many seconds later than its time a job counts as not come; in a smoke run, so many.
const LATE_S: u64 = 1;
const LATE_SMOKE_S: u64 = 30;
/// Between two looks for a job.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// For a job that is not ended by a step.
const LONG_SECONDS: u32 = 300;

/// See the file's head.
#[derive(Default)]
pub struct ClockStep {
    steps: Vec<Seen>,
}

/// What became of the jobs of one step.
struct Seen {
    name: &'static str,
    /// From the moment before the first job was sent, or reserved, to the first that came.
    first_s: f64,
    in_time: usize,
}

fn late_s(stage: &Stage<'_>) -> u64 {
    if stage.smoke { LATE_SMOKE_S } else { LATE_S }
}

/// Jobs of each kind, and the seconds of their delay and of their reservation.
fn jobs(stage: &Stage<'_>) -> (usize, u32) {
    if stage.smoke { (20, 1) } else { (200, 3) }
}

impl Day for ClockStep {
    const ABOUT: About = About {
        name: NAME,
        what: "the wall clock is stepped two hours ahead, then behind, under delays and leases",
        contenders: TUBES,
        stall_ms_max: 250.0,
        recovery_s_max: 2.0,
        load: SINGLE,
    };

    async fn strike(&mut self, stage: &mut Stage<'_>) -> Result<()> {
        for (name, seconds) in STEPS {
            let seen = step(stage, name, seconds).await?;
            self.steps.push(seen);
        }
        Ok(())
    }

    async fn relent(&mut self, stage: &mut Stage<'_>) -> Result<()> {
        stage.clock.as_ref().context("the target has no clock of its own")?.step(0)
    }

    async fn check(&mut self, stage: &mut Stage<'_>) -> Result<Vec<Condition>> {
        let ((count, seconds), late_s) = (jobs(stage), late_s(stage));
        let mut conditions = Vec::new();
        for Seen { name, first_s, in_time } in &self.steps {
            let first = format!("stepped {name}: first delay or reservation over after");
            conditions.push(Condition::at_least(first, "s", *first_s, f64::from(seconds)));
            let come = format!("stepped {name}: jobs that came within {late_s} s of their time");
            let all = 2 * count;
            conditions.push(Condition::at_least(come, "jobs", *in_time as f64, all as f64));
        }
        Ok(conditions)
    }
}

/// Opens delays and reservations, steps the clock, and sees when they are over.
async fn step(stage: &Stage<'_>, name: &'static str, offset: i64) -> Result<Seen> {
    let (count, seconds) = jobs(stage);
    let address = &stage.addresses().beanstalkd;
    // Each step has a tube of its own: what did not come in time does not come into the next.
    let tube = TubeName::from_bytes(format!("{TUBE}-{name}").as_bytes())?;
    let (mut holder, mut taker) =
        (watching(address, &tube).await?, watching(address, &tube).await?);
    put(&mut holder, count, 0, seconds).await?;
    let begun = Instant::now();
    for _ in 0..count {
        match holder.call(&Command::ReserveWithTimeout { seconds: 1 }).await? {
            Reply::Reserved { .. } => {}
            other => bail!("reserve was answered {other:?}"),
        }
    }
    put(&mut holder, count, seconds, LONG_SECONDS).await?;
    let open = Instant::now();
    stage.clock.as_ref().context("the target has no clock of its own")?.step(offset)?;
    let until = open + Duration::from_secs(u64::from(seconds) + late_s(stage));
    let (mut first_s, mut in_time) = (f64::NAN, 0);
    while in_time < 2 * count && Instant::now() < until {
        // A wait of the server's would itself depend on its clock.
        match taker.call(&Command::ReserveWithTimeout { seconds: 0 }).await? {
            Reply::Reserved { id, .. } => {
                if in_time == 0 {
                    first_s = begun.elapsed().as_secs_f64();
                }
                in_time += 1;
                taker.call(&Command::Delete { id }).await?;
            }
            Reply::TimedOut | Reply::DeadlineSoon => tokio::time::sleep(LOOK_EVERY).await,
            other => bail!("reserve was answered {other:?}"),
        }
    }
    Ok(Seen { name, first_s, in_time })
}

async fn watching(address: &str, tube: &TubeName) -> Result<Connection> {
    let mut connection = Connection::open(address).await?;
    connection.use_tube(tube).await?;
    connection.watch_only(std::slice::from_ref(tube)).await?;
    Ok(connection)
}

/// Puts so many jobs with a delay and a time to run, in seconds.
async fn put(
    connection: &mut Connection,
    count: usize,
    delay: u32,
    time_to_run: u32,
) -> Result<()> {
    for number in 0..count {
        let body = Bytes::from(number.to_string());
        connection.add(&Command::Put(Put { priority: 0, delay, time_to_run, body }));
    }
    connection.flush().await?;
    for _ in 0..count {
        match connection.reply().await? {
            Reply::Inserted { .. } => {}
            other => bail!("put was answered {other:?}"),
        }
    }
    Ok(())
}
