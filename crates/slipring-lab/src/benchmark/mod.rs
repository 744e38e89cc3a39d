//! `benchmark`: the scenarios of the public benchmark of queues on PostgreSQL, ours beside peers.
//! Every system is a process that speaks the benchmark's adapter contract: the environment says
//! what to do, lines on stdin order jobs, lines on stdout say what happens.
//! `docs/lab/benchmark.md` says what is measured, and how a loss is seen.

mod checks;
#[cfg(test)]
mod checks_tests;
mod figures;
mod losses;
mod pacer;
mod phase;
mod process;
mod record;
#[cfg(test)]
mod record_tests;
mod report;
mod scenario;
mod stage;
mod stress;
mod system;
mod telemetry;
mod turn;

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use self::figures::{Cell, Figures};
use self::phase::Scale;
use self::report::Met;
use self::scenario::{ALL, Judge, Offer, Point, Scenario};
use self::stage::Cast;
use self::system::{Place, System};
use crate::findings::Findings;
use crate::folder;
use crate::interrupt::Interrupt;
use crate::output::say;
use crate::run::bench::turns;
use crate::run::condition::number;
use crate::run::progress;

/// What is run, and what becomes of it.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Names of scenarios, `all`, or `list` for their names.
    #[arg(required = true)]
    scenarios: Vec<String>,
    /// Tiny sizes of one scenario of each kind, and only our engine where no system is named; the
    /// figures mean nothing.
    #[arg(long)]
    smoke: bool,
    /// Seconds of a clean phase that has 60 in the public benchmark; all other phases are in
    /// proportion to it. By default 15.
    #[arg(long)]
    seconds: Option<f64>,
    /// Turns of each system in each size.
    #[arg(long, default_value_t = 1)]
    rounds: usize,
    /// Only these systems.
    #[arg(long, value_enum)]
    system: Vec<System>,
    /// Keep tables, plots and raw data in a dated folder inside this one; otherwise they go to
    /// target/lab, into a folder of the scenario's name.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Fail when a check is missed.
    #[arg(long)]
    strict: bool,
}

impl Options {
    /// The scenarios that are asked for.
    fn asked(&self) -> Result<Vec<&'static Scenario>> {
        if self.scenarios.iter().any(|name| name == "all") {
            return Ok(ALL.iter().filter(|one| !self.smoke || one.smoke).collect());
        }
        let known = || ALL.iter().map(|one| one.name).collect::<Vec<_>>().join(", ");
        let find = |name: &String| {
            let found = ALL.iter().find(|one| one.name == name);
            found.with_context(|| format!("there is no scenario {name:?}; these are: {}", known()))
        };
        self.scenarios.iter().map(find).collect()
    }

    /// The systems that are asked for.
    fn systems(&self) -> Vec<System> {
        match (self.system.is_empty(), self.smoke) {
            (true, true) => vec![System::Slipring],
            (true, false) => System::ALL.to_vec(),
            (false, _) => System::ALL.into_iter().filter(|one| self.system.contains(one)).collect(),
        }
    }
}

/// Runs the scenarios that are asked for and prints what they found.
///
/// # Errors
/// When there is no such scenario, one is incomplete, or cannot be kept; with `--strict`, also when
/// a check is missed. What was found until then is printed and kept. A system that is not ours and
/// fails is reported, and fails nothing.
pub fn run(options: &Options) -> Result<()> {
    if options.scenarios.iter().any(|name| name == "list") {
        return say(&list());
    }
    let (asked, systems) = (options.asked()?, options.systems());
    let scale = Scale::of(options.seconds, options.smoke)?;
    if options.rounds == 0 {
        bail!("--rounds 0 measures nothing");
    }
    let interrupt = Interrupt::listen()?;
    let runtime = tokio::runtime::Runtime::new().context("starting the runtime")?;
    let place = runtime.block_on(interrupt.until(Place::open()))?;
    let mut lab = Lab { place, systems, scale, rounds: options.rounds, interrupt };
    let (mut failed, mut won) = (Vec::new(), Won::default());
    for scenario in asked {
        let (findings, met) = runtime.block_on(lab.scenario(scenario))?;
        won.add(scenario, &met);
        let presented = findings.end(options.out.as_deref(), options.strict);
        failed.extend(presented.err().map(|error| format!("{error:#}")));
        if lab.interrupt.came() {
            break;
        }
    }
    say(&won.text())?;
    if !failed.is_empty() {
        bail!("{}", failed.join("; "));
    }
    Ok(())
}

/// What the scenarios of a run share.
struct Lab {
    place: Place,
    systems: Vec<System>,
    scale: Scale,
    rounds: usize,
    interrupt: Interrupt,
}

