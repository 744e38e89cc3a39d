//! A screen as text.

use super::super::doctor::words;
use super::super::waits::time;
use super::view::{Rates, Row, View};
use crate::print;

/// What empties a terminal: the cursor to its first place, then everything behind it.
pub const CLEAR: &str = "\u{1b}[H\u{1b}[J";

/// Longest name that is shown in full.
const NAME_MAX: usize = 40;

/// The screen.
pub fn text(view: &View) -> String {
    let mut parts = vec![head(view)];
    if !view.busiest.is_empty() {
        parts.push(queues(&view.busiest));
    }
    if !view.waits.is_empty() {
        parts.push(waits(view));
    }
    parts.extend(view.findings.iter().map(|finding| finding.in_words()));
    parts.join("\n")
}

fn head(view: &View) -> String {
    let more = if view.all_queues { "" } else { " and more" };
    let mut parts = vec![
        print::moment(view.at_ms),
        format!("{:.1} s", view.seconds),
        format!("{}{more} queues", words::count(view.queues as u64)),
        format!("{} ready", words::count(view.ready)),
    ];
    if let Some(rates) = &view.rates {
        let [sent, received, acked, failed] = shown(Some(rates));
        parts.push(format!(
            "sent {sent}/s, received {received}/s, acked {acked}/s, failed {failed}/s"
        ));
    }
    parts.join("  ")
}

fn queues(rows: &[Row]) -> String {
    let head = [
        "QUEUE",
        "READY",
        "OLDEST",
        "DELAYED",
        "IN FLIGHT",
        "PARKED",
        "WAITING",
        "SENT/S",
        "RECEIVED/S",
        "ACKED/S",
        "FAILED/S",
    ];
    let mut table = print::table(&head, 1..11);
    for row in rows {
        let name = print::short(&row.name, NAME_MAX);
        let name = if row.paused { format!("{name} (paused)") } else { name };
        let holds = row.holds.as_ref();
        let oldest = match holds.map(|holds| holds.oldest_ready_ms) {
            None => "?".to_owned(),
            Some(None) => "-".to_owned(),
            Some(Some(ms)) => words::time(ms),
        };
        let [sent, received, acked, failed] = shown(row.rates.as_ref());
        table.add_row([
            name,
            print::count(holds.map(|holds| holds.ready)),
            oldest,
            print::count(holds.map(|holds| holds.delayed)),
            print::count(holds.map(|holds| holds.leased)),
            print::count(holds.map(|holds| holds.parked)),
            row.waiting.to_string(),
            sent,
            received,
            acked,
            failed,
        ]);
    }
    table.to_string()
}

/// The rates in their order; `?` where they are not known.
fn shown(rates: Option<&Rates>) -> [String; 4] {
    let rate = |of: fn(&Rates) -> f64| match rates {
        None => "?".to_owned(),
        Some(rates) if of(rates) > 0.0 && of(rates) < 10.0 => format!("{:.1}", of(rates)),
        Some(rates) => words::count(of(rates).round() as u64),
    };
    [
        rate(|rates| rates.sent),
        rate(|rates| rates.received),
        rate(|rates| rates.acked),
        rate(|rates| rates.failed),
    ]
}

fn waits(view: &View) -> String {
    let mut table = print::table(&["WAIT CLASS", "WAITS/S", "MEAN", "WAITERS"], 1..4);
    for waited in &view.waits {
        table.add_row([
            waited.class.clone(),
            words::count(waited.waits.ceil() as u64),
            time(waited.mean_ns),
            // Seconds waited a second: how many waited at a time.
            format!("{:.2}", waited.seconds),
        ]);
    }
    table.to_string()
}

#[cfg(test)]
mod tests {
    use super::super::super::doctor::judge::{Finding, Level, Rule};
    use super::super::view::{Holds, Waited};
    use super::*;

    #[test]
    fn a_screen_has_the_sums_the_queues_the_waits_and_what_is_wrong() {
        let rates = Rates { sent: 1234.4, received: 9.96, acked: 0.5, failed: 0.0 };
        let holds =
            Holds { ready: 7, delayed: 1, leased: 2, parked: 3, oldest_ready_ms: Some(1_240) };
        let row = |name: &str, holds, rates| Row {
            name: name.to_owned(),
            holds,
            waiting: 4,
            paused: false,
            rates,
        };
        let view = View {
            at_ms: 0,
            seconds: 2.04,
            queues: 1_214,
            all_queues: true,
            rates: Some(rates),
            ready: 7_000,
            busiest: vec![
                row("emails", Some(holds), Some(rates)),
                Row { paused: true, ..row("a\u{1b}b", None, None) },
            ],
            waits: vec![Waited {
                class: "sqlite.flush".to_owned(),
                waits: 99.5,
                mean_ns: 2_500_000,
                seconds: 0.25,
            }],
            findings: vec![Finding {
                level: Level::Warning,
                rule: Rule::Growing,
                queue: None,
                sentence: "It grows.".to_owned(),
                advice: "Do something.".to_owned(),
            }],
        };
        let shown = text(&view);
        let lines: Vec<&str> = shown.lines().map(str::trim_end).collect();
        let head = "1970-01-01T00:00:00Z  2.0 s  1,214 queues  7,000 ready  sent 1,234/s, received \
                    10.0/s, acked 0.5/s, failed 0/s";
        assert_eq!(lines[0], head);
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let emails = "emails 7 1.2 s 1 2 3 4 1,234 10.0 0.5 0";
        assert_eq!(words(lines[2]), words(emails));
        assert_eq!(words(lines[3]), words("a\\u{1b}b (paused) ? ? ? ? ? 4 ? ? ? ?"));
        assert_eq!(words(lines[5]), words("sqlite.flush 100 2.50 ms 0.25"));
        assert_eq!(lines[6..], ["warning: It grows.", "    Do something."]);
    }
}
