//! Answers on stdout: tables for people, JSON for programs.

use std::fmt::Write as _;
use std::io::{ErrorKind, Write as _};
use std::time::{Duration, UNIX_EPOCH};

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ContentArrangement, Table};
use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};
use serde::Serialize;
use slipring::{QueueSettings, Timestamp};

use crate::failure::Failure;

/// The first moment of the year 10000.
const YEAR_10000_MS: u64 = 253_402_300_800_000;

/// Prints a value as JSON.
///
/// # Errors
/// A value that has no JSON form; as [`line()`].
pub fn json(value: &impl Serialize) -> Result<(), Failure> {
    line(&json_text(value)?)
}

/// A value as JSON for people and programs.
///
/// # Errors
/// A value that has no JSON form.
pub fn json_text(value: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string_pretty(value).map_err(Failure::failed)
}

/// Prints a line. A reader that has seen enough is no failure.
///
/// # Errors
/// Stdout that cannot be written to, such as a full disk.
pub fn line(text: &str) -> Result<(), Failure> {
    match line_to_reader(text) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::failed(error)),
        _ => Ok(()),
    }
}

/// Prints a whole text as it is. A reader that has seen enough is no failure.
///
/// # Errors
/// Stdout that cannot be written to, such as a full disk.
pub fn all(text: &[u8]) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::failed(error)),
        _ => Ok(()),
    }
}

/// Prints a line that nothing can print again: here a reader that has gone is a failure too.
///
/// # Errors
/// Stdout that cannot be written to, or that nobody reads any more.
pub fn line_to_reader(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush())
}

/// A table with a head; the columns in `numbers` are aligned right.
pub fn table(head: &[&str], numbers: std::ops::Range<usize>) -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(head);
    for index in numbers {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// That a queue hands out nothing, and for how long; nothing where it hands out.
pub fn paused(settings: &QueueSettings, now: Timestamp) -> Option<String> {
    match settings.paused_until {
        _ if settings.paused => Some("paused".to_owned()),
        Some(until) if now < until => Some(format!("paused until {}", moment(until.as_millis()))),
        _ => None,
    }
}

/// A text in one line without control characters, at most `most` characters of it.
pub fn short(text: &str, most: usize) -> String {
    let mut shown = String::new();
    for (index, c) in text.chars().enumerate() {
        if index >= most {
            shown.push('…');
            break;
        }
        match c.is_control() {
            // Writing to a string cannot fail.
            true => drop(write!(shown, "{}", c.escape_default())),
            false => shown.push(c),
        }
    }
    shown
}

/// A count; `?` for one that is not known.
pub fn count(count: Option<u64>) -> String {
    count.map_or_else(|| "?".to_owned(), |count| count.to_string())
}

/// A duration as people write it.
pub fn duration(ms: u64) -> String {
    humantime::format_duration(Duration::from_millis(ms)).to_string()
}

/// A moment as people write it, from milliseconds since 1970-01-01 UTC; the number itself beyond
/// the year 9999, which that form does not have.
pub fn moment(ms: u64) -> String {
    match UNIX_EPOCH.checked_add(Duration::from_millis(ms)) {
        Some(moment) if ms < YEAR_10000_MS => humantime::format_rfc3339_seconds(moment).to_string(),
        _ => ms.to_string(),
    }
}

/// Reads a duration: `30s`, `5m`, `1h 30m`, `250ms`, or a number of seconds.
///
/// # Errors
/// Any other text.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    if let Ok(seconds) = text.parse() {
        return Ok(Duration::from_secs(seconds));
    }
    humantime::parse_duration(text).map_err(|error| format!("{error}; use 30s, 5m, 1h or 250ms"))
}

/// Whole milliseconds.
pub fn millis(duration: Duration) -> u64 {
    slipring::clock::millis_ceil(duration)
}

/// Shows on a terminal how far a long operation is, as `verb 3,000 things`; elsewhere it says
/// nothing. It vanishes when it is dropped.
pub fn progress(verb: &'static str, things: &'static str) -> ProgressBar {
    let bar = ProgressBar::new_spinner().with_message(verb).with_prefix(things);
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {human_pos} {prefix}") {
        bar.set_style(style);
    }
    bar.with_finish(ProgressFinish::AndClear)
}

/// Shows how far one is of which it is known how many are left.
pub fn progress_left(bar: &ProgressBar, done: u64, left: u64) {
    if bar.length().is_none() {
        let template = "{msg} {human_pos} of {human_len} {prefix} {wide_bar} {eta} left";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
    }
    bar.set_length(done.saturating_add(left));
    bar.set_position(done);
}

/// As [`progress`], of so many bytes, with how fast it is and how long it will take.
pub fn progress_bytes(verb: &'static str, bytes: u64) -> ProgressBar {
    let bar = ProgressBar::new(bytes).with_message(verb);
    let template = "{msg} {bytes} of {total_bytes} {wide_bar} {bytes_per_sec}, {eta} left";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.with_finish(ProgressFinish::AndClear)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shown_text_is_short_and_harmless() {
        assert_eq!(short("a\u{1b}[2Jb\n", 20), "a\\u{1b}[2Jb\\n");
        assert_eq!(short("äöüß", 2), "äö…");
    }

    #[test]
    fn a_count_that_is_not_known_is_no_number() {
        assert_eq!((count(Some(7)), count(None)), ("7".to_owned(), "?".to_owned()));
    }

    #[test]
    fn a_moment_that_has_no_form_is_its_number() {
        assert_eq!(moment(YEAR_10000_MS - 1), "9999-12-31T23:59:59Z");
        assert_eq!(moment(YEAR_10000_MS), "253402300800000");
        assert_eq!(moment(u64::MAX), u64::MAX.to_string());
    }

    #[test]
    fn durations_are_numbers_with_a_unit_or_seconds() {
        assert_eq!(parse_duration("90"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_duration("1h 30m"), Ok(Duration::from_secs(5400)));
        assert_eq!(parse_duration("250ms"), Ok(Duration::from_millis(250)));
        assert!(parse_duration("soon").is_err());
    }
}
