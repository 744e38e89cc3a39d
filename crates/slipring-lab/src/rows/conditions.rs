//! What is asked of rows, in figures.

use crate::peers::Peer;
use crate::run::condition::Condition;
use crate::run::held::Phase;
use crate::run::rounds::{ContenderReport, Round, WindowReport};
use crate::stats::{Percentiles, Summary};

/// The contender that most targets of PostgreSQL's table are multiples of.
pub const SKIP_LOCKED: &str = "skip locked";

/// The contender of a name.
fn named<'a>(contenders: &'a [ContenderReport], name: &str) -> Option<&'a ContenderReport> {
    contenders.iter().find(|contender| contender.name == name)
}

/// The median rate of a contender; not a number for one that is not there, which meets nothing.
pub fn rate(contenders: &[ContenderReport], name: &str) -> f64 {
    let rate = named(contenders, name).and_then(|contender| contender.rate.as_ref());
    rate.map_or(f64::NAN, |rate| rate.median)
}

/// The median rate of one contender is at least `factor` times that of another.
pub fn times(contenders: &[ContenderReport], own: &str, other: &str, factor: f64) -> Condition {
    Condition::times(rate(contenders, own), rate(contenders, other), other, factor)
}

/// The median of a figure over the rounds of a contender.
pub fn figure(contenders: &[ContenderReport], contender: &str, name: &str) -> f64 {
    median(contenders, contender, |round| round.answer.figures.get(name).copied())
}

/// The largest of a figure over the rounds of a contender.
pub fn peak(contenders: &[ContenderReport], contender: &str, name: &str) -> f64 {
    worst(contenders, contender, |contender| {
        let rounds = contender.rounds.iter();
        rounds.filter_map(|round| round.answer.figures.get(name).copied()).collect()
    })
}

/// The median over the rounds of a contender of one percentile.
pub fn latency(
    contenders: &[ContenderReport],
    contender: &str,
    name: &str,
    which: fn(&Percentiles) -> f64,
) -> f64 {
    let of = |round: &Round| Some(which(&round.answer.latencies.get(name)?.percentiles()));
    median(contenders, contender, of)
}

fn median(contenders: &[ContenderReport], name: &str, of: impl Fn(&Round) -> Option<f64>) -> f64 {
    named(contenders, name).map_or(f64::NAN, |contender| contender.median(of))
}

/// As [`times`], of the fastest peer whose messages each have an outcome of their own.
pub fn times_fastest_peer(contenders: &[ContenderReport], ours: &str, factor: f64) -> Condition {
    let peers = Peer::ALL.iter().filter(|peer| peer.outcome_per_message());
    let names = peers.map(|peer| peer.name()).chain([SKIP_LOCKED]);
    let (name, theirs) = fastest(contenders, names).unwrap_or(("the fastest peer", f64::NAN));
    Condition::times(rate(contenders, ours), theirs, name, factor)
}

/// As [`times`], of the fastest of several, the first where none was measured.
pub fn times_fastest(
    contenders: &[ContenderReport],
    ours: &str,
    others: &[&str],
    factor: f64,
) -> Condition {
    let first = others.first().copied().unwrap_or_default();
    let found = fastest(contenders, others.iter().copied());
    let (name, theirs) = found.unwrap_or((first, f64::NAN));
    Condition::times(rate(contenders, ours), theirs, name, factor)
}

fn fastest<'a>(
    contenders: &[ContenderReport],
    names: impl Iterator<Item = &'a str>,
) -> Option<(&'a str, f64)> {
    let rates = names.map(|name| (name, rate(contenders, name))).filter(|(_, rate)| !rate.is_nan());
    rates.max_by(|a, b| a.1.total_cmp(&b.1))
}

/// No table of users holds a dead row in the end of any round.
pub fn no_dead_rows(contenders: &[ContenderReport], contender: &str) -> Condition {
    let of = |round: &Round| {
        let dead = round.cost.as_ref()?.tables.dead_rows() as f64;
        round.per_message(dead * 1e6)
    };
    let worst =
        worst(contenders, contender, |contender| contender.rounds.iter().filter_map(of).collect());
    Condition::at_most(&format!("{contender}: dead rows per million"), "rows", worst, 0.0)
}

/// No table of users holds a dead row at the end of any window.
pub fn no_dead_rows_in_windows(contenders: &[ContenderReport], contender: &str) -> Condition {
    let worst = worst(contenders, contender, |contender| {
        phases(contender).filter_map(|p| Some(p.dead_rows? as f64)).collect()
    });
    Condition::at_most(&format!("{contender}: dead rows while held"), "rows", worst, 0.0)
}

