//! What the case must show, as pass or miss.

use super::contender::Kind;
use super::found::{Found, StormRuns, p95_ratio};
use super::published;
use super::sizes::Sizes;
use super::wake::Busy;
use crate::run::condition::Condition;

/// P95 among many is at most so many times that of one.
const GROWTH_MAX: f64 = 1.2;
/// P95 of queue B beside queue A is at most so many times that alone.
const NEIGHBOUR_MAX: f64 = 1.1;
/// Ten thousand idle receives use at most so much of one processor, in percent.
const IDLE_PERCENT_MAX: f64 = 1.0;
/// The published mean wait for the latch grew by far more from 10 to 300 threads.
const LATCH_GROWTH_MIN: f64 = 3.0;
/// A mean wait below this, in milliseconds, counts as this: it is the cost of the clock.
const LATCH_MS_MIN: f64 = 0.000_1;
/// Queue B was hurt by more than this in the published run: 17 ms beyond the time-out beside A,
/// 5 ms alone.
const HURT_MIN: f64 = 1.5;

const OURS: [Kind; 2] = [Kind::Memory, Kind::Sqlite];

/// All checks.
pub fn all(found: &Found, sizes: &Sizes) -> Vec<Condition> {
    let most = sizes.most();
    let mut checks = Vec::new();
    for kind in OURS {
        checks.push(growth(found, kind, most, 0));
        checks.push(growth(found, kind, sizes.most_among_idle(), sizes.idle));
        for idle in [0, sizes.idle] {
            let name = format!("{}: P95 of B beside A / alone{}", kind.name(), among(idle));
            let ratio = neighbour_ratio(found, kind, idle);
            checks.push(Condition::at_most(&name, "×", ratio, NEIGHBOUR_MAX));
        }
        let idle = found.idles.iter().find(|(of, _)| *of == kind).map(|(_, idle)| idle);
        let percent = idle.map_or(f64::NAN, |idle| idle.idle_percent - idle.empty_percent);
        let name = format!("{}: processor of {} idle receives", kind.name(), sizes.idle);
        checks.push(Condition::at_most(&name, "%", percent, IDLE_PERCENT_MAX));
    }
    checks.push(Condition::at_least(
        "ours, memory: messages/s of A, all it can, one latch's".to_owned(),
        "messages/s",
        full_rate(found, Kind::Memory),
        full_rate(found, Kind::OneLatch),
    ));
    let never = |what: &str, count: u64| Condition::at_most(what, "", count as f64, 0.0);
    checks.push(never("waits that ended before their time", found.early()));
    checks.push(never("messages lost, invented or repeated", found.wrong()));
    checks.extend(published_shape(found, sizes));
    checks
}

fn among(idle: usize) -> String {
    if idle > 0 { format!(", {idle} idle") } else { String::new() }
}

fn growth(found: &Found, kind: Kind, most: usize, idle: usize) -> Condition {
    let name = format!("{}: P95 at {most} / at 1{}", kind.name(), among(idle));
    Condition::at_most(&name, "×", storm_ratio(found, kind, most, idle), GROWTH_MAX)
}

/// The P95 beyond the time-out of so many waiters through that of one.
fn storm_ratio(found: &Found, kind: Kind, callers: usize, idle: usize) -> f64 {
    let at = |callers| found.storm(kind, callers, idle, 10);
    let (Some(many), Some(one)) = (at(callers), at(1)) else { return f64::NAN };
    fn rounds(runs: &StormRuns) -> impl Iterator<Item = &super::load::Counted> {
        runs.rounds.iter().map(|round| &round.counted)
    }
    p95_ratio(rounds(many), rounds(one))
}

fn neighbour_ratio(found: &Found, kind: Kind, idle: usize) -> f64 {
    let seen = found.neighbours.iter().find(|(beside, of, _)| (beside.idle, *of) == (idle, kind));
    let Some((_, _, seen)) = seen else { return f64::NAN };
    p95_ratio(seen.beside.waits.iter(), seen.alone.waits.iter())
}

fn full_rate(found: &Found, kind: Kind) -> f64 {
    let full = |runs: &&super::found::WakeRuns| (runs.kind, runs.wake.busy) == (kind, Busy::Full);
    found.wakes.iter().find(full).map_or(f64::NAN, super::found::WakeRuns::busy_rate)
}

/// The published design shows what its author saw.
fn published_shape(found: &Found, sizes: &Sizes) -> Vec<Condition> {
    let mut checks = Vec::new();
    for (idle, most) in [(0, sizes.most()), (sizes.idle, sizes.most_among_idle())] {
        let mean = |callers| {
            let runs = found.storm(Kind::OneLatch, callers, idle, 10);
            runs.map_or(f64::NAN, |runs| runs.latch().mean_ms())
        };
        // The smoke run has few sizes: there it is from 1 waiter on.
        let few = if most > 10 { 10 } else { 1 };
        let name = format!(
            "{LATCH_GROWTH_MIN} × one latch: mean latch wait at {few}, at {most}{}",
            among(idle)
        );
        let needed = LATCH_GROWTH_MIN * mean(few).max(LATCH_MS_MIN);
        checks.push(Condition::at_least(name, "ms", mean(most), needed));
    }
    let most = sizes.most_among_idle();
    let grown = published::TABLE.last().map_or(f64::NAN, |last| {
        let first = published::TABLE.first().map_or(f64::NAN, |first| first.p95_ms);
        (last.p95_ms - published::TIME_OUT_MS) / (first - published::TIME_OUT_MS)
    });
    let name = format!(
        "one latch: P95 at {most} / at 1{}, a third of the published growth",
        among(sizes.idle)
    );
    let ratio = storm_ratio(found, Kind::OneLatch, most, sizes.idle);
    checks.push(Condition::at_least(name, "×", ratio, grown / 3.0));
    let name = format!("one latch: P95 of B beside A / alone{}", among(sizes.idle));
    let ratio = neighbour_ratio(found, Kind::OneLatch, sizes.idle);
    checks.push(Condition::at_least(name, "×", ratio, HURT_MIN));
    checks
}
