//! The printed table.

use super::bench::OTHERS;
use super::condition::number;
use super::held::Phase;
use super::report::{Report, RowReport};
use super::rounds::{ContenderReport, Round, WindowReport};
use crate::findings::Table;
use crate::rows::conditions::Change;
use crate::targets::Wait;

/// How many waits are shown: of a contender's backends the most frequent, of ours the longest.
const BACKEND_WAITS_SHOWN: usize = 5;
const WAITS_SHOWN: usize = 8;
/// How many tables with dead rows are shown.
const TABLES_SHOWN: usize = 3;
/// Less work of other programs than this is the machine's own housekeeping.
const OTHERS_SHOWN_PERCENT: f64 = 15.0;

/// Everything that a run prints.
pub fn text(report: &Report) -> String {
    let rows: String = report.rows.iter().map(row).collect();
    format!("{}{rows}{}", head(report), report.summary())
}

/// Machine, versions, settings and the way of measuring.
pub fn head(report: &Report) -> String {
    let pairs = |pairs: &std::collections::BTreeMap<String, String>, between: &str| {
        pairs.iter().map(|(name, value)| format!("{name}{between}{value}")).collect::<Vec<_>>()
    };
    let mut text = report.head.text();
    text += &format!("{}\n", pairs(&report.head.machine.versions, ": ").join("; "));
    if !report.settings.is_empty() {
        text += &format!("PostgreSQL: {}\n", pairs(&report.settings, "=").join(", "));
    }
    let sizes = report.sizes;
    text += &format!(
        "100-byte bodies; {} rounds of {} s by turns; median, and spread (max − min); \
         transactions are held open for {} min\n",
        sizes.rounds, sizes.seconds, sizes.minutes
    );
    if sizes.smoke {
        text += "SMOKE SIZES: the answers are checked, the figures mean nothing\n";
    }
    text
}

/// One row with its contenders.
pub fn row(row: &RowReport) -> String {
    let mut text = format!("\n{}\n", figures(row).text());
    for contender in &row.contenders {
        text += &details(contender);
    }
    for condition in &row.conditions {
        text += &format!("  {}\n", condition.text());
    }
    let ours = row.contenders.iter().find(|contender| contender.name.starts_with("ours"));
    let last = ours.and_then(|contender| contender.rounds.last());
    text + &last.map_or(String::new(), |round| waits(&round.waits))
}

/// The line of figures of each contender.
fn figures(row: &RowReport) -> Table {
    let costs = row.contenders.iter().flat_map(|one| &one.rounds).any(|one| one.cost.is_some());
    let mut columns = vec!["", "messages/s", "± %", "P50 ms", "P99 ms"];
    if costs {
        columns.extend(["WAL B/msg", "commits/msg", "dead", "changed/M"]);
    }
    let mut table = Table::new(&format!("{}: {}", row.name, row.what), &columns);
    for contender in &row.contenders {
        table.row(cells(contender));
    }
    table
}

fn cells(contender: &ContenderReport) -> Vec<String> {
    let name = contender.name.clone();
    let Some(rate) = &contender.rate else { return vec![name] };
    let cost = |of: fn(&Round) -> Option<f64>| contender.median(of);
    vec![
        name,
        number(rate.median),
        format!("{:.1}", rate.spread_percent()),
        short(contender.latency(|p| p.p50_us) / 1000.0),
        short(contender.latency(|p| p.p99_us) / 1000.0),
        number(cost(|round| round.per_message(round.cost.as_ref()?.wal_bytes))),
        short(cost(|round| round.per_message(round.cost.as_ref()?.commits))),
        number(cost(|round| Some(round.cost.as_ref()?.tables.dead_rows() as f64))),
        number(cost(|round| round.per_message(round.cost.as_ref()?.tables.changed as f64 * 1e6))),
    ]
}

/// Version, way of driving, trouble, figures, latencies, waits, windows.
fn details(contender: &ContenderReport) -> String {
    let unfinished = unfinished(&contender.unfinished);
    let Some(last) = contender.rounds.last() else {
        let trouble = contender.trouble.as_deref().unwrap_or("not measured");
        return format!("  {}: {trouble}{unfinished}\n", contender.name);
    };
    let ready = &contender.ready;
    let said = [&ready.version, &ready.how, &ready.durability];
    let said: Vec<&str> = said.iter().map(|s| s.as_str()).filter(|s| !s.is_empty()).collect();
    let mut text = format!("  {}: {}{unfinished}\n", contender.name, said.join("; "));
    let mut line = |what: &str, words: String| {
        if !words.is_empty() {
            text += &format!("      {what}: {words}\n");
        }
    };
    line("WRONG", contender.trouble.clone().unwrap_or_default());
    line("CPU", processors(last));
    line("figures", further(last));
    for (name, spread) in &last.answer.latencies {
        let p = spread.percentiles();
        let [p50, p95, p99] = [p.p50_us, p.p95_us, p.p99_us].map(number);
        let (p999, max) = (number(p.p999_us), number(p.max_us));
        line(name, format!("P50 {p50} P95 {p95} P99 {p99} P99.9 {p999} max {max} µs"));
    }
    line("backends", backends(&contender.rounds));
    line("dead rows", dead_rows(last));
    line("windows", windows(contender, last));
    text
}

