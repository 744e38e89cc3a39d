//! `run foundation`: every row of the project's speed table in one run, ours, the raw limits and
//! the peers by turns.

mod bad_days;
mod conditions;
mod report;
mod rows;
mod slow_disk_rows;
mod table;

use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::child::Group;
use crate::run::contender::turns;
use crate::run::progress;
use crate::workloads::{Outcome, Settings};
use crate::{folder, process, run, slow_disk, targets::server};

use report::{ContenderReport, Report, RowReport};
use rows::{Contender, Row};

/// What of the table is run, and how.
#[derive(Debug, clap::Args)]
pub struct Options {
    #[command(flatten)]
    run: run::Options,
    /// Messages in the long backlog.
    #[arg(long)]
    backlog: Option<u64>,
}

/// Sizes of one run.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    /// Tiny sizes and all answers checked.
    pub smoke: bool,
    /// Rounds of each row.
    pub rounds: usize,
    /// Measured seconds of each round.
    pub seconds: f64,
    /// Messages in the long backlog.
    pub backlog: u64,
}

impl Sizes {
    fn of(options: &Options) -> Sizes {
        let smoke = options.run.smoke;
        Sizes {
            smoke,
            rounds: options.run.rounds.unwrap_or(if smoke { 1 } else { 5 }).max(1),
            seconds: options.run.seconds.unwrap_or(if smoke { 0.2 } else { 2.0 }),
            backlog: options.backlog.unwrap_or(if smoke { 20_000 } else { 10_000_000 }),
        }
    }
}

/// The figure that says how many percent of one processor were busy with what is none of ours:
/// above a few, other programs disturbed the measurement.
const OTHERS: &str = "other_programs_cpu_percent";

/// Runs the rows and prints the table.
///
/// # Errors
/// When a workload fails or an answer is wrong, after the other rows were run; with `--strict`,
/// also when a row misses its target.
pub fn run(options: &Options) -> Result<()> {
    let sizes = Sizes::of(options);
    let rows = rows::all();
    options.run.check_rows(&rows.iter().map(|row| row.name).collect::<Vec<_>>())?;
    server::build()?;
    let folder = folder::data()?;
    let mut report = Report::new(&folder, sizes.into());
    table::head(&report);
    let mut failed = Vec::new();
    for row in rows.iter().filter(|row| options.run.asks_for(row.name)) {
        match measure(row, sizes) {
            Ok(measured) => {
                table::row(&measured);
                report.rows.push(measured);
            }
            Err(error) => {
                println!("\n{}: {}\n  FAILED: {error:#}", row.name, row.what);
                failed.push(row.name);
            }
        }
    }
    print!("{}", report.summary());
    options.run.end(("foundation", &report), &table::text(&report), &failed, &folder)
}

/// Prints the names of rows.
pub fn list() {
    for row in rows::all() {
        println!("{:<16} {}", row.name, row.what);
    }
}

/// Runs the contenders of a row by turns.
fn measure(row: &Row, sizes: Sizes) -> Result<RowReport> {
    progress(&format!("{} …", row.name));
    let kept = crate::workloads::temporary_folder()?;
    let contenders = (row.contenders)(sizes, kept.path());
    let mut outcomes: Vec<Vec<Outcome>> = contenders.iter().map(|_| Vec::new()).collect();
    for (_, at) in turns(contenders.len(), sizes.rounds.min(row.rounds_max)) {
        let (Some(contender), Some(found)) = (contenders.get(at), outcomes.get_mut(at)) else {
            continue;
        };
        // Of the wait tables the last is kept; its predecessors say the same at length.
        if let Some(before) = found.last_mut() {
            before.waits.clear();
        }
        found.push(measure_contender(contender).with_context(|| contender.name.to_owned())?);
    }
    progress("");
    let contenders: Vec<ContenderReport> = contenders
        .into_iter()
        .zip(outcomes)
        .map(|(contender, rounds)| ContenderReport::new(contender.name, rounds))
        .collect();
    let conditions = (row.conditions)(&contenders);
    Ok(RowReport { name: row.name.into(), what: row.what.into(), conditions, contenders })
}

fn measure_contender(contender: &Contender) -> Result<Outcome> {
    let arguments = arguments(&contender.settings);
    let generous =
        60.0 + contender.settings.seconds * 20.0 + contender.settings.messages as f64 / 20_000.0;
    let (begun, busy) = (Instant::now(), process::machine_cpu_seconds()?);
    let environment = slow_disk::environment(contender.settings.flush_us)?;
    let out = Group::start_in(&arguments, environment)?.finish(Duration::from_secs_f64(generous));
    let out = out.with_context(|| format!("slipring-lab {}", arguments.join(" ")))?;
    let busy = process::machine_cpu_seconds()? - busy;
    let mut found: Outcome =
        serde_json::from_str(out.trim()).with_context(|| format!("reading {out:?}"))?;
    let own = found.load.cpu_seconds + found.server.map_or(0.0, |server| server.cpu_seconds);
    let others = (busy - own).max(0.0) / begun.elapsed().as_secs_f64() * 100.0;
    found.figures.insert(OTHERS.to_owned(), others);
    Ok(found)
}

/// The command line of a child that runs `settings`.
fn arguments(settings: &Settings) -> Vec<String> {
    let name = |value: Option<clap::builder::PossibleValue>| {
        value.map(|value| value.get_name().to_owned()).unwrap_or_default()
    };
    let mut arguments = vec![
        "workload".to_owned(),
        name(clap::ValueEnum::to_possible_value(&settings.shape)),
        "--target".to_owned(),
        name(clap::ValueEnum::to_possible_value(&settings.target)),
    ];
    let numbers = [
        ("--callers", settings.callers.to_string()),
        ("--batch", settings.batch.to_string()),
        ("--seconds", settings.seconds.to_string()),
        ("--warmup", settings.warmup.to_string()),
        ("--body", settings.body.to_string()),
        ("--messages", settings.messages.to_string()),
        ("--poisons", settings.poisons.to_string()),
        ("--queues", settings.queues.to_string()),
        ("--rate", settings.rate.to_string()),
        ("--flush-us", settings.flush_us.to_string()),
    ];
    arguments.extend(numbers.into_iter().flat_map(|(flag, value)| [flag.to_owned(), value]));
    if settings.drain {
        arguments.push("--drain".to_owned());
    }
    if let Some(folder) = &settings.folder {
        arguments.extend(["--folder".to_owned(), folder.display().to_string()]);
    }
    arguments
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::targets::Kind;
    use crate::workloads::Shape;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        settings: Settings,
    }

    #[test]
    fn a_child_gets_the_settings_it_is_to_run() {
        let mut settings = Settings::new(Shape::PingPong, Kind::BeanstalkdMemory);
        settings.callers = 7;
        settings.rate = 12.5;
        settings.flush_us = 500;
        settings.body = 2000;
        settings.drain = true;
        settings.folder = Some("a folder".into());
        // The name of the sub-command stands where a command line has that of the program.
        let line = Line::parse_from(arguments(&settings));
        let text = |settings: &Settings| serde_json::to_string(settings).unwrap();
        assert_eq!(text(&line.settings), text(&settings));
    }

    #[test]
    fn every_row_has_a_name_of_its_own_and_contenders() {
        let sizes = Sizes { smoke: true, rounds: 1, seconds: 0.1, backlog: 1000 };
        let rows = rows::all();
        for row in &rows {
            assert!(!(row.contenders)(sizes, std::path::Path::new("x")).is_empty(), "{}", row.name);
            assert_eq!(rows.iter().filter(|other| other.name == row.name).count(), 1);
        }
    }
}
