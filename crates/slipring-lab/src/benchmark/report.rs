//! What a scenario found: its tables and plots, and the checks.

use super::checks::conditions;
use super::figures::{Cell, Figures};
use super::phase::{Lengths, Phase};
use super::record::Record;
use super::scenario::{Judge, Scenario};
use super::system::System;
use crate::findings::{Axis, BY_TIME, Findings, Plot, Series, Table};
use crate::run::condition::{Condition, number};

/// Lines of the table by time, of each system, at most.
const LINES_MAX: usize = 40;

/// Whether a system met all that was asked in a scenario; nothing for one that was not asked.
pub type Met = Vec<(System, bool)>;

/// Adds the tables of all sizes, and what was asked: of ours as checks, of the others as notes.
pub fn add(
    findings: &mut Findings,
    scenario: &Scenario,
    lengths: Lengths,
    cells: &[Cell],
    smoke: bool,
) -> Met {
    let table = match scenario.judge {
        Judge::Throughput | Judge::Queues => rates(cells),
        _ if scenario.stress.is_some() => phases(cells),
        _ => failures(cells),
    };
    findings.tables.insert(0, table);
    for cell in cells {
        let Some(why) = &cell.failed else { continue };
        let why = format!("{}: {why}", cell.system.name());
        if cell.system.is_ours() {
            findings.incomplete.get_or_insert(why);
        } else {
            findings.notes.push(format!("a turn that did not come to its end: {why}"));
        }
    }
    let asked = conditions(scenario, lengths, cells, smoke);
    for (system, condition) in &asked {
        match system.is_ours() {
            true => findings.conditions.push(condition.clone()),
            false => findings.notes.push(note(condition)),
        }
    }
    let systems: std::collections::BTreeSet<System> = cells.iter().map(|one| one.system).collect();
    let met = |system: &System| {
        let ended = cells.iter().all(|cell| cell.system != *system || cell.failed.is_none());
        let of_it = asked.iter().filter(|(of, _)| of == system);
        (*system, ended && of_it.clone().count() > 0 && of_it.clone().all(|(_, one)| one.pass))
    };
    systems.iter().map(met).collect()
}

/// The check of a system that is not ours, in words.
fn note(condition: &Condition) -> String {
    let met = if condition.pass { "is met" } else { "is missed" };
    format!("{} {met}: {} {}", condition.target, number(condition.figure), condition.unit)
}

/// Completions by size.
fn rates(cells: &[Cell]) -> Table {
    let columns = [
        "size",
        "system",
        "jobs/s",
        "min",
        "max",
        "limit/s",
        "× awa",
        "claim P50 ms",
        "claim P99 ms",
        "PostgreSQL µs/job",
        "adapter µs/job",
        "dead rows",
        "changed rows",
        "end s",
    ];
    let mut table = Table::new("completions, clean", &columns);
    for cell in cells {
        let completed = |cell: &Cell| cell.median(|turn| turn.completed[0]);
        let range = cell.summary(|turn| turn.completed[0]);
        let awa = cells.iter().find(|one| one.system == System::Awa && one.point == cell.point);
        let ratio = awa.map(|awa| completed(cell) / completed(awa));
        let point = cell.point;
        let queues = if point.queues > 1 { ", 4 queues" } else { "" };
        table.row([
            format!("{} workers{queues}", point.workers),
            cell.system.name().to_owned(),
            number(completed(cell)),
            range.as_ref().map_or("?".to_owned(), |range| number(range.min)),
            range.as_ref().map_or("?".to_owned(), |range| number(range.max)),
            number(point.limit()),
            ratio.map_or(String::new(), number),
            number(cell.median(|turn| turn.claim_p50_ms)),
            number(cell.median(|turn| turn.claim_p99_ms[0])),
            number(cell.median(|turn| turn.cpu_us[0])),
            number(cell.median(|turn| turn.cpu_us[1])),
            number(cell.worst(|turn| turn.dead_rows)),
            number(cell.worst(|turn| turn.changed_rows)),
            number(cell.worst(|turn| turn.exit_s)),
        ]);
    }
    table
}

/// The phases beside each other.
fn phases(cells: &[Cell]) -> Table {
    let columns = [
        "system",
        "clean/s",
        "stress/s",
        "recovery/s",
        "stress/clean",
        "claim P99 ms",
        "under stress",
        "depth",
        "under stress",
        "dead rows",
        "changed rows",
        "recovered s",
        "end s",
        "sent",
        "lost",
        "again",
    ];
    let mut table = Table::new("completions, latency and loss by phase", &columns);
    for cell in cells {
        let median = |of: fn(&Figures) -> f64| cell.median(of);
        let worst = |of: fn(&Figures) -> f64| cell.worst(of);
        let losses = cell.losses();
        let count = |of: fn(&super::losses::Losses) -> u64| {
            losses.as_ref().map_or(String::new(), |losses| of(losses).to_string())
        };
        table.row([
            cell.system.name().to_owned(),
            number(median(|turn| turn.completed[0])),
            number(median(|turn| turn.completed[1])),
            number(median(|turn| turn.completed[2])),
            number(median(|turn| turn.completed[1] / turn.completed[0])),
            number(median(|turn| turn.claim_p99_ms[0])),
            number(median(|turn| turn.claim_p99_ms[1])),
            number(worst(|turn| turn.depth[0])),
            number(worst(|turn| turn.depth[1])),
            number(worst(|turn| turn.dead_rows)),
            number(worst(|turn| turn.changed_rows)),
            number(worst(|turn| turn.recovery_s)),
            number(worst(|turn| turn.exit_s)),
            count(|losses| losses.sent),
            count(|losses| losses.lost),
            count(|losses| losses.again),
        ]);
    }
    table
}

