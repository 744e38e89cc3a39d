//! A model of the user's own: one run for each number of workers, as a table and a plot.

use std::path::Path;

use anyhow::{Context, Result};

use super::model::Model;
use super::outcome::{Counts, Outcome};
use super::world::simulate;
use crate::findings::{Axis, Findings, Plot, Series, Table};
use crate::run::condition::number;

/// Runs the model in a file and adds what it did to what was found; answers how many events it
/// took.
///
/// # Errors
/// When it cannot be read, or makes no sense; the error says where.
pub fn run(path: &Path, seed: Option<u64>, findings: &mut Findings) -> Result<u64> {
    let mut model = Model::read(path)?;
    model.seed = seed.unwrap_or(model.seed);
    findings.title = format!("{}, simulated with seed {}", model.name, model.seed);
    if !model.about.is_empty() {
        findings.notes.push(model.about.clone());
    }
    let outcomes = model.workers.iter().map(|&workers| {
        simulate(&model, workers).with_context(|| format!("{}: {workers} workers", path.display()))
    });
    let outcomes = outcomes.collect::<Result<Vec<_>>>()?;
    findings.tables.push(runs(&outcomes));
    findings.tables.push(things(&outcomes));
    let points = outcomes.iter().map(|outcome| (outcome.workers as f64, outcome.rate()));
    findings.plots.push(Plot {
        name: "rate".into(),
        title: model.name.clone(),
        x: Axis::linear("workers"),
        y: Axis::linear("units/s"),
        series: vec![Series { name: "rate".into(), points: points.collect() }],
    });
    Ok(outcomes.iter().map(|outcome| outcome.events).sum())
}

fn runs(outcomes: &[Outcome]) -> Table {
    let columns =
        ["workers", "cores", "ms", "units/s", "P50 µs", "P99 µs", "max µs", "cores used %"];
    let mut table = Table::new("runs", &columns);
    for outcome in outcomes {
        table.row([
            outcome.workers.to_string(),
            outcome.cores.to_string(),
            number(outcome.elapsed_ms()),
            number(outcome.rate()),
            number(outcome.latencies.p50_us),
            number(outcome.latencies.p99_us),
            number(outcome.latencies.max_us),
            number(outcome.busy_share() * 100.0),
        ]);
    }
    table
}

fn things(outcomes: &[Outcome]) -> Table {
    let columns = [
        "what is waited for",
        "workers",
        "requests",
        "acquisitions",
        "waited %",
        "mean wait µs",
        "longest ms",
    ];
    let mut table = Table::new("waits", &columns);
    let row = |outcome: &Outcome, counts: &Counts| {
        [
            counts.name.clone(),
            outcome.workers.to_string(),
            counts.requests.to_string(),
            counts.acquisitions.to_string(),
            number(counts.contended_share() * 100.0),
            number(counts.wait_ms_mean() * 1000.0),
            number(counts.wait_ns_max as f64 / 1e6),
        ]
    };
    for outcome in outcomes {
        let all = outcome.latches.iter().chain(&outcome.logs).chain(&outcome.combiners);
        all.for_each(|counts| table.row(row(outcome, counts)));
    }
    table.rows.sort_by(|a, b| a[0].cmp(&b[0]));
    table
}
