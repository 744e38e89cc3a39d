//! `badday`: one participant misbehaves, and everybody else is measured: rate, P99 and longest
//! stall by time, in a calm phase, a fault and a recovery, with a loss checker at the end.

mod account;
mod admin;
mod day;
mod days;
mod frame;
mod meter;
mod open;
mod others;
mod phase;
mod receiver;
mod report;
mod stage;
#[cfg(test)]
mod tests;
mod wall_clock;
pub mod worker;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use self::day::{About, Day};
use self::days::{clock_step, full_disk};
use self::frame::Turn;
use self::phase::Lengths;
use self::stage::{Own, Sizes, Stage};
use crate::crash::disk::Disk;
use crate::findings::Findings;
use crate::folder;
use crate::interrupt::Interrupt;
use crate::run::cluster::Cluster;
use crate::targets::{Kind, server};
use crate::{time, workloads};

/// Which day is run, and what becomes of it.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Its name, `all` for each in turn, or `list` for their names.
    name: String,
    /// Tiny sizes, and only ours where no contender is named; the figures mean nothing, and no
    /// limit on a time is a check.
    #[arg(long)]
    smoke: bool,
    /// Seconds of each phase; by default 10. A fault that takes longer makes its phase longer.
    #[arg(long)]
    seconds: Option<f64>,
    /// Only contenders whose name has one of these in it.
    #[arg(long)]
    contender: Vec<String>,
    /// Repeats the choices of an earlier run; kept with each.
    #[arg(long)]
    seed: Option<u64>,
    /// Keep tables, plots and raw data in a dated folder inside this one; otherwise they go to
    /// target/lab, into a folder of the day's name.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Fail when a check is missed.
    #[arg(long)]
    strict: bool,
    /// Where this process may mount the small disk of `full-disk`: it was started for that.
    #[arg(long, hide = true)]
    may_mount: bool,
}

impl Options {
    /// Runs `full-disk` in a process of its own that may mount.
    fn on_small_disk(&self, seed: u64) -> Result<()> {
        let Some(mut space) = Disk::name_space() else {
            println!("SKIPPED {}: this system lets users mount none", full_disk::NAME);
            return Ok(());
        };
        space.arg(std::env::current_exe().context("finding this program")?);
        space.args(["badday", full_disk::NAME, "--may-mount", "--seed", &seed.to_string()]);
        let given = [("--smoke", self.smoke), ("--strict", self.strict)];
        space.args(given.into_iter().filter(|(_, given)| *given).map(|(flag, _)| flag));
        space.args(self.seconds.iter().flat_map(|s| ["--seconds".to_owned(), s.to_string()]));
        space.args(self.out.iter().flat_map(|out| ["--out".as_ref(), out.as_os_str()]));
        let status = space.status().context("running a day on a small disk")?;
        if !status.success() {
            bail!("{} failed", full_disk::NAME);
        }
        Ok(())
    }
}

/// Runs the days that are asked for and prints what they found.
///
/// # Errors
/// When there is no such day, one is incomplete, or cannot be kept; with `--strict`, also when a
/// check is missed. What was found until then is printed and kept.
pub fn run(options: &Options) -> Result<()> {
    if options.name == "list" {
        print!("{}", list());
        return Ok(());
    }
    let names = names(&options.name)?;
    let sizes = Sizes {
        smoke: options.smoke,
        lengths: Lengths::of(options.seconds, options.smoke)?,
        seed: options.seed.unwrap_or_else(|| time::monotonic_ns() % 1_000_000_000),
    };
    server::build()?;
    let interrupt = Interrupt::listen()?;
    let runtime = tokio::runtime::Runtime::new().context("starting the runtime")?;
    let mut lab = Lab { sizes, contenders: options.contender.clone(), interrupt, cluster: None };
    let mut failed = Vec::new();
    for name in names {
        let presented = if name == full_disk::NAME && !options.may_mount {
            options.on_small_disk(sizes.seed)
        } else {
            let findings = runtime.block_on(day_of(name, &mut lab))?;
            findings.end(options.out.as_deref(), options.strict)
        };
        failed.extend(presented.err().map(|error| format!("{error:#}")));
        if lab.interrupt.came() {
            break;
        }
    }
    if !failed.is_empty() {
        bail!("{}", failed.join("; "));
    }
    Ok(())
}

/// What the days of a run share.
struct Lab {
    sizes: Sizes,
    contenders: Vec<String>,
    interrupt: Interrupt,
    cluster: Option<Cluster>,
}

