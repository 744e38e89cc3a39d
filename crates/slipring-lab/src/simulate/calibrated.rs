//! Costs from what was measured with one worker, and the simulator against what was measured with
//! more.

use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::model::Model;
use super::models::here::{Design, LatchCosts, SLICE_US, SendCosts, Writing, extents, send_path};
use super::world::simulate;
use crate::cases::bulk::measured::Measured;
use crate::findings::{Findings, Table};
use crate::run::condition::{Condition, number};

/// How far a simulated rate may be from the measured one, in percent.
const OFF_PERCENT_MAX: f64 = 25.0;
/// Operations of a simulated run.
const OPERATIONS: u64 = 5000;

/// What was derived.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Costs {
    /// Of the load of extents.
    pub latch: LatchCosts,
    /// Of the send path.
    pub send: SendCosts,
}

impl Costs {
    /// Derives the costs from the runs with one worker, one caller, and with nothing shared.
    ///
    /// # Errors
    /// When one of these runs is missing.
    pub fn of(measured: &Measured) -> Result<Costs> {
        let extents = f64::from(measured.extents);
        let alone = measured.latch.get(&1).context("no run with one worker")?;
        let records = f64::from(crate::cases::bulk::extents::PAGES);
        let hold_us = alone.hold_ns / 1000.0;
        let extent_us = alone.seconds * 1e6 / extents - records * hold_us;
        // Two workers that share nothing show how much the cores disturb one another.
        let apart = |workers| measured.apart.get(&workers).map(|loaded| loaded.seconds);
        let together = match (apart(1), apart(2)) {
            (Some(one), Some(two)) => (2.0 * two / one).max(1.0),
            _ => 1.0,
        };
        let latch = LatchCosts {
            extent_us,
            together,
            hold_us,
            wake_us: measured.wake_ns / 1000.0,
            more_us: measured.unpark_ns / 1000.0,
        };
        let sent = measured.sent.get(&1).context("no run with one caller")?;
        let calls = sent.calls();
        let flush_ns = sent.of_class("sqlite.flush", |class| class.total_ns);
        ensure!(!flush_ns.is_nan(), "the engine's wait table has no class sqlite.flush");
        let of_call = |ns: f64| ns / calls / 1000.0;
        let (write_us, cpu_us) = (of_call(sent.writer_cpu_ns), of_call(sent.cpu_ns));
        let flush_us = of_call(flush_ns);
        let caller_us = (cpu_us - write_us).max(0.0);
        let whole_us = sent.seconds * 1e6 / calls;
        let send = SendCosts {
            batch: sent.batch,
            caller_us,
            write_us,
            flush_us,
            wakes_us: (whole_us - write_us - caller_us - flush_us).max(0.0),
        };
        Ok(Costs { latch, send })
    }

    /// The costs, one sentence each.
    pub fn assumptions(&self, cores: usize) -> Vec<String> {
        let (latch, send) = (self.latch, self.send);
        vec![
            format!(
                "measured here with one worker: {:.1} µs to fill an extent, {:.2} µs under the \
                 latch for one record; {:.1} µs from a release to the moment when a thread that \
                 slept runs, {:.1} µs for the one who wakes it; {:.2} × as long while {cores} \
                 cores work",
                latch.extent_us, latch.hold_us, latch.wake_us, latch.more_us, latch.together
            ),
            format!(
                "measured here with one caller of {} messages a call: {:.0} µs of the caller's \
                 processor, {:.0} µs of the writing thread's, {:.0} µs of flush, {:.0} µs for \
                 waking one another",
                send.batch, send.caller_us, send.write_us, send.flush_us, send.wakes_us
            ),
            format!(
                "chosen: slices of {:?}; a thread that wakes goes before one that runs; the work \
                 of a step is always the same",
                Duration::from_micros(SLICE_US as u64)
            ),
        ]
    }
}

/// The models of this machine.
fn models(costs: &Costs, workers: usize, cores: usize) -> [Model; 3] {
    let together = workers > 1 && cores > 1;
    [
        extents(&costs.latch, Design::Fifo, cores, together),
        extents(&costs.latch, Design::Combining, cores, together),
        send_path(&costs.send, Writing::Engine, cores),
    ]
}

/// Puts measured and simulated rates side by side for each number of workers.
///
/// # Errors
/// When a run is missing, or a model makes no sense.
pub fn compare(
    measured: &Measured,
    costs: &Costs,
    seed: u64,
    findings: &mut Findings,
) -> Result<u64> {
    let cores = findings.head.machine.cores;
    let mut table = Table::new(
        "measured here and simulated with the costs of one worker, records/s",
        &["load", "workers", "measured", "simulated", "error %"],
    );
    let mut events = 0;
    for &workers in measured.latch.keys() {
        let rate = |seconds: f64| {
            f64::from(measured.extents) * crate::cases::bulk::extents::RECORDS_PER_EXTENT as f64
                / seconds
        };
        let loaded = |runs: &std::collections::BTreeMap<usize, _>| {
            runs.get(&workers).map(|loaded: &crate::cases::bulk::extents::Loaded| loaded.seconds)
        };
        let seen = [
            ("FIFO latch", loaded(&measured.latch).map(rate)),
            ("combining log", loaded(&measured.combiner).map(rate)),
            ("engine, send", measured.sent.get(&workers).map(|sent| sent.rate())),
        ];
        for ((name, seen), model) in seen.into_iter().zip(models(costs, workers, cores)) {
            let seen = seen.with_context(|| format!("{name}: no run with {workers} workers"))?;
            let model = Model { seed, operations: OPERATIONS, ..model };
            let outcome = simulate(&model, workers)?;
            events += outcome.events;
            let error = (outcome.rate() / seen - 1.0) * 100.0;
            table.row([
                name.to_owned(),
                workers.to_string(),
                number(seen),
                number(outcome.rate()),
                format!("{error:+.1}"),
            ]);
            let target = format!("{name}: simulated off measured at {workers}");
            let condition = Condition::at_most(&target, "%", error.abs(), OFF_PERCENT_MAX);
            findings.conditions.push(condition);
        }
    }
    findings.tables.push(table);
    Ok(events)
}
