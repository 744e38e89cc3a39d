//! The table for people.

use super::conditions::Change;
use super::report::{ContenderReport, Held, Report, Round, RowReport};
use crate::run::condition::number;

/// How many waits of a contender are shown, the most frequent first.
const WAITS_SHOWN: usize = 5;
/// How many tables with dead rows are shown.
const TABLES_SHOWN: usize = 3;

/// Everything that a run prints.
pub fn text(report: &Report) -> String {
    let rows: String = report.rows.iter().map(row).collect();
    format!("{}{rows}{}", head(report), report.summary())
}

/// Machine, versions, settings and the way of measuring.
pub fn head(report: &Report) -> String {
    let sizes = report.details.sizes;
    let mut text = report.head.text();
    let pairs: Vec<String> =
        report.details.settings.iter().map(|(k, v)| format!("{k}={v}")).collect();
    text += &format!("PostgreSQL: {}\n", pairs.join(", "));
    let slipring = report.head.machine.versions.get("slipring").map_or("?", String::as_str);
    text += &format!(
        "slipring {slipring}; 100-byte bodies; {} rounds of {} s by turns, {} min held open\n",
        sizes.rounds, sizes.seconds, sizes.minutes
    );
    if sizes.smoke {
        text += "SMOKE SIZES: the answers are checked, the figures mean nothing\n";
    }
    text
}

/// One row with its contenders.
pub fn row(row: &RowReport) -> String {
    let mut text = format!("\n{}: {}\n", row.name, row.what);
    text += &format!(
        "  {:<16} {:>11} {:>7} {:>9} {:>9} {:>9} {:>9} {:>9} {:>11}\n",
        "", "messages/s", "± %", "P50 ms", "P99 ms", "WAL B/msg", "commits/", "dead", "changed/M"
    );
    for contender in &row.contenders {
        text += &contender_text(contender);
    }
    for contender in &row.contenders {
        text += &details(contender);
    }
    for condition in &row.conditions {
        text += &format!("  {}\n", condition.text());
    }
    text
}

/// The line of figures of a contender.
fn contender_text(contender: &ContenderReport) -> String {
    let Some(rate) = &contender.rate else {
        let trouble = contender.trouble.as_deref().unwrap_or("not measured");
        return format!("  {:<16} {trouble}\n", contender.name);
    };
    let per_message =
        |of: fn(&Round) -> f64| contender.median(|round| round.per_message(of(round)));
    format!(
        "  {:<16} {:>11} {:>7.1} {:>9} {:>9} {:>9} {:>9} {:>9} {:>11}\n",
        contender.name,
        number(rate.median),
        rate.spread_percent(),
        number(contender.latency(|p| p.p50_us) / 1000.0),
        number(contender.latency(|p| p.p99_us) / 1000.0),
        number(per_message(|round| round.cost.wal_bytes)),
        short(per_message(|round| round.cost.commits)),
        number(contender.median(|round| Some(round.cost.tables.dead_rows() as f64))),
        number(per_message(|round| round.cost.tables.changed as f64 * 1e6)),
    )
}

/// Version, way of driving, trouble, waits, windows.
fn details(contender: &ContenderReport) -> String {
    let Some(last) = contender.rounds.last() else { return String::new() };
    let mut text =
        format!("  {}: {}; {}\n", contender.name, contender.ready.version, contender.ready.how);
    let mut line = |what: &str, words: String| {
        if !words.is_empty() {
            text += &format!("  {:<16}   {what}: {words}\n", "");
        }
    };
    line("WRONG", contender.trouble.clone().unwrap_or_default());
    line("backends", waits(&contender.rounds));
    let dead = last.cost.tables.dead.iter();
    let mut dead: Vec<_> = dead.collect();
    dead.sort_by_key(|(_, rows)| std::cmp::Reverse(**rows));
    let dead = dead.into_iter().take(TABLES_SHOWN);
    let dead: Vec<String> = dead.map(|(name, rows)| format!("{name} {rows}")).collect();
    line("dead rows", dead.join(", "));
    let figures = last.answer.figures.iter();
    let figures: Vec<String> =
        figures.map(|(name, figure)| format!("{name} {}", number(*figure))).collect();
    line("figures", figures.join(", "));
    if last.answer.sent == 0 {
        let cpu = last.cost.cpu_seconds.map_or(String::new(), |s| format!(", CPU {s:.2} s"));
        let (wal, commits) = (number(last.cost.wal_bytes), number(last.cost.commits));
        line("PostgreSQL", format!("WAL {wal} bytes, {commits} commits{cpu}"));
    }
    line("windows", windows(contender, last));
    text
}

/// What the backends did, in percent of the samples of all rounds.
fn waits(rounds: &[Round]) -> String {
    let mut sums = std::collections::BTreeMap::<&str, i64>::new();
    for (name, count) in rounds.iter().flat_map(|round| &round.cost.waits) {
        *sums.entry(name).or_default() += count;
    }
    let all: i64 = sums.values().sum();
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let shown = sums.into_iter().take(WAITS_SHOWN);
    let percent = |count: i64| count as f64 / all.max(1) as f64 * 100.0;
    let shown: Vec<String> =
        shown.map(|(name, count)| format!("{name} {:.0} %", percent(count))).collect();
    shown.join(", ")
}

/// How a contender fared while something was held open.
fn windows(contender: &ContenderReport, last: &Round) -> String {
    let Some(change) = Change::of(contender) else { return String::new() };
    let worst = last.windows.iter().map(|phase| phase.dead_rows).max().unwrap_or(0);
    let size = |phase| {
        let found = last.windows.iter().rfind(|p| p.phase == phase);
        found.map_or(f64::NAN, |phase| phase.bytes as f64 / 1e6)
    };
    format!(
        "{} → {}/s, P99 {} → {} ms, most dead rows {}, tables {} → {} → {} MB",
        number(change.rate.0),
        number(change.rate.1),
        number(change.p99_us.0 / 1000.0),
        number(change.p99_us.1 / 1000.0),
        number(worst as f64),
        number(size(Held::Before)),
        number(size(Held::During)),
        number(size(Held::After)),
    )
}

/// A figure that may be far below one.
fn short(figure: f64) -> String {
    if figure.is_nan() { "?".to_owned() } else { format!("{figure:.4}") }
}
