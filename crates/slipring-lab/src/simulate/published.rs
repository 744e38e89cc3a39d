//! The simulator against what was published of the second case: two floors and the curve; and of
//! the first: the wait for one latch.

use anyhow::{Context, Result};

use super::model::Model;
use super::models::published::{
    ACQUISITIONS, FLOORS, PER_EXTENT, PER_QUANTUM, QUANTUM_MS, assumptions, load,
};
use super::models::waiters;
use super::outcome::Outcome;
use super::world::simulate;
use crate::findings::{Axis, Findings, Plot, Series, Table};
use crate::run::condition::{Condition, number};

/// The queries by what they took in a quantum.
const QUERIES: [&str; 2] = ["faster query", "slower query"];

/// One run of a curve.
struct Point {
    outcome: Outcome,
    /// Of the whole load, in milliseconds.
    ms: f64,
}

/// Simulates the published runs and adds them to what was found; answers how many events it took.
///
/// # Errors
/// When a model makes no sense.
pub fn compare(smoke: bool, seed: u64, findings: &mut Findings) -> Result<u64> {
    let part = if smoke { 0.05 } else { 1.0 };
    findings.notes.extend(assumptions());
    if smoke {
        findings.notes.push("smoke: a twentieth of the load, times multiplied by 20".into());
    }
    let mut curves = Vec::new();
    for per_quantum in PER_QUANTUM {
        let model = Model { seed, ..load(per_quantum, 0, part) };
        let mut points = Vec::new();
        for &workers in &model.workers {
            let outcome = simulate(&model, workers)?;
            points.push(Point { ms: outcome.elapsed_ms() / part, outcome });
        }
        curves.push(points);
    }
    show_curves(&curves, findings)?;
    let floors = floors(part, seed, &curves, findings)?;
    let waits = map_of_waiters(seed, findings)?;
    let curves = curves.iter().flatten().map(|point| point.outcome.events).sum::<u64>();
    Ok(curves + floors + waits)
}

fn show_curves(curves: &[Vec<Point>], findings: &mut Findings) -> Result<()> {
    let mut table = Table::new(
        "the published load by workers, simulated",
        &[
            "workers",
            "faster ms",
            "waited %",
            "mean wait µs",
            "latches/quantum",
            "slower ms",
            "waited %",
            "mean wait µs",
            "latches/quantum",
        ],
    );
    let (faster, slower) = (curves.first().context("no curve")?, curves.last());
    for (place, first) in faster.iter().enumerate() {
        let mut cells = vec![first.outcome.workers.to_string()];
        for point in [Some(first), slower.and_then(|curve| curve.get(place))].into_iter().flatten()
        {
            let latch = &point.outcome.latches[0];
            let quanta = point.outcome.elapsed_ms() / QUANTUM_MS * point.outcome.workers as f64;
            cells.extend([
                number(point.ms),
                number(latch.contended_share() * 100.0),
                number(latch.wait_ms_mean() * 1000.0),
                number(latch.acquisitions as f64 / quanta),
            ]);
        }
        table.row(cells);
    }
    findings.tables.push(table);
    let best = faster.iter().min_by(|a, b| a.ms.total_cmp(&b.ms)).context("no runs")?;
    let fewest = best.outcome.workers as f64;
    let asked = &mut findings.conditions;
    asked.push(Condition::at_least("6: fastest number of workers".into(), "workers", fewest, 6.0));
    asked.push(Condition::at_most("fastest number of workers", "workers", fewest, 10.0));
    for point in faster.iter().filter(|point| (16..=24).contains(&point.outcome.workers)) {
        let target = format!("90 % of acquisitions wait at {}", point.outcome.workers);
        let waited = point.outcome.latches[0].contended_share() * 100.0;
        asked.push(Condition::at_least(target, "%", waited, 90.0));
    }
    let last = faster.last().context("no runs")?;
    asked.push(Condition::at_least(
        format!("slower again: time at {} / shortest", last.outcome.workers),
        "times",
        last.ms / best.ms,
        1.05,
    ));
    let points = |points: &[Point]| {
        points.iter().map(|point| (point.outcome.workers as f64, point.ms)).collect()
    };
    let series = curves.iter().zip(QUERIES);
    findings.plots.push(Plot {
        name: "curve".into(),
        title: "one log latch: time by workers, simulated".into(),
        x: Axis::linear("workers"),
        y: Axis::logarithmic("ms"),
        series: series
            .map(|(curve, name)| Series { name: name.into(), points: points(curve) })
            .collect(),
    });
    Ok(())
}