impl Lab {
    /// Runs one scenario: at each size all systems by turns.
    async fn scenario(&mut self, scenario: &Scenario) -> Result<(Findings, Met)> {
        let name = format!("benchmark-{}", scenario.name);
        let mut findings = Findings::new(&name, scenario.what, &folder::data()?);
        let lengths = self.scale.lengths(scenario.full);
        findings.notes.push(format!("{}; {}", load(scenario), report::lengths(lengths)));
        findings.notes.push(format!("PostgreSQL: {}", self.place.settings().await?));
        let mut systems = self.systems.clone();
        systems.retain(|system| match system.lacks(scenario) {
            None => true,
            Some(why) => {
                findings.notes.push(format!("{} is not run: {why}", system.name()));
                false
            }
        });
        let points = if self.scale.smoke { &scenario.points[..1] } else { scenario.points };
        let mut cells = Vec::new();
        for point in points {
            let cell = |system: &System| Cell::new(*system, *point);
            let mut at_point: Vec<Cell> = systems.iter().map(cell).collect();
            let ended = self.point(scenario, &mut at_point, &mut findings).await;
            cells.append(&mut at_point);
            if let Err(why) = ended {
                findings.incomplete = Some(format!("{why:#}"));
                break;
            }
        }
        for system in &systems {
            findings.notes.push(format!("{}: {}", system.name(), system.how()));
        }
        let met = report::add(&mut findings, scenario, lengths, &cells, self.scale.smoke);
        progress("");
        Ok((findings, met))
    }

    /// Runs all systems of one size by turns.
    ///
    /// # Errors
    /// When the run is interrupted.
    async fn point(
        &mut self,
        scenario: &Scenario,
        cells: &mut [Cell],
        findings: &mut Findings,
    ) -> Result<()> {
        let rounds = if self.scale.smoke { 1 } else { self.rounds };
        for (round, at) in turns(cells.len(), rounds) {
            let Some(cell) = cells.get_mut(at).filter(|cell| cell.failed.is_none()) else {
                continue;
            };
            let (system, point) = (cell.system, cell.point);
            let size = format!("{} workers, round {}", point.workers, round + 1);
            progress(&format!("{}, {}, {size} …", scenario.name, system.name()));
            let cast = Cast { system, scenario, point, scale: self.scale };
            let turn = turn::take(&mut self.place, cast, &self.interrupt).await;
            let notes = turn.notes.iter().map(|note| format!("{}: {note}", system.name()));
            findings.notes.extend(notes);
            if turn.record.bad_lines > 0 {
                let lines = turn.record.bad_lines;
                let note = format!("{}: {lines} lines of no telemetry", system.name());
                findings.notes.push(note);
            }
            let last = round + 1 == rounds || turn.failed.is_some();
            if last && scenario.points.len() == 1 {
                report::add_by_time(findings, system, &turn.record);
            }
            match turn.failed {
                None => cell.turns.push(Figures::of(&turn, scenario)),
                Some(why) => cell.failed = Some(why),
            }
            self.interrupt.check()?;
        }
        Ok(())
    }
}

/// The load of a scenario, in words.
fn load(scenario: &Scenario) -> String {
    let offered = match scenario.offer {
        Offer::Rate(rate) if scenario.replicas > 1 => {
            format!("{} jobs/s offered to each of {} replicas", number(rate), scenario.replicas)
        }
        Offer::Rate(rate) => format!("{} jobs/s offered", number(rate)),
        Offer::Depth(depth) => format!("{depth} jobs kept waiting"),
    };
    let handlers: Vec<String> = scenario.points.iter().map(size).collect();
    format!("{offered}; workers: {}", handlers.join(", "))
}

fn size(point: &Point) -> String {
    match point.queues {
        1 => point.workers.to_string(),
        queues => format!("{} on {queues} queues", point.workers),
    }
}

/// The scenarios by name, for people.
fn list() -> String {
    let mut text = String::new();
    for one in ALL {
        text += &format!("{:<21} {}\n{:<21} {}\n", one.name, one.what, "", load(one));
    }
    let names = System::ALL.map(System::name).join(", ");
    text + &format!("systems: {names}; River, pg-boss and graphile-worker are not among them\n")
}

/// In how many scenarios of a kind each system met all that was asked.
#[derive(Default)]
struct Won(BTreeMap<(System, &'static str), (usize, usize)>);

impl Won {
    fn add(&mut self, scenario: &Scenario, met: &Met) {
        let kind = match scenario.judge {
            Judge::Chaos => "chaos",
            Judge::Pressure => "pressure",
            _ => return,
        };
        for (system, met) in met {
            let (won, of) = self.0.entry((*system, kind)).or_default();
            *won += usize::from(*met);
            *of += 1;
        }
    }

    fn text(&self) -> String {
        let line = |((system, kind), (won, of)): (&(System, &str), &(usize, usize))| {
            format!("{}, {kind}: all that is asked is met in {won} of {of}\n", system.name())
        };
        self.0.iter().map(line).collect()
    }
}