/// The noise of a count: a batch more or less falls into a window.
const COUNTING: f64 = 0.02;

/// Rate and P99 at the end of what is held open are those from before.
pub fn unmoved(contenders: &[ContenderReport], name: &str) -> Vec<Condition> {
    let contender = named(contenders, name);
    let change = contender.and_then(Change::of).unwrap_or_default();
    let rate = Condition::at_least(
        format!("1 × the rate before, less {:.0} % for counting, {name}", COUNTING * 100.0),
        "messages/s",
        change.rate.1,
        (1.0 - COUNTING) * change.rate.0,
    );
    let slower = change.p99_us.1 / change.p99_us.0;
    vec![rate, Condition::at_most(&format!("{name}: P99 in the end / before"), "×", slower, 1.5)]
}

/// What grew while a transaction was held open has gone when it has ended: a fifth of it, and a
/// rotation's worth of a new table, may be left; of little growth no more than seven tenths.
pub fn retired(contenders: &[ContenderReport], name: &str) -> Condition {
    const ROTATION_MB: f64 = 64.0;
    let contender = named(contenders, name);
    let last = |phase| {
        let found = contender.into_iter().flat_map(phases).filter(move |p| p.phase == phase).last();
        found.and_then(|phase| phase.bytes).map_or(f64::NAN, |bytes| bytes as f64 / 1e6)
    };
    let (before, held, after) = (last(Phase::Before), last(Phase::During), last(Phase::After));
    let growth = (held - before).max(0.0);
    let allowed = before + growth / 5.0 + ROTATION_MB.min(growth / 2.0);
    Condition::at_most(&format!("{name}: tables after it ended"), "MB", after, allowed)
}

/// How rate and P99 changed while something was held open.
#[derive(Debug, Clone, Copy)]
pub struct Change {
    /// Messages received per second, before and in the end.
    pub rate: (f64, f64),
    /// P99 from the due time in microseconds, before and in the end.
    pub p99_us: (f64, f64),
}

impl Default for Change {
    fn default() -> Change {
        Change { rate: (f64::NAN, f64::NAN), p99_us: (f64::NAN, f64::NAN) }
    }
}

impl Change {
    /// Of the windows of a contender: the median before, and that of the last fifth of the windows
    /// while it was held.
    pub fn of(contender: &ContenderReport) -> Option<Change> {
        let of = |phase| -> Vec<&WindowReport> {
            phases(contender).filter(|p| p.phase == phase).collect()
        };
        let (before, held) = (of(Phase::Before), of(Phase::During));
        let (_, end) = held.split_at_checked(held.len() - held.len().div_ceil(5))?;
        let rate = |phases: &[&WindowReport]| {
            let rates = phases.iter().map(|p| p.window.received as f64 / p.window.seconds);
            Summary::of(&rates.collect::<Vec<_>>()).map(|summary| summary.median)
        };
        let p99 = |phases: &[&WindowReport]| {
            let figures = phases.iter().map(|p| p.window.end_to_end.percentiles().p99_us);
            Summary::of(&figures.collect::<Vec<_>>()).map(|summary| summary.median)
        };
        Some(Change { rate: (rate(&before)?, rate(end)?), p99_us: (p99(&before)?, p99(end)?) })
    }
}

/// 95 of 100 wakes take at most so many milliseconds.
pub fn wakes_within(contenders: &[ContenderReport], contender: &str, ms: f64) -> Condition {
    let p95 = latency(contenders, contender, "wake", |p| p.p95_us);
    Condition::at_most(&format!("{contender}: P95 send to wake"), "ms", p95 / 1000.0, ms)
}

/// Doing nothing writes no WAL and takes under one percent of a processor, ours and
/// PostgreSQL's together.
pub fn costs_nothing(contenders: &[ContenderReport], contender: &str) -> Vec<Condition> {
    let of = |figure: fn(&Round) -> Option<f64>| median(contenders, contender, figure);
    let cpu = |round: &Round| {
        let driver = round.answer.figures.get("driver_cpu_seconds")?;
        // Unknown where the server was not started here: that meets nothing.
        let both = driver + round.cost.as_ref()?.cpu_seconds?;
        Some(both / round.answer.seconds * 100.0)
    };
    vec![
        Condition::at_most("WAL", "bytes", of(|round| Some(round.cost.as_ref()?.wal_bytes)), 0.0),
        Condition::at_most("CPU, ours and PostgreSQL's", "%", of(cpu), 1.0),
    ]
}

