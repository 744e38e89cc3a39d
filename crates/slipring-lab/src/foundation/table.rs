//! The table for people.

use super::OTHERS;
use super::report::{ContenderReport, Report, RowReport};
use crate::run::condition::number;
use crate::targets::Wait;

/// How many lines of a wait table are shown, the longest waits first.
const WAITS_SHOWN: usize = 8;

/// Less work of other programs than this is the machine's own housekeeping.
const OTHERS_SHOWN_PERCENT: f64 = 15.0;

/// Prints machine, versions and the way of measuring.
pub fn head(report: &Report) {
    print!("{}", head_text(report));
}

/// Prints one row with its contenders.
pub fn row(row: &RowReport) {
    print!("{}", row_text(row));
}

/// Everything that was printed.
pub fn text(report: &Report) -> String {
    let rows: String = report.rows.iter().map(row_text).collect();
    format!("{}{rows}{}", head_text(report), report.summary())
}

fn head_text(report: &Report) -> String {
    let mut text = report.head.text();
    let versions: Vec<String> = report
        .head
        .machine
        .versions
        .iter()
        .map(|(name, version)| format!("{name}: {version}"))
        .collect();
    text += &format!("{}\n", versions.join("; "));
    text += &format!(
        "100-byte bodies; {} rounds of {} s by turns; median, and spread (max − min)\n",
        report.details.rounds, report.details.seconds
    );
    if report.details.smoke {
        text += "SMOKE SIZES: the answers are checked, the figures mean nothing\n";
    }
    text
}

fn row_text(row: &RowReport) -> String {
    let mut text = format!("\n{}: {}\n", row.name, row.what);
    for contender in &row.contenders {
        text += &contender_text(contender);
    }
    for condition in &row.conditions {
        text += &format!("  {}\n", condition.text());
    }
    let ours = row.contenders.iter().find(|contender| contender.name.starts_with("ours"));
    text + &ours
        .and_then(|contender| contender.rounds.last())
        .map_or(String::new(), |r| waits_text(&r.waits))
}

fn contender_text(contender: &ContenderReport) -> String {
    let Some(rate) = &contender.rate else { return String::new() };
    let mut text = format!(
        "  {:<14} {:>11}/s  ± {:>4.1} %",
        contender.name,
        number(rate.median),
        rate.spread_percent()
    );
    let Some(last) = contender.rounds.last() else { return text + "\n" };
    text += &format!("  [{}]", last.durability);
    if let Some(server) = last.server {
        text += &format!(
            "  CPU load {:.1} s, server {:.1} s",
            last.load.cpu_seconds, server.cpu_seconds
        );
    }
    text.push('\n');
    let quiet = |name: &str, value: f64| name == OTHERS && value < OTHERS_SHOWN_PERCENT;
    for (name, value) in last.figures.iter().filter(|(name, value)| !quiet(name, **value)) {
        text += &format!("  {:14}   {name} {}\n", "", number(*value));
    }
    for (name, p) in &last.latencies {
        text += &format!(
            "  {:14}   {name} µs: P50 {} P95 {} P99 {} P99.9 {} max {}\n",
            "",
            number(p.p50_us),
            number(p.p95_us),
            number(p.p99_us),
            number(p.p999_us),
            number(p.max_us)
        );
    }
    text
}

fn waits_text(waits: &[Wait]) -> String {
    let mut waits: Vec<&Wait> = waits.iter().filter(|wait| wait.contended > 0).collect();
    waits.sort_by_key(|wait| std::cmp::Reverse(wait.total_ns));
    if waits.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "  {:<26} {:>12} {:>12} {:>10} {:>10} {:>10}\n",
        "wait (ours, last round)", "taken", "waited", "total ms", "P95 µs", "max ms"
    );
    for wait in waits.into_iter().take(WAITS_SHOWN) {
        text += &format!(
            "  {:<26} {:>12} {:>12} {:>10.1} {:>10.1} {:>10.2}\n",
            wait.name,
            wait.acquisitions,
            wait.contended,
            wait.total_ns as f64 / 1e6,
            wait.p95_ns as f64 / 1e3,
            wait.max_ns as f64 / 1e6
        );
    }
    text
}
