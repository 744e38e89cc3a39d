//! One phase: a crowd of hostile connections comes, stays for a while and leaves, beside the good
//! clients.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result};

use super::attack::{Attack, Listener};
use super::crowd::{self, Seen};
use super::good::{self, Course, Tally};
use crate::child::Group;
use crate::interrupt::Interrupt;
use crate::process::{Usage, ended_children_cpu_seconds, machine_cpu_seconds};
use crate::time::monotonic_ns;

/// The most connections of one process of a crowd.
const OF_A_PROCESS: usize = 9_000;
/// A crowd that has not ended so long after its time is a fault.
const LATE: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Open files are counted at one of so many looks: it is work that the server notices.
const FILES_EVERY: usize = 10;
/// A server is as before when so many sends in a row at each listener are answered within this.
const SERVED_WITHIN: Duration = Duration::from_millis(100);
const SERVED_TIMES: usize = 10;
/// A recovery is given up after so long.
const RECOVERY_MAX: Duration = Duration::from_secs(30);

/// What is attacked, and how.
pub struct Scene<'a> {
    /// Where the server listens.
    pub at: &'a [(Listener, SocketAddr)],
    /// Its process.
    pub pid: u32,
    /// How many hostile connections there are.
    pub connections: usize,
    /// For how long.
    pub length: Duration,
    /// Whether the run is to end.
    pub interrupt: &'a Interrupt,
}

/// What was seen in a phase.
pub struct Phase {
    /// The attack.
    pub attack: Attack,
    /// What became of the crowd.
    pub crowd: Seen,
    /// The most resident memory of the server, in megabytes of a million bytes.
    pub resident_mb: f64,
    /// The most files that the server had open.
    pub files: usize,
    /// Processor time of the server, in seconds.
    pub cpu_s: f64,
    /// What programs that take no part used meanwhile, in percent of one processor.
    pub others_percent: f64,
    /// The good clients that stay.
    pub staying: Vec<Tally>,
    /// Those that come anew for each send.
    pub anew: Vec<Tally>,
    /// How many sends of theirs were answered.
    pub answered: u64,
    /// From the end of the crowd until all listeners serve as before.
    pub recovery: Duration,
}

/// Processor time in seconds.
struct Used {
    machine: f64,
    /// Of this process, and of the crowds that have ended.
    here: f64,
}

impl Used {
    fn so_far() -> Result<Used> {
        let crowds = ended_children_cpu_seconds(std::process::id())?;
        Ok(Used { machine: machine_cpu_seconds()?, here: Usage::own()?.cpu_seconds + crowds })
    }

    /// What was used elsewhere since a moment before.
    fn others_since(&self, before: &Used) -> f64 {
        (self.machine - before.machine) - (self.here - before.here)
    }
}

/// Runs one phase.
///
/// # Errors
/// When a process does not start or fails, or the server is gone.
pub async fn run(attack: Attack, scene: &Scene<'_>) -> Result<Phase> {
    let course = Course::default();
    let good = std::thread::Builder::new().name("good".to_owned()).spawn({
        // A thread of their own: what is measured here delays no send.
        let (course, at) = (course.clone(), scene.at.to_vec());
        move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(course.all(&at))
        }
    })?;
    let (before, began, used) = (Usage::of(scene.pid)?, monotonic_ns(), Used::so_far()?);
    let watched = watched(attack, scene).await;
    course.end();
    let (crowd, resident_bytes, files) = watched?;
    let cpu_s = Usage::of(scene.pid)?.cpu_seconds - before.cpu_seconds;
    let others_s = Used::so_far()?.others_since(&used) - cpu_s;
    let others_percent = 100.0 * others_s.max(0.0) / ((monotonic_ns() - began) as f64 / 1e9);
    let recovery = good::recovery(scene.at, SERVED_WITHIN, SERVED_TIMES, RECOVERY_MAX).await;
    let tallies = good.join().map_err(|_| anyhow::anyhow!("the good clients panicked"))?;
    let (staying, anew) = tallies.context("the good clients")?;
    let answered = course.answered.load(std::sync::atomic::Ordering::SeqCst);
    let resident_mb = resident_bytes as f64 / 1e6;
    Ok(Phase {
        attack,
        crowd,
        resident_mb,
        files,
        cpu_s,
        others_percent,
        staying,
        anew,
        answered,
        recovery,
    })
}

/// Lets the crowd come and leave, and looks at the server meanwhile: its most resident memory in
/// bytes, and its most open files.
async fn watched(attack: Attack, scene: &Scene<'_>) -> Result<(Seen, u64, usize)> {
    let address = scene.at.iter().find(|(listener, _)| *listener == attack.listener);
    let (_, address) = address.context("the server does not listen there")?;
    let mut left = scene.connections;
    let mut ends = Vec::new();
    while left > 0 {
        let connections = left.min(OF_A_PROCESS).min(crowd::connections_max()?);
        left -= connections;
        let mut arguments = vec!["hostile-crowd".to_owned()];
        arguments.extend(crowd::Options::arguments(attack, *address, connections, scene.length));
        let (group, limit) = (Group::start_last(&arguments)?, scene.length + LATE);
        let interrupt = scene.interrupt.clone();
        ends.push(tokio::task::spawn_blocking(move || {
            group.finish_unless(limit, || interrupt.came())
        }));
    }
    let mut all = std::pin::pin!(futures::future::join_all(ends));
    let (mut resident_bytes, mut files, mut looks) = (0, 0, 0);
    let ended = loop {
        tokio::select! {
            ended = all.as_mut() => break ended,
            () = tokio::time::sleep(LOOK_EVERY) => {
                resident_bytes = resident_bytes.max(Usage::of(scene.pid)?.resident_bytes);
                if looks % FILES_EVERY == 0 {
                    files = files.max(open_files(scene.pid)?);
                }
                looks += 1;
            }
        }
    };
    let mut seen = Seen::default();
    for printed in ended {
        let printed = printed.context("waiting for a crowd")??;
        seen = seen.and(serde_json::from_str(&printed).context("what a crowd printed")?);
    }
    Ok((seen, resident_bytes, files))
}

fn open_files(pid: u32) -> Result<usize> {
    let files = std::fs::read_dir(format!("/proc/{pid}/fd"));
    Ok(files.context("looking at the open files of the server")?.count())
}