fn phases(contender: &ContenderReport) -> impl Iterator<Item = &WindowReport> {
    contender.rounds.iter().flat_map(|round| &round.windows)
}

fn worst(
    contenders: &[ContenderReport],
    name: &str,
    of: impl Fn(&ContenderReport) -> Vec<f64>,
) -> f64 {
    let contender = named(contenders, name);
    contender.map(of).unwrap_or_default().into_iter().fold(f64::NAN, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::protocol::{Answer, Ready, Spread, Window};
    use crate::ledger::Checks;
    use crate::run::meter::Cost;
    use crate::targets::Kind;
    use crate::workloads::{Settings, Work};

    fn phase(phase: Phase, received: u64, p99_us: f64, dead_rows: i64, bytes: i64) -> WindowReport {
        let end_to_end = Spread::Buckets(vec![(p99_us, 100)]);
        let window =
            Window { seconds: 2.0, sent: received, received, end_to_end, stall_max_ms: None };
        WindowReport { phase, window, dead_rows: Some(dead_rows), bytes: Some(bytes) }
    }

    fn contender(name: &str, messages: u64, windows: Vec<WindowReport>) -> ContenderReport {
        let settings = Settings::new(Work::Paced, Kind::Postgres);
        let checks = Checks { received: messages, ..Checks::default() };
        let answer = Answer::new(messages, 1.0, checks);
        let cost = Some(Cost::default());
        let round = Round { settings, answer, waits: vec![], cost, windows };
        let mut contender = ContenderReport::new(name);
        contender.add(Ready::default(), round);
        contender
    }

    #[test]
    fn a_rate_that_falls_and_a_latency_that_grows_while_something_is_held_are_misses() {
        let before = || phase(Phase::Before, 4000, 10_000.0, 0, 0);
        let steady = phase(Phase::During, 3930, 14_000.0, 0, 0);
        let fallen = phase(Phase::During, 3900, 16_000.0, 5, 0);
        let of =
            |end| contender("ours", 1, vec![before(), phase(Phase::During, 1, 1.0, 0, 0), end]);
        // Only the end of what is held counts, not its first window.
        let good = [of(steady)];
        assert!(unmoved(&good, "ours").iter().all(|condition| condition.pass));
        assert!(no_dead_rows_in_windows(&good, "ours").pass);
        let bad = [of(fallen)];
        assert!(unmoved(&bad, "ours").iter().all(|condition| !condition.pass));
        assert!(!no_dead_rows_in_windows(&bad, "ours").pass);
    }

    #[test]
    fn doing_nothing_for_an_unknown_cost_is_a_miss() {
        let of = |cpu_seconds| {
            let mut contender = contender("ours", 0, vec![]);
            let round = &mut contender.rounds[0];
            round.answer.figures.insert("driver_cpu_seconds".to_owned(), 0.001);
            round.cost.as_mut().unwrap().cpu_seconds = cpu_seconds;
            costs_nothing(&[contender], "ours").remove(1).pass
        };
        assert!(of(Some(0.005)));
        assert!(!of(Some(0.02)));
        assert!(!of(None));
    }

    #[test]
    fn tables_that_stay_as_large_as_they_grew_are_a_miss() {
        let of = |after| {
            let held = phase(Phase::During, 1, 1.0, 0, 1_000_000_000);
            contender("ours", 1, vec![phase(Phase::Before, 1, 1.0, 0, 0), held, after])
        };
        assert!(retired(&[of(phase(Phase::After, 1, 1.0, 0, 250_000_000))], "ours").pass);
        assert!(!retired(&[of(phase(Phase::After, 1, 1.0, 0, 300_000_000))], "ours").pass);
    }

    #[test]
    fn the_fastest_peer_is_one_whose_messages_have_outcomes_of_their_own() {
        let contenders = [
            contender("ours", 900, vec![]),
            contender("pgq", 800, vec![]),
            contender("awa", 300, vec![]),
        ];
        let condition = times_fastest_peer(&contenders, "ours", 3.0);
        assert!(condition.pass && condition.target.contains("awa"), "{condition:?}");
        assert_eq!(condition.ratio, Some(3.0));
        for (names, factor, pass) in
            [(["awa", "pgq"], 1.1, true), (["awa", "pgq"], 1.2, false), (["awa", "no"], 3.0, true)]
        {
            assert_eq!(times_fastest(&contenders, "ours", &names, factor).pass, pass);
        }
        assert!(!times_fastest(&contenders, "ours", &["no"], 1.0).pass);
    }
}
