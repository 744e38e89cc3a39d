//! What is asked of the figures.

use super::figures::Cell;
use super::phase::Lengths;
use super::scenario::{Judge, Scenario};
use super::system::System;
use crate::run::condition::{Condition, number};

/// Completions are at least so many times awa's, or this part of what the handlers can do.
const TIMES_AWA: f64 = 3.0;
const OF_LIMIT: f64 = 0.9;
/// Four queues complete at least this part of what one does.
const FOUR_QUEUES: f64 = 0.95;
/// Under pressure completions are at least this part of the clean ones, and the P99 of claims at
/// most so many times the clean one.
const UNDER_PRESSURE: f64 = 0.98;
const P99_UNDER_PRESSURE: f64 = 1.5;
/// The P99 of no single window is more than so many times the clean one: a window may be as far
/// above the median that is allowed as the stress doubles it.
const P99_PEAK: f64 = 2.0 * P99_UNDER_PRESSURE;
/// What is ordered is inserted, up to this part of it: a phase may end between an order and its
/// insert.
const INSERTED: f64 = 0.98;
/// The contract's time for an end, in seconds.
const EXIT_S: f64 = 5.0;
/// After chaos completions are at least this part of the clean ones.
const AFTER_CHAOS: f64 = 0.95;
/// What fails, and what is best, keeps up with this part of what is offered.
const KEEPS_UP: f64 = 0.98;
const BEST_PRIORITY: f64 = 0.95;

/// What is asked of each system in a scenario. A smoke run is asked nothing that depends on the
/// speed of the machine.
pub fn conditions(
    scenario: &Scenario,
    lengths: Lengths,
    cells: &[Cell],
    smoke: bool,
) -> Vec<(System, Condition)> {
    let of_cell = |cell: &Cell| {
        let mut asked = match scenario.judge {
            Judge::Throughput if !smoke => throughput(cell, cells).into_iter().collect(),
            Judge::Queues if !smoke => queues(cell, cells).into_iter().collect(),
            Judge::Throughput | Judge::Queues => Vec::new(),
            Judge::Pressure => pressure(scenario, cell, lengths, smoke),
            Judge::Chaos => chaos(cell, lengths, smoke),
            Judge::DeadLetters => dead_letters(scenario, cell, smoke),
            Judge::FirstAttempts => first_attempts(scenario, cell, smoke),
            Judge::Priorities => priorities(scenario, cell, smoke),
        };
        asked.extend((!smoke).then(|| inserted(scenario, cell)).into_iter().flatten());
        asked.push(exit(cell));
        if cell.system.is_ours() {
            asked.push(named(cell, rows_left(scenario, cell)));
        }
        asked.into_iter().map(|condition| (cell.system, condition)).collect::<Vec<_>>()
    };
    cells.iter().filter(|cell| cell.failed.is_none()).flat_map(of_cell).collect()
}

/// Ours updates and deletes no row, so none is dead. Where sessions and processes are ended, an
/// insert may be undone whose rows are then dead, in whatever design: there only the others count.
fn rows_left(scenario: &Scenario, cell: &Cell) -> Condition {
    let (what, rows) = match scenario.judge {
        Judge::Chaos => ("rows updated or deleted", cell.worst(|turn| turn.changed_rows)),
        _ => ("dead rows", cell.worst(|turn| turn.dead_rows)),
    };
    Condition::at_most(what, "rows", rows, 0.0)
}

/// A condition with the name of its system before it, and its size where a scenario has several.
fn named(cell: &Cell, condition: Condition) -> Condition {
    let target = format!("{}: {}", cell.system.name(), condition.target);
    Condition { target, ..condition }
}

/// Asked of our engine where awa has its turns in the same run: the functions for users of SQL
/// stand beside it in the table.
fn throughput(cell: &Cell, cells: &[Cell]) -> Option<Condition> {
    let awa = cells.iter().find(|one| one.system == System::Awa && one.point == cell.point)?;
    if cell.system != System::Slipring {
        return None;
    }
    let completed = |cell: &Cell| cell.median(|turn| turn.completed[0]);
    let (own, theirs, limit) = (completed(cell), completed(awa), cell.point.limit());
    let needed = (TIMES_AWA * theirs).min(OF_LIMIT * limit);
    let target = format!(
        "{} workers: {TIMES_AWA} × awa, or {OF_LIMIT} × {}",
        cell.point.workers,
        number(limit)
    );
    let condition = Condition::at_least(target, "jobs/s", own, needed);
    let ratio = (theirs > 0.0).then(|| own / theirs);
    Some(named(cell, Condition { ratio, ..condition }))
}

fn queues(cell: &Cell, cells: &[Cell]) -> Option<Condition> {
    let one = cells.iter().find(|one| one.system == cell.system && one.point.queues == 1)?;
    if cell.point.queues == 1 {
        return None;
    }
    let completed = |cell: &Cell| cell.median(|turn| turn.completed[0]);
    let (own, alone) = (completed(cell), completed(one));
    let target = format!("{} queues: {FOUR_QUEUES} × one", cell.point.queues);
    let condition = Condition::at_least(target, "jobs/s", own, FOUR_QUEUES * alone);
    let ratio = (alone > 0.0).then(|| own / alone);
    Some(named(cell, Condition { ratio, ..condition }))
}

fn exit(cell: &Cell) -> Condition {
    let seconds = cell.worst(|turn| turn.exit_s);
    named(cell, Condition::at_most("end after SIGTERM", "s", seconds, EXIT_S))
}

