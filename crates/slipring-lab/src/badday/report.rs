//! A day's turns as findings: a line for each window, plots, and the checks.

use super::day::About;
use super::frame::Turn;
use super::meter::Window;
use super::others::Outcome;
use super::phase::Phase;
use crate::findings::{Axis, BY_TIME, Findings, Plot, Series, Table};
use crate::run::condition::{Condition, number};
use crate::targets::Kind;

/// Lines of the table of windows, of each contender, at most.
const LINES_MAX: usize = 30;
/// The others are as before in a window with this part of the calm rate,
const RATE_AS_BEFORE: f64 = 0.8;
/// and a P99 of at most so many times the calm one,
const P99_AS_BEFORE: f64 = 3.0;
/// or of so many milliseconds.
const P99_MS_AS_BEFORE: f64 = 50.0;

/// Adds a turn. In a smoke run no limit on a time is judged: it tells how busy the machine is.
pub fn add(findings: &mut Findings, about: &About, kind: Kind, turn: &Turn, smoke: bool) {
    let (outcome, name) = (&turn.outcome, kind.name());
    findings.notes.push(format!("{name}: {}; durability: {}", kind.how(), kind.durability()));
    findings.tables.push(windows(&name, &outcome.windows));
    totals(findings, &name, outcome);
    plot(findings, "rate", "messages/s", &name, &outcome.windows, Window::rate);
    plot(findings, "stall", "ms", &name, &outcome.windows, |window| window.stall_ms);
    for (error, count) in &outcome.errors {
        findings.notes.push(format!("{name}: an operation failed {count} times: {error}"));
    }
    if let Some(why) = &turn.failed {
        let why = format!("{name}: {why}");
        if kind.is_ours() || findings.incomplete.is_some() {
            findings.incomplete.get_or_insert(why);
        } else {
            findings.notes.push(format!("a turn that ended early: {why}"));
        }
        return;
    }
    let own = turn.conditions.iter().cloned().map(|condition| {
        let target = format!("{name}: {}", condition.target);
        Condition { target, ..condition }
    });
    let general = kind.is_ours().then(|| conditions(about, &name, outcome));
    let asked = general.into_iter().flatten().chain(own);
    let (judged, told): (Vec<_>, Vec<_>) =
        asked.partition(|one| kind.is_ours() && !(smoke && one.limits_a_time()));
    findings.conditions.extend(judged);
    findings.notes.extend(told.into_iter().map(|condition| {
        let met = if condition.pass { "is met" } else { "is missed" };
        format!("{} {met}: {} {}", condition.target, number(condition.figure), condition.unit)
    }));
}

/// What is asked of every day.
fn conditions(about: &About, name: &str, outcome: &Outcome) -> Vec<Condition> {
    let verdict = &outcome.verdict;
    let none = |what: &str, count: u64| {
        Condition::at_most(&format!("{name}: {what}"), "messages", count as f64, 0.0)
    };
    // One that began in the fault may end in the recovery, and is counted whole there.
    let from_fault = [Phase::Fault, Phase::Recovery].map(|phase| stall_ms(&outcome.windows, phase));
    let during = from_fault.into_iter().fold(f64::NAN, f64::max);
    let stall = format!("{name}: longest stall of the others");
    let recovery = format!("{name}: recovery");
    let silent = format!("{name}: the others without a receive, after the fault");
    let mut conditions = vec![
        Condition::at_least(
            format!("{name}: sends that were answered"),
            "messages",
            verdict.sent as f64,
            1.0,
        ),
        none("answered sends lost", verdict.lost),
        none("messages invented", verdict.invented),
        none("repeated without a reason", verdict.again_without_reason),
        Condition::at_most(&recovery, "s", recovery_s(&outcome.windows), about.recovery_s_max),
        Condition::at_most(&silent, "queues", silent_queues(&outcome.windows), 0.0),
    ];
    if about.stall_ms_max.is_finite() {
        conditions.push(Condition::at_most(&stall, "ms", during, about.stall_ms_max));
    }
    conditions
}