/// Processor time of the last round.
fn processors(last: &Round) -> String {
    let parts = [
        ("load", last.answer.load.map(|usage| usage.cpu_seconds)),
        ("server", last.answer.server.map(|usage| usage.cpu_seconds)),
        ("PostgreSQL", last.cost.as_ref().and_then(|cost| cost.cpu_seconds)),
    ];
    let told = parts.into_iter().filter_map(|(name, s)| Some(format!("{name} {:.2} s", s?)));
    told.collect::<Vec<_>>().join(", ")
}

/// Further figures of the last round, and the costs of one in which nothing was sent.
fn further(last: &Round) -> String {
    let quiet = |name: &str, value: f64| name == OTHERS && value < OTHERS_SHOWN_PERCENT;
    let figures = last.answer.figures.iter().filter(|(name, value)| !quiet(name, **value));
    let mut told: Vec<String> =
        figures.map(|(name, figure)| format!("{name} {}", number(*figure))).collect();
    if let Some(cost) = last.cost.as_ref().filter(|_| last.answer.checks.sent == 0) {
        told.push(format!("WAL {} bytes", number(cost.wal_bytes)));
        told.push(format!("{} commits", number(cost.commits)));
    }
    told.join(", ")
}

/// The tables with the most dead rows.
fn dead_rows(last: &Round) -> String {
    let dead = last.cost.iter().flat_map(|cost| &cost.tables.dead);
    let mut dead: Vec<_> = dead.collect();
    dead.sort_by_key(|(_, rows)| std::cmp::Reverse(**rows));
    let dead = dead.into_iter().take(TABLES_SHOWN);
    dead.map(|(name, rows)| format!("{name} {rows}")).collect::<Vec<_>>().join(", ")
}

/// What the backends of PostgreSQL did, in percent of the samples of all rounds.
fn backends(rounds: &[Round]) -> String {
    let mut sums = std::collections::BTreeMap::<&str, i64>::new();
    let costs = rounds.iter().filter_map(|round| round.cost.as_ref());
    for (name, count) in costs.flat_map(|cost| &cost.waits) {
        *sums.entry(name).or_default() += count;
    }
    let all: i64 = sums.values().sum();
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let shown = sums.into_iter().take(BACKEND_WAITS_SHOWN);
    let percent = |count: i64| count as f64 / all.max(1) as f64 * 100.0;
    let shown = shown.map(|(name, count)| format!("{name} {:.0} %", percent(count)));
    shown.collect::<Vec<_>>().join(", ")
}

/// How a contender fared while something was held open.
fn windows(contender: &ContenderReport, last: &Round) -> String {
    let Some(change) = Change::of(contender) else { return String::new() };
    let [before, end] = [change.rate.0, change.rate.1].map(number);
    let [p99_before, p99_end] = [change.p99_us.0, change.p99_us.1].map(|us| number(us / 1000.0));
    let mut text = format!("{before} → {end}/s, P99 {p99_before} → {p99_end} ms");
    let stalls = last.windows.iter().filter_map(|window| window.window.stall_max_ms);
    if let Some(stall) = stalls.reduce(f64::max) {
        text += &format!(", longest stall {} ms", number(stall));
    }
    if let Some(dead) = last.windows.iter().filter_map(|window| window.dead_rows).max() {
        text += &format!(", most dead rows {}", number(dead as f64));
    }
    let size = |phase| {
        let found = last.windows.iter().rfind(|window| window.phase == phase);
        found.and_then(|window| window.bytes).map(|bytes| number(bytes as f64 / 1e6))
    };
    let sizes: Vec<String> =
        [Phase::Before, Phase::During, Phase::After].into_iter().filter_map(size).collect();
    if !sizes.is_empty() {
        text += &format!(", tables {} MB", sizes.join(" → "));
    }
    text
}

/// What was seen of a round that did not come to its end.
fn unfinished(windows: &[WindowReport]) -> String {
    let (Some(first), Some(last)) = (windows.first(), windows.last()) else {
        return String::new();
    };
    let rate = |one: &WindowReport| number(one.window.received as f64 / one.window.seconds);
    let (count, first, last) = (windows.len(), rate(first), rate(last));
    format!("; {count} windows of a round without end, from {first} to {last}/s")
}

/// The wait table of ours in the last round, the longest waits first.
fn waits(waits: &[Wait]) -> String {
    let mut waits: Vec<&Wait> = waits.iter().filter(|wait| wait.contended > 0).collect();
    waits.sort_by_key(|wait| std::cmp::Reverse(wait.total_ns));
    if waits.is_empty() {
        return String::new();
    }
    let columns = ["", "taken", "waited", "total ms", "P95 µs", "max ms"];
    let mut table = Table::new("waits of ours in the last round", &columns);
    for wait in waits.into_iter().take(WAITS_SHOWN) {
        table.row([
            wait.name.clone(),
            wait.acquisitions.to_string(),
            wait.contended.to_string(),
            format!("{:.1}", wait.total_ns as f64 / 1e6),
            format!("{:.1}", wait.p95_ns as f64 / 1e3),
            format!("{:.2}", wait.max_ns as f64 / 1e6),
        ]);
    }
    table.text()
}

/// A figure that may be far below one.
fn short(figure: f64) -> String {
    match figure {
        figure if figure.is_nan() => "?".to_owned(),
        figure if figure < 0.1 => format!("{figure:.4}"),
        figure => number(figure),
    }
}