/// Failures, dead letters and priorities.
fn failures(cells: &[Cell]) -> Table {
    let columns = [
        "system",
        "completed/s",
        "failed/s",
        "priority 1/s",
        "priority 4/s",
        "claim P99 ms",
        "sent",
        "lost",
        "dead letters",
        "dead rows",
        "end s",
    ];
    let mut table = Table::new("failures and priorities, clean", &columns);
    for cell in cells {
        let losses = cell.losses();
        let dead = cell.turns.iter().filter_map(|turn| turn.dead_letters).reduce(|a, b| a + b);
        let count = |count: Option<u64>| count.map_or(String::new(), |count| count.to_string());
        table.row([
            cell.system.name().to_owned(),
            number(cell.median(|turn| turn.completed[0])),
            number(cell.median(|turn| turn.failed_rate)),
            number(cell.median(|turn| turn.by_priority[0])),
            number(cell.median(|turn| turn.by_priority[1])),
            number(cell.median(|turn| turn.claim_p99_ms[0])),
            count(losses.map(|losses| losses.sent)),
            count(losses.map(|losses| losses.lost)),
            count(dead),
            number(cell.worst(|turn| turn.dead_rows)),
            number(cell.worst(|turn| turn.exit_s)),
        ]);
    }
    table
}

/// What was seen in one second.
struct Second {
    at_s: f64,
    phase: &'static str,
    inserted: f64,
    completed: f64,
    claim_p99_ms: f64,
    depth: f64,
    dead_rows: f64,
}

fn by_second(record: &Record) -> Vec<Second> {
    let (Some(first), Some(last)) = (record.spans.first(), record.spans.last()) else {
        return Vec::new();
    };
    let inserted = record.per_second("enqueue_rate");
    let completed = record.per_second("completion_rate");
    let second = |second: u64| {
        let (from, to) = (second * 1000, (second + 1) * 1000);
        let within = |at: u64| (from..to).contains(&at);
        let phase = record.spans.iter().find(|span| span.from_ms <= from && to <= span.to_ms);
        let rate = |rates: &std::collections::BTreeMap<u64, f64>| {
            rates.get(&second).copied().unwrap_or(0.0)
        };
        let dead = record.dead.iter().filter(|dead| within(dead.at_ms));
        Second {
            at_s: (from - first.from_ms) as f64 / 1000.0,
            phase: phase.map_or("between", |span: &super::record::Span| span.phase.name()),
            inserted: rate(&inserted),
            completed: rate(&completed),
            claim_p99_ms: record.last("claim_p99_ms", to).unwrap_or(f64::NAN),
            depth: record.last("queue_depth", to).unwrap_or(f64::NAN),
            dead_rows: dead.map(|dead| dead.rows as f64).fold(f64::NAN, f64::max),
        }
    };
    (first.from_ms / 1000..last.to_ms / 1000).map(second).collect()
}

/// Adds a turn by time: a table, and a line in each plot.
pub fn add_by_time(findings: &mut Findings, system: System, record: &Record) {
    let seconds = by_second(record);
    if seconds.is_empty() {
        return;
    }
    let name = system.name();
    let columns =
        ["from s", "phase", "inserted/s", "completed/s", "claim P99 ms", "depth", "dead rows"];
    let mut table = Table::new(&format!("{name} {BY_TIME}"), &columns);
    let together = seconds.len().div_ceil(LINES_MAX).max(1);
    for same in seconds.chunk_by(|one, next| one.phase == next.phase) {
        for several in same.chunks(together) {
            let Some(first) = several.first() else { continue };
            let mean = |figure: fn(&Second) -> f64| {
                number(several.iter().map(figure).sum::<f64>() / several.len() as f64)
            };
            let most = |figure: fn(&Second) -> f64| {
                number(several.iter().map(figure).fold(f64::NAN, f64::max))
            };
            table.row([
                format!("{:.0}", first.at_s),
                first.phase.to_owned(),
                mean(|second| second.inserted),
                mean(|second| second.completed),
                most(|second| second.claim_p99_ms),
                most(|second| second.depth),
                most(|second| second.dead_rows),
            ]);
        }
    }
    findings.tables.push(table);
    plot(findings, name, ("completions", "jobs/s"), &seconds, |second| second.completed);
    plot(findings, name, ("claim-p99", "ms"), &seconds, |second| second.claim_p99_ms);
    plot(findings, name, ("depth", "jobs"), &seconds, |second| second.depth);
    plot(findings, name, ("dead-rows", "rows"), &seconds, |second| second.dead_rows);
}

fn plot(
    findings: &mut Findings,
    system: &str,
    (what, unit): (&str, &str),
    seconds: &[Second],
    figure: impl Fn(&Second) -> f64,
) {
    let points = seconds.iter().map(|second| (second.at_s, figure(second)));
    let points = points.filter(|(_, value)| value.is_finite()).collect();
    let series = Series { name: system.to_owned(), points };
    if let Some(plot) = findings.plots.iter_mut().find(|plot| plot.name == what) {
        plot.series.push(series);
        return;
    }
    findings.plots.push(Plot {
        name: what.to_owned(),
        title: format!("{}: {what}", findings.title),
        x: Axis::linear("s"),
        y: Axis::linear(unit),
        series: vec![series],
    });
}

/// The phases of a scenario, in words.
pub fn lengths(lengths: Lengths) -> String {
    let seconds = [lengths.warm_up, lengths.clean, lengths.stress, lengths.recovery];
    let phases = Phase::ALL.into_iter().zip(seconds).filter(|(_, seconds)| *seconds > 0);
    let phases = phases.map(|(phase, seconds)| format!("{} {seconds} s", phase.name()));
    phases.collect::<Vec<_>>().join(", ")
}
