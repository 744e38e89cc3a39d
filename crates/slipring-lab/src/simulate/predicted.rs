//! What the simulator predicts for machines with more cores, from costs that were measured here.

use anyhow::Result;

use super::calibrated::Costs;
use super::model::Model;
use super::models::here::{Design, Writing, extents, send_path};
use super::outcome::{Counts, Outcome};
use super::world::simulate;
use crate::findings::{Axis, Findings, Plot, Series, Table};
use crate::run::condition::number;

/// Numbers of cores, with as many workers.
const CORES: [usize; 7] = [1, 2, 4, 8, 24, 48, 96];
/// Those that are asked for; the others are drawn only.
const SHOWN: [usize; 3] = [8, 24, 96];
const DESIGNS: [Design; 4] = [Design::Fifo, Design::Barging, Design::Sharded, Design::Combining];
const WRITINGS: [Writing; 3] = [Writing::OwnFlush, Writing::GroupFlush, Writing::Engine];

const COLUMNS: [&str; 7] =
    ["cores", "design", "records/s", "with a hog", "waited %", "appends/turn", "P99 µs"];

/// Predicts and adds tables and plots; answers how many events it took.
///
/// # Errors
/// When a model makes no sense.
pub fn predict(costs: &Costs, smoke: bool, seed: u64, findings: &mut Findings) -> Result<u64> {
    let operations = if smoke { 2000 } else { 20_000 };
    let finish = |model: Model| Model { seed, operations, ..model };
    findings.notes.push(
        "predicted with as many workers as cores, each core as fast as one core here alone, and \
         one disk as here; with a hog: a program that never stops on one core, beside the workers \
         that the scheduler moves to free cores"
            .into(),
    );
    let extents = |design: Design, cores| finish(extents(&costs.latch, design, cores, false));
    let mut events = family(
        ("extents", "load of extents: one log for all workers, predicted"),
        &DESIGNS.map(|design| (design.name(), design)),
        extents,
        findings,
    )?;
    let send = |writing: Writing, cores| finish(send_path(&costs.send, writing, cores));
    events += family(
        ("send", "send path: durable calls of an extent's records, predicted"),
        &WRITINGS.map(|writing| (writing.name(), writing)),
        send,
        findings,
    )?;
    Ok(events)
}

fn family<D: Copy>(
    (name, title): (&str, &str),
    designs: &[(&str, D)],
    model: impl Fn(D, usize) -> Model,
    findings: &mut Findings,
) -> Result<u64> {
    let mut table = Table::new(title, &COLUMNS);
    let (mut lines, mut events) = (Vec::new(), 0);
    for &(design_name, design) in designs {
        let mut points = Vec::new();
        for cores in CORES {
            let outcome = simulate(&model(design, cores), cores)?;
            points.push((cores as f64, outcome.rate()));
            events += outcome.events;
            if SHOWN.contains(&cores) {
                let beside = Model { hogs: 1, ..model(design, cores) };
                let beside = simulate(&beside, cores)?;
                events += beside.events;
                table.row(row(design_name, &outcome, &beside));
            }
        }
        lines.push(Series { name: design_name.to_owned(), points });
    }
    table.rows.sort_by_key(|row| row[0].parse::<usize>().unwrap_or(0));
    findings.tables.push(table);
    findings.plots.push(Plot {
        name: format!("predicted-{name}"),
        title: title.to_owned(),
        x: Axis::logarithmic("cores, with as many workers"),
        y: Axis::logarithmic("records/s"),
        series: lines,
    });
    Ok(events)
}

fn row(name: &str, outcome: &Outcome, beside: &Outcome) -> Vec<String> {
    let shared = outcome.combiners.first().or(outcome.latches.first());
    let figure = |of: fn(&Counts) -> f64| shared.map_or(String::new(), |counts| number(of(counts)));
    vec![
        outcome.cores.to_string(),
        name.to_owned(),
        number(outcome.rate()),
        number(beside.rate()),
        figure(|counts| counts.contended_share() * 100.0),
        figure(|counts| counts.requests as f64 / counts.acquisitions.max(1) as f64),
        number(outcome.latencies.p99_us),
    ]
}