/// The longest stall of a phase in milliseconds; not a number for one without windows.
fn stall_ms(windows: &[Window], phase: Phase) -> f64 {
    of(windows, phase).map(|window| window.stall_ms).fold(f64::NAN, f64::max)
}

fn of(windows: &[Window], phase: Phase) -> impl Iterator<Item = &Window> {
    windows.iter().filter(move |window| window.phase == phase)
}

/// Seconds from the end of the fault to the first window in which the others are as before, 0 when
/// that is the first one; not a number when there is none.
pub fn recovery_s(windows: &[Window]) -> f64 {
    let (rate, p99) = (median(windows, Window::rate), median(windows, |window| window.p99_ms));
    let as_before = |window: &&Window| {
        window.rate() >= RATE_AS_BEFORE * rate
            && window.p99_ms <= (P99_AS_BEFORE * p99).max(P99_MS_AS_BEFORE)
    };
    let Some(first) = of(windows, Phase::Recovery).next() else { return f64::NAN };
    let found = of(windows, Phase::Recovery).find(as_before);
    found.map_or(f64::NAN, |window| window.at_s - first.at_s)
}

/// How many queues of the others had no receive in the best window after the fault; not a number
/// when there is none. However slow the machine is, a queue that is served again has some.
pub fn silent_queues(windows: &[Window]) -> f64 {
    of(windows, Phase::Recovery).map(|window| window.silent as f64).fold(f64::NAN, f64::min)
}

/// The median of a figure of the calm windows.
fn median(windows: &[Window], figure: impl Fn(&Window) -> f64) -> f64 {
    let figures: Vec<f64> = of(windows, Phase::Calm).map(figure).collect();
    crate::stats::Summary::of(&figures).map_or(f64::NAN, |summary| summary.median)
}

/// A line for each window, or for as many that follow each other as make the table short.
fn windows(name: &str, windows: &[Window]) -> Table {
    let columns = ["from s", "phase", "sent/s", "received/s", "P99 ms", "stall ms", "longest ms"];
    let mut table = Table::new(&format!("{name}: the others, {BY_TIME}"), &columns);
    let together = windows.len().div_ceil(LINES_MAX).max(1);
    for same in windows.chunk_by(|one, next| one.phase == next.phase) {
        for several in same.chunks(together) {
            let Some(first) = several.first() else { continue };
            let seconds: f64 = several.iter().map(|window| window.seconds).sum();
            let per_s = |count: fn(&Window) -> u64| {
                number(several.iter().map(count).sum::<u64>() as f64 / seconds)
            };
            let most =
                |figure: fn(&Window) -> f64| number(several.iter().map(figure).fold(0.0, f64::max));
            table.row([
                format!("{:.1}", first.at_s),
                first.phase.name().to_owned(),
                per_s(|window| window.sent),
                per_s(|window| window.received),
                most(|window| window.p99_ms),
                most(|window| window.stall_ms),
                most(|window| window.longest_ms),
            ]);
        }
    }
    table
}

/// A line for the contender in the table of all.
fn totals(findings: &mut Findings, name: &str, outcome: &Outcome) {
    const TITLE: &str = "the others, in all";
    let columns = [
        "contender",
        "stall ms calm",
        "stall ms fault",
        "stall ms recovery",
        "recovery s",
        "sent",
        "lost",
        "invented",
        "again",
        "again after a cut",
        "cuts",
        "late starts",
    ];
    let verdict = &outcome.verdict;
    let stalls = Phase::ALL.map(|phase| number(stall_ms(&outcome.windows, phase)));
    let counts = [
        verdict.sent,
        verdict.lost,
        verdict.invented,
        verdict.again_without_reason,
        verdict.again_after_cut,
        outcome.cuts,
        outcome.late_starts,
    ];
    let place = findings.tables.iter().position(|table| table.title == TITLE);
    let mut table = match place {
        Some(place) => findings.tables.remove(place),
        None => Table::new(TITLE, &columns),
    };
    let cells = std::iter::once(name.to_owned()).chain(stalls);
    let cells = cells.chain([number(recovery_s(&outcome.windows))]);
    table.row(cells.chain(counts.map(|count| count.to_string())));
    findings.tables.insert(0, table);
}