/// A rate that was offered was taken: in the clean phase, and under pressure as well. Of a depth
/// nothing is ordered.
fn inserted(scenario: &Scenario, cell: &Cell) -> Vec<Condition> {
    let of = |(at, when, ordered): (usize, &str, f64)| {
        let target = format!("inserts {when}: {INSERTED} × ordered");
        let inserted = cell.median(|turn| turn.enqueued[at]);
        let condition = Condition::at_least(target, "jobs/s", inserted, INSERTED * ordered);
        named(cell, condition)
    };
    let clean = (0, "in the clean phase", scenario.offered());
    let stress = (1, "under stress", scenario.offered_in_stress());
    match scenario.judge {
        _ if scenario.offered().is_nan() => Vec::new(),
        Judge::Pressure => [clean, stress].map(of).into(),
        _ => vec![of(clean)],
    }
}

fn recovered(cell: &Cell, lengths: Lengths) -> Condition {
    // One turn that has not recovered is one too many.
    let seconds = cell.worst(|turn| turn.recovery_s);
    let allowed = lengths.recovery as f64;
    named(cell, Condition::at_most("recovered", "s", seconds, allowed))
}

fn pressure(scenario: &Scenario, cell: &Cell, lengths: Lengths, smoke: bool) -> Vec<Condition> {
    let clean = cell.median(|turn| turn.completed[0]);
    let stressed = cell.median(|turn| turn.completed[1]);
    let [p99_clean, p99_stressed] = [0, 1].map(|at| cell.median(|turn| turn.claim_p99_ms[at]));
    // Where more is offered, the clean rate would ask for less than that.
    let (offered, more) = (scenario.offered_in_stress(), scenario.offered());
    let (of, theirs) = if offered > more { (offered, "offered") } else { (clean, "clean") };
    let target = format!("rate under stress: {UNDER_PRESSURE} × {theirs}");
    let rate = Condition::at_least(target, "jobs/s", stressed, UNDER_PRESSURE * of);
    let rate = Condition { ratio: (of > 0.0).then(|| stressed / of), ..rate };
    let target = format!("claim P99 under stress, {P99_UNDER_PRESSURE} × clean,");
    let p99 = Condition::at_most(&target, "ms", p99_stressed, P99_UNDER_PRESSURE * p99_clean);
    let p99 = Condition { ratio: (p99_clean > 0.0).then(|| p99_stressed / p99_clean), ..p99 };
    let target = format!("peak of claim P99 under stress, {P99_PEAK} × clean,");
    let highest = cell.worst(|turn| turn.claim_p99_peak_ms);
    let peak = Condition::at_most(&target, "ms", highest, P99_PEAK * p99_clean);
    let peak = Condition { ratio: (p99_clean > 0.0).then(|| highest / p99_clean), ..peak };
    match smoke {
        true => vec![named(cell, Condition::at_least("completed".into(), "jobs/s", clean, 1.0))],
        false => {
            let of_cell = [rate, p99, peak].map(|condition| named(cell, condition));
            of_cell.into_iter().chain([recovered(cell, lengths)]).collect()
        }
    }
}

fn chaos(cell: &Cell, lengths: Lengths, smoke: bool) -> Vec<Condition> {
    let mut asked = nothing_lost(cell, "jobs lost");
    if smoke {
        return asked;
    }
    let [clean, after] = [0, 2].map(|at| cell.median(|turn| turn.completed[at]));
    let target = format!("rate after it: {AFTER_CHAOS} × clean");
    let rate = Condition::at_least(target, "jobs/s", after, AFTER_CHAOS * clean);
    let rate = Condition { ratio: (clean > 0.0).then(|| after / clean), ..rate };
    asked.extend([recovered(cell, lengths), named(cell, rate)]);
    asked
}

/// All jobs whose insert was answered came to their end, and there were any.
fn nothing_lost(cell: &Cell, what: &str) -> Vec<Condition> {
    let losses = cell.losses();
    let count = |of: fn(&super::losses::Losses) -> u64| {
        losses.as_ref().map_or(f64::NAN, |losses| of(losses) as f64)
    };
    let sent = Condition::at_least("inserts answered".into(), "jobs", count(|one| one.sent), 1.0);
    let lost = Condition::at_most(what, "jobs", count(|one| one.lost), 0.0);
    vec![named(cell, sent), named(cell, lost)]
}

fn dead_letters(scenario: &Scenario, cell: &Cell, smoke: bool) -> Vec<Condition> {
    let mut asked = nothing_lost(cell, "jobs that are no dead letters");
    let failed = cell.median(|turn| turn.failed_rate);
    let target = format!("failures: {KEEPS_UP} × offered");
    let keeps_up = Condition::at_least(target, "jobs/s", failed, KEEPS_UP * scenario.offered());
    asked.extend((!smoke).then(|| named(cell, keeps_up)));
    asked
}

fn first_attempts(scenario: &Scenario, cell: &Cell, smoke: bool) -> Vec<Condition> {
    let mut asked = nothing_lost(cell, "jobs lost");
    let completed = cell.median(|turn| turn.completed[0]);
    let target = format!("completions: {KEEPS_UP} × offered");
    let keeps_up = Condition::at_least(target, "jobs/s", completed, KEEPS_UP * scenario.offered());
    asked.extend((!smoke).then(|| named(cell, keeps_up)));
    asked
}

fn priorities(scenario: &Scenario, cell: &Cell, smoke: bool) -> Vec<Condition> {
    let best = cell.median(|turn| turn.by_priority[0]);
    // Each of the four has a quarter.
    let offered = scenario.offered() / 4.0;
    let target = format!("best of four priorities: {BEST_PRIORITY} × offered");
    let condition = Condition::at_least(target, "jobs/s", best, BEST_PRIORITY * offered);
    if smoke { Vec::new() } else { vec![named(cell, condition)] }
}
