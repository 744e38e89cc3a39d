//! What is asked, of made telemetry.

use super::checks::conditions;
use super::figures::{Cell, Figures};
use super::losses::Losses;
use super::phase::{Lengths, Phase, Scale};
use super::process::Exit;
use super::record::{Dead, Record, Span};
use super::scenario::{ALL, Point, Scenario};
use super::system::System;
use super::telemetry::Sample;
use super::turn::Turn;

fn scenario(name: &str) -> &'static Scenario {
    ALL.iter().find(|one| one.name == name).unwrap()
}

fn lengths(scenario: &Scenario) -> Lengths {
    Scale::of(Some(1.0), false).unwrap().lengths(scenario.full)
}

/// A turn of three phases of ten seconds with these completions a second and claims, in which as
/// much was inserted as any scenario orders.
fn turn(rates: [f64; 3], p99_ms: [f64; 3]) -> Turn {
    turn_with([1800.0; 3], rates, p99_ms)
}

fn turn_with(inserted: [f64; 3], rates: [f64; 3], p99_ms: [f64; 3]) -> Turn {
    let mut record = Record::default();
    let phases = [Phase::Clean, Phase::Stress, Phase::Recovery];
    for (at, phase) in phases.into_iter().enumerate() {
        let from = at as u64 * 10;
        record.spans.push(Span { phase, from_ms: from * 1000, to_ms: (from + 10) * 1000 });
        for second in from + 1..=from + 10 {
            for (metric, value, window_s) in [
                ("completion_rate", rates[at], 1.0),
                ("enqueue_rate", inserted[at], 1.0),
                ("claim_p99_ms", p99_ms[at], 1.0),
                ("completed_priority_1_rate", rates[at] / 4.0, 1.0),
                ("retryable_failure_rate", rates[at], 1.0),
                ("queue_depth", 0.0, 0.0),
            ] {
                let (at_ms, metric) = (second * 1000, metric.to_owned());
                record.add(0, Sample { at_ms, instance: 0, metric, value, window_s });
            }
        }
    }
    record.dead.push(Dead { at_ms: 1000, rows: 0, changed: 0 });
    let exits = vec![Exit { seconds: 0.2, well: true }];
    Turn { record, exits, ..Turn::default() }
}

fn cell(system: System, scenario: &Scenario, turn: &Turn) -> Cell {
    let mut cell = Cell::new(system, scenario.points[0]);
    cell.turns.push(Figures::of(turn, scenario));
    cell
}

/// The checks that are missed.
fn missed(scenario: &Scenario, cells: &[Cell]) -> Vec<String> {
    let asked = conditions(scenario, lengths(scenario), cells, false);
    assert!(!asked.is_empty());
    let missed = asked.into_iter().filter(|(_, condition)| !condition.pass);
    missed.map(|(_, condition)| condition.target).collect()
}

fn missed_by(name: &str, turn: &Turn) -> String {
    let scenario = scenario(name);
    missed(scenario, &[cell(System::Slipring, scenario, turn)]).join("; ")
}

#[test]
fn pressure_asks_for_the_rate_the_latency_the_end_and_no_dead_rows() {
    let good = || turn([800.0, 800.0, 800.0], [4.0, 5.0, 4.0]);
    assert_eq!(missed_by("idle_in_transaction", &good()), "");
    let slow = turn([800.0, 700.0, 800.0], [4.0, 5.0, 4.0]);
    assert!(missed_by("idle_in_transaction", &slow).contains("rate under stress"));
    let late = turn([800.0, 800.0, 800.0], [4.0, 7.0, 4.0]);
    assert!(missed_by("idle_in_transaction", &late).contains("claim P99 under stress"));
    let lasting = turn([800.0, 800.0, 100.0], [4.0, 5.0, 4.0]);
    assert!(missed_by("idle_in_transaction", &lasting).contains("recovered"));
    let mut ends = good();
    ends.exits.push(Exit { seconds: 5.1, well: true });
    assert!(missed_by("idle_in_transaction", &ends).contains("end after SIGTERM"));
    let mut fails = good();
    fails.exits.push(Exit { seconds: 0.1, well: false });
    assert!(missed_by("idle_in_transaction", &fails).contains("end after SIGTERM"));
    let mut dead = good();
    dead.record.dead.push(Dead { at_ms: 2000, rows: 1, changed: 9 });
    assert!(missed_by("idle_in_transaction", &dead).contains("dead rows"));
    // Of others no figure of dead rows is asked.
    let scenario = scenario("idle_in_transaction");
    assert_eq!(missed(scenario, &[cell(System::Awa, scenario, &dead)]), Vec::<String>::new());
}

#[test]
fn pressure_asks_for_the_peak_of_the_latency_and_for_what_was_ordered() {
    let mut peak = turn([800.0; 3], [4.0, 5.0, 4.0]);
    let (at_ms, metric) = (15_500, "claim_p99_ms".to_owned());
    let slow = Sample { at_ms, instance: 0, metric, value: 13.0, window_s: 1.0 };
    peak.record.add(0, slow);
    let missed = missed_by("idle_in_transaction", &peak);
    assert!(missed.contains("peak of claim P99") && !missed.contains(';'), "{missed}");
    let (rates, p99_ms) = ([800.0; 3], [4.0; 3]);
    let under_stress = turn_with([800.0, 780.0, 800.0], rates, p99_ms);
    assert!(missed_by("active_readers", &under_stress).contains("inserts under stress"));
    let clean = turn_with([780.0, 800.0, 800.0], rates, p99_ms);
    assert!(missed_by("active_readers", &clean).contains("inserts in the clean phase"));
    let all = turn_with([790.0; 3], rates, p99_ms);
    assert_eq!(missed_by("active_readers", &all), "");
}