fn floors(part: f64, seed: u64, curves: &[Vec<Point>], findings: &mut Findings) -> Result<u64> {
    let mut table = Table::new(
        "a busy query beside the first worker: floor = its acquisitions × 4 ms × part that waited",
        &["workers", "", "acquisitions", "waited %", "floor ms", "seen ms", "error %", "times"],
    );
    let mut events = 0;
    for floor in &FLOORS {
        table.row([
            floor.workers.to_string(),
            "published".into(),
            number(floor.acquisitions),
            number(floor.waited * 100.0),
            number(floor.ms()),
            number(floor.seen_ms),
            String::new(),
            "up to 30".into(),
        ]);
        let model = Model { seed, ..load(PER_QUANTUM[0], 1, part) };
        let outcome = simulate(&model, floor.workers)?;
        events += outcome.events;
        let (worker, ms) = (outcome.by_worker[0], outcome.elapsed_ms() / part);
        let waits = worker.contended as f64 / part;
        let own = curves[0].iter().find(|point| point.outcome.workers == floor.workers);
        let times = ms / own.context("the curve has this number of workers")?.ms;
        let error = |ms: f64| (ms / floor.ms() - 1.0) * 100.0;
        table.row([
            floor.workers.to_string(),
            "simulated".into(),
            number(worker.acquisitions as f64 / part),
            number(worker.contended as f64 / worker.acquisitions.max(1) as f64 * 100.0),
            number(waits * QUANTUM_MS),
            number(ms),
            format!("{:+.1}", error(ms)),
            number(times),
        ]);
        let workers = floor.workers;
        let asked = &mut findings.conditions;
        let off = |ms: f64| error(ms).abs();
        let target = format!("time at {workers} off the published floor");
        asked.push(Condition::at_most(&target, "%", off(ms), 5.0));
        let target = format!("floor at {workers} off the published floor");
        asked.push(Condition::at_most(&target, "%", off(waits * QUANTUM_MS), 5.0));
        let target = format!("10 times as slow with a busy query at {workers}");
        asked.push(Condition::at_least(target, "times", times, 10.0));
    }
    findings.tables.push(table);
    findings.notes.push(format!(
        "the published load has {ACQUISITIONS} acquisitions; simulated are {PER_EXTENT} for each \
         extent; the runs with a busy query are those of the faster query"
    ));
    Ok(events)
}

fn map_of_waiters(seed: u64, findings: &mut Findings) -> Result<u64> {
    findings.notes.extend(waiters::assumptions());
    let mut table = Table::new(
        "one latch over the map of waiters (case 1): threads that wait with a time-out of 10 ms",
        &[
            "threads",
            "published P50 ms",
            "mean wait ms",
            "simulated P50 ms",
            "mean wait ms",
            "a latch for each of 100 queues: P50 ms",
            "mean wait ms",
        ],
    );
    let mut events = 0;
    let model = |latches| Model { seed, ..waiters::waits(latches) };
    for (threads, p50_ms, wait_ms) in waiters::PUBLISHED {
        let (one, many) = (simulate(&model(1), threads)?, simulate(&model(100), threads)?);
        events += one.events + many.events;
        let figures = |outcome: &Outcome| {
            let wait = outcome.latches[0].wait_ms_mean();
            [number(outcome.latencies.p50_us / 1000.0), number(wait)]
        };
        let mut cells = vec![threads.to_string(), number(p50_ms), number(wait_ms)];
        cells.extend(figures(&one));
        cells.extend(figures(&many));
        table.row(cells);
    }
    findings.tables.push(table);
    Ok(events)
}