/// Adds a line for each phase to a plot by time.
fn plot(
    findings: &mut Findings,
    what: &str,
    unit: &str,
    name: &str,
    windows: &[Window],
    figure: impl Fn(&Window) -> f64,
) {
    let series = Phase::ALL.into_iter().map(|phase| Series {
        name: format!("{name}, {}", phase.name()),
        points: of(windows, phase).map(|window| (window.at_s, figure(window))).collect(),
    });
    if let Some(plot) = findings.plots.iter_mut().find(|plot| plot.name == what) {
        plot.series.extend(series);
        return;
    }
    findings.plots.push(Plot {
        name: what.to_owned(),
        title: format!("{}: {what} of the others", findings.title),
        x: Axis::linear("s"),
        y: Axis::linear(unit),
        series: series.collect(),
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::badday::account::Verdict;
    use crate::badday::day::Day;
    use crate::badday::days::herd::Herd;

    fn window(at_s: f64, phase: Phase, received: u64, p99_ms: f64) -> Window {
        let (sent, stall_ms, silent) = (received, 10.0 * p99_ms, u64::from(received == 0));
        let (seconds, longest_ms) = (1.0, p99_ms);
        Window { at_s, seconds, phase, sent, received, p99_ms, longest_ms, stall_ms, silent }
    }

    fn outcome(verdict: Verdict, after: [u64; 2]) -> Outcome {
        let windows = vec![
            window(0.0, Phase::Calm, 100, 2.0),
            window(1.0, Phase::Fault, 10, 40.0),
            window(2.0, Phase::Recovery, after[0], 3.0),
            window(3.0, Phase::Recovery, after[1], 3.0),
        ];
        Outcome { windows, verdict, ..Outcome::default() }
    }

    fn missed(outcome: Outcome) -> Vec<String> {
        missed_in(outcome, false)
    }

    fn missed_in(outcome: Outcome, smoke: bool) -> Vec<String> {
        let mut findings = Findings::new("badday-herd", "a herd", &std::env::temp_dir());
        let turn = Turn { outcome, ..Turn::default() };
        add(&mut findings, &Herd::ABOUT, Kind::SlipringBeanstalkd, &turn, smoke);
        let missed = findings.conditions.into_iter().filter(|condition| !condition.pass);
        missed.map(|condition| condition.target).collect()
    }

    #[test]
    fn a_loss_a_stall_and_a_late_recovery_are_missed_checks() {
        let clean = Verdict { sent: 1, ..Verdict::default() };
        assert_eq!(missed(outcome(clean, [90, 100])), Vec::<String>::new());
        let lost = Verdict { lost: 1, ..clean };
        assert!(missed(outcome(lost, [90, 100])).concat().contains("answered sends lost"));
        assert!(missed(outcome(clean, [0, 0])).concat().contains("recovery"));
        let mut stalled = outcome(clean, [90, 100]);
        stalled.windows[2].stall_ms = 600.0;
        assert!(missed(stalled).concat().contains("longest stall of the others"));
        assert!(!missed(Outcome::default()).is_empty());
    }

    #[test]
    fn a_smoke_run_is_judged_by_what_comes_and_not_by_times() {
        let clean = Verdict { sent: 1, ..Verdict::default() };
        let mut slow = outcome(Verdict { lost: 1, ..clean }, [0, 1]);
        slow.windows[2].stall_ms = 600.0;
        let lost = missed_in(slow, true);
        assert!(matches!(&lost[..], [lost] if lost.contains("answered sends lost")), "{lost:?}");
        let stuck = missed_in(outcome(clean, [0, 0]), true);
        assert!(matches!(&stuck[..], [stuck] if stuck.contains("without a receive")), "{stuck:?}");
    }

    #[test]
    fn a_recovery_counts_from_the_end_of_the_fault() {
        let of = |after| recovery_s(&outcome(Verdict::default(), after).windows);
        assert_eq!((of([100, 100]), of([10, 100])), (0.0, 1.0));
        assert!(of([10, 10]).is_nan());
    }
}