#[test]
fn more_load_is_to_be_completed_and_not_only_as_much_as_before() {
    for (name, clean, more) in [("high_load", 800.0, 1200.0), ("burst", 1200.0, 1800.0)] {
        let of = |stressed| turn_with([clean, more, clean], [clean, stressed, clean], [4.0; 3]);
        assert_eq!(missed_by(name, &of(0.99 * more)), "", "{name}");
        assert!(missed_by(name, &of(clean)).contains("rate under stress"), "{name}");
    }
}

#[test]
fn chaos_asks_for_no_loss_and_for_a_recovery() {
    let good = || {
        let mut turn = turn([600.0, 0.0, 600.0], [4.0; 3]);
        turn.losses = Some(Losses { sent: 100, lost: 0, again: 3, unsure: 1 });
        turn
    };
    assert_eq!(missed_by("database_restart", &good()), "");
    let mut lost = good();
    lost.losses = Some(Losses { lost: 1, ..lost.losses.unwrap() });
    assert!(missed_by("database_restart", &lost).contains("jobs lost"));
    let unknown = Turn { losses: None, ..good() };
    assert!(missed_by("database_restart", &unknown).contains("jobs lost"));
    let gone = Turn { record: turn([600.0, 0.0, 500.0], [4.0; 3]).record, ..good() };
    let missed = missed_by("database_restart", &gone);
    assert!(missed.contains("recovered") && missed.contains("rate after it"), "{missed}");
    // The rows of an insert that was undone are dead.
    let mut undone = good();
    undone.record.dead.push(Dead { at_ms: 2000, rows: 1, changed: 0 });
    assert_eq!(missed_by("backends_terminated", &undone), "");
    undone.record.dead.push(Dead { at_ms: 3000, rows: 1, changed: 1 });
    assert!(missed_by("backends_terminated", &undone).contains("updated or deleted"));
}

#[test]
fn throughput_asks_for_three_times_awa_or_what_the_handlers_can_do() {
    let scenario = scenario("throughput");
    let of = |system, rate: f64| cell(system, scenario, &turn([rate; 3], [1.0; 3]));
    let missed = |own, awa| missed(scenario, &[of(System::Slipring, own), of(System::Awa, awa)]);
    assert_eq!(scenario.points[0], Point { workers: 4, queues: 1, work_ms: 1 });
    assert_eq!(missed(1300.0, 430.0), Vec::<String>::new());
    assert!(missed(1200.0, 430.0).concat().contains("3 × awa"));
    // Four handlers of 1 ms complete 4,000 a second at most.
    assert_eq!(missed(3650.0, 2000.0), Vec::<String>::new());
    assert!(!missed(3550.0, 2000.0).is_empty());
    // Without awa there is nothing to compare with, and the functions are told, not asked.
    let alone = conditions(scenario, lengths(scenario), &[of(System::Slipring, 1.0)], false);
    assert!(alone.iter().all(|(_, condition)| condition.pass), "{alone:?}");
}

#[test]
fn four_queues_may_cost_a_twentieth() {
    let scenario = scenario("four_queues");
    let of = |point: usize, rate: f64| {
        let figures = Figures::of(&turn([rate; 3], [1.0; 3]), scenario);
        let cell = Cell::new(System::Slipring, scenario.points[point]);
        Cell { turns: vec![figures], ..cell }
    };
    assert_eq!(missed(scenario, &[of(0, 1000.0), of(1, 951.0)]), Vec::<String>::new());
    assert_eq!(missed(scenario, &[of(0, 1000.0), of(1, 949.0)]).len(), 1);
}

#[test]
fn failures_and_the_best_priority_keep_up() {
    let with_losses = |lost| {
        let mut turn = turn([800.0; 3], [4.0; 3]);
        turn.losses = Some(Losses { sent: 100, lost, ..Losses::default() });
        turn
    };
    for name in ["dead_letters", "first_attempts_fail"] {
        assert_eq!(missed_by(name, &with_losses(0)), "", "{name}");
        assert!(missed_by(name, &with_losses(1)).contains("jobs"), "{name}");
    }
    assert_eq!(missed_by("priorities", &turn([800.0; 3], [4.0; 3])), "");
    assert!(missed_by("priorities", &turn([400.0; 3], [4.0; 3])).contains("best of four"));
}

#[test]
fn a_smoke_run_is_asked_nothing_about_speed() {
    for scenario in ALL {
        let mut slow = turn([1.0, 1.0, 0.0], [4.0, 900.0, 4.0]);
        slow.losses = Some(Losses { sent: 1, ..Losses::default() });
        let cells = [cell(System::Slipring, scenario, &slow)];
        let asked = conditions(scenario, lengths(scenario), &cells, true);
        assert!(asked.iter().all(|(_, condition)| condition.pass), "{}", scenario.name);
    }
}

#[test]
fn a_system_whose_turn_failed_is_asked_nothing() {
    let scenario = scenario("throughput");
    let mut failed = Cell::new(System::Slipring, scenario.points[0]);
    failed.failed = Some("it was interrupted".into());
    assert!(conditions(scenario, lengths(scenario), &[failed], false).is_empty());
}