impl Lab {
    fn is_wanted(&self, kind: Kind) -> bool {
        let name = kind.name();
        if self.contenders.is_empty() && self.sizes.smoke {
            return kind.is_ours();
        }
        self.contenders.is_empty() || self.contenders.iter().any(|part| name.contains(part))
    }

    /// Has one target its turn.
    async fn turn<D: Day>(&mut self, kind: Kind) -> Result<Turn> {
        let folder = workloads::temporary_folder()?;
        if kind.in_postgres() && self.cluster.is_none() {
            self.cluster = Some(Cluster::open(None).await?);
        }
        let cluster = self.cluster.as_mut().filter(|_| kind.in_postgres());
        let own = match D::ABOUT.name {
            full_disk::NAME => Own::Disk,
            clock_step::NAME => Own::Clock,
            _ => Own::Data,
        };
        let mut stage = Stage::start(kind, self.sizes, folder.path(), cluster, own).await?;
        let mut turn = frame::live::<D>(&mut stage, &self.interrupt).await;
        if let Err(error) = stage.stop().await {
            turn.failed.get_or_insert(format!("{error:#}"));
        }
        Ok(turn)
    }
}

/// Runs one day on each of its contenders.
async fn live<D: Day>(lab: &mut Lab) -> Result<Findings> {
    let about = D::ABOUT;
    let mut findings =
        Findings::new(&format!("badday-{}", about.name), about.what, &folder::data()?);
    findings.notes.push(format!(
        "seed {}; the others: 4 queues, each with {} sends of {} messages a second",
        lab.sizes.seed, about.load.0, about.load.1
    ));
    for kind in about.contenders {
        if !lab.is_wanted(*kind) {
            continue;
        }
        let turn = match lab.turn::<D>(*kind).await {
            Ok(turn) => turn,
            Err(error) => Turn::failed(&error),
        };
        report::add(&mut findings, &about, *kind, &turn, lab.sizes.smoke);
        if let Err(why) = lab.interrupt.check() {
            findings.incomplete = Some(format!("{why:#}"));
            break;
        }
    }
    Ok(findings)
}

/// Makes the table of the days, and the way from a name to its day.
macro_rules! days {
    ($($day:ty,)*) => {
        /// All days, in the order in which `all` runs them.
        const DAYS: &[About] = &[$(<$day>::ABOUT,)*];

        async fn day_of(name: &str, lab: &mut Lab) -> Result<Findings> {
            $(if name == <$day>::ABOUT.name {
                return live::<$day>(lab).await;
            })*
            bail!("there is no day {name:?}")
        }
    };
}

days! {
    days::stopped_worker::StoppedWorker,
    days::stopped_server::StoppedServer,
    days::killed_worker::KilledWorker,
    days::killed_server::KilledServer,
    days::idle_consumer::IdleConsumer,
    days::pinned_snapshot::Reader,
    days::pinned_snapshot::Writer,
    days::open_deduplication_id::BySql,
    days::open_deduplication_id::ByServer,
    days::open_nack::OpenNack,
    days::open_load::OpenLoad,
    days::open_limited_send::OpenLimitedSend,
    days::delays_at_once::DelaysAtOnce,
    days::purge::Purge,
    days::poison::Poison,
    days::unread_answers::UnreadAnswers,
    days::waiters::Waiters,
    days::herd::Herd,
    days::slow_consumer::SlowConsumer,
    days::full_disk::FullDisk,
    days::clock_step::ClockStep,
    days::pool_exhausted::PoolExhausted,
    days::backlog::Backlog,
    days::killed_database::KilledDatabase,
}

/// The names that are asked for.
fn names(asked: &str) -> Result<Vec<&'static str>> {
    if asked == "all" {
        return Ok(DAYS.iter().map(|about| about.name).collect());
    }
    let found = DAYS.iter().find(|about| about.name == asked);
    let known = || DAYS.iter().map(|about| about.name).collect::<Vec<_>>().join(", ");
    found
        .map(|about| vec![about.name])
        .with_context(|| format!("there is no day {asked:?}; the days: {}", known()))
}

/// The days by name, for people.
fn list() -> String {
    let mut text = String::new();
    let mut line = |name: &str, what: &str, more: &str| {
        text += &format!("{name:<28} {what}\n{:<28} {more}\n", "");
    };
    for about in DAYS {
        let contenders: Vec<String> = about.contenders.iter().map(|kind| kind.name()).collect();
        let stall = match about.stall_ms_max {
            judged if judged.is_finite() => format!("at most {judged} ms"),
            _ => "not judged".to_owned(),
        };
        let more = format!("on {}; stall of the others: {stall}", contenders.join(", "));
        line(about.name, about.what, &more);
    }
    text
}
