//! What a run found: printed, kept, and written as JSON and CSV.

use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::tally::Figures;
use crate::findings::{Axis, Findings, Plot, Series, Table};
use crate::ledger::Checks;
use crate::run::condition::{Condition, number};
use crate::run::report::Head;
use crate::stats::Percentiles;
use crate::waits::classes::{self, Class};
use crate::waits::counters::{self, Counter};

/// The driver costs at most this share of the measured work, in percent.
const OWN_SHARE_MAX: f64 = 10.0;
/// The driver can offer so many operations per second in this process.
const OFFER_MIN: f64 = 500_000.0;

/// One step.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StepReport {
    /// Its figures.
    #[serde(flatten)]
    pub figures: Figures,
    /// Processor time of the driver itself for each operation, in microseconds: that of an empty
    /// operation in a closed loop.
    pub own_us: f64,
    /// The same at the rate of the step, with the sleeps until its due times; nothing for a closed
    /// loop.
    pub paced_us: Option<f64>,
}

impl StepReport {
    /// The driver's own cost as a share of the measured work, in percent. The work is the median
    /// time of an operation: single long ones would make the share look smaller.
    pub fn own_percent(&self) -> f64 {
        let work_us = self.figures.uncorrected.p50_us;
        if work_us > 0.0 { self.own_us / work_us * 100.0 } else { f64::NAN }
    }
}

/// A whole run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Report {
    /// When, how and on what it was made.
    #[serde(flatten)]
    pub head: Head,
    /// What was done on what.
    pub title: String,
    /// Whether nothing was done, to show what the driver can do.
    pub empty: bool,
    /// What an acknowledged send has survived, where something was sent.
    pub durability: Option<String>,
    /// The steps.
    pub steps: Vec<StepReport>,
    /// The highest rate that was sustained, where one was searched.
    pub sustained: Option<f64>,
    /// The wait table: what came about from before the first step to after the last.
    pub waits: Vec<Class>,
    /// PostgreSQL's counters, likewise.
    pub counters: Vec<Counter>,
    /// Seconds between the two looks at them.
    pub counters_seconds: f64,
    /// What sessions of PostgreSQL waited for, where it was looked at.
    pub sessions: Vec<Table>,
    /// The same as stacks of a flame graph, one line each.
    pub stacks: Vec<String>,
    /// What was sent and what came back.
    pub checks: Checks,
    /// What the reader must know.
    pub notes: Vec<String>,
    /// Why it ended before its end.
    pub incomplete: Option<String>,
}

impl Report {
    /// A run without steps yet, with its data in `folder`.
    pub fn new(folder: &Path, title: String) -> Report {
        Report {
            head: Head::here(folder),
            title,
            empty: false,
            durability: None,
            steps: Vec::new(),
            sustained: None,
            waits: Vec::new(),
            counters: Vec::new(),
            counters_seconds: 0.0,
            sessions: Vec::new(),
            stacks: Vec::new(),
            checks: Checks::default(),
            notes: Vec::new(),
            incomplete: None,
        }
    }

    /// Operations that were refused.
    pub fn failed(&self) -> u64 {
        self.steps.iter().map(|step| step.figures.failed).sum()
    }

    /// The first operation that was refused.
    pub fn first_failure(&self) -> Option<&str> {
        self.steps.iter().find_map(|step| step.figures.first_failure.as_deref())
    }

    /// As tables, a plot and checks.
    pub fn findings(&self) -> Findings {
        let mut findings = Findings {
            head: self.head.clone(),
            name: "drive".to_owned(),
            title: self.title.clone(),
            tables: vec![latencies(&self.steps), counts(&self.steps)],
            plots: Vec::new(),
            conditions: self.conditions(),
            notes: self.notes.clone(),
            incomplete: self.incomplete.clone(),
        };
        if !self.waits.is_empty() {
            findings.tables.push(classes::table("waits of Slipring meanwhile", &self.waits));
        }
        if !self.counters.is_empty() {
            let title = "counters of PostgreSQL meanwhile";
            findings.tables.push(counters::table(title, &self.counters, self.counters_seconds));
        }
        findings.tables.extend(self.sessions.iter().cloned());
        if !self.stacks.is_empty() {
            let note = "the flame graph of waiting is drive-flame.svg, its stacks drive-stacks.txt";
            findings.notes.push(note.to_owned());
        }
        if let Some(durability) = &self.durability {
            findings.notes.push(format!("durability: {durability}"));
        }
        if let Some(rate) = self.sustained {
            findings.notes.push(format!("highest rate that was sustained: {}/s", number(rate)));
        }
        if let Some(why) = self.first_failure() {
            let failed = number(self.failed() as f64);
            findings.notes.push(format!("{failed} operations were refused; the first: {why}"));
        }
        if self.steps.len() > 1 {
            findings.plots.push(self.plot());
        }
        findings
    }

    fn conditions(&self) -> Vec<Condition> {
        let mut all = Vec::new();
        let highest = |figure: &dyn Fn(&StepReport) -> f64| {
            self.steps.iter().map(figure).fold(f64::NAN, f64::max)
        };
        if self.empty {
            let rate = highest(&|step| step.figures.rate);
            let asked =
                self.steps.iter().filter_map(|step| step.figures.offered).fold(0.0, f64::max);
            // A lower rate that was asked for says nothing about what could be offered.
            if asked == 0.0 || asked >= OFFER_MIN {
                let target = "operations offered, nothing done".to_owned();
                // The last operations of a step are still on their way when it ends.
                all.push(Condition::at_least(target, "/s", rate, OFFER_MIN * 0.99));
            }
        } else if !self.steps.is_empty() {
            let share = highest(&StepReport::own_percent);
            all.push(Condition::at_most(
                "the driver's own cost of the work",
                "%",
                share,
                OWN_SHARE_MAX,
            ));
        }
        let failed = self.failed() as f64;
        all.push(Condition::at_most("refused operations", "", failed, 0.0));
        if self.checks.received > 0 {
            let twice = self.checks.duplicates as f64;
            all.push(Condition::at_most("messages that came twice", "", twice, 0.0));
        }
        all
    }

    fn plot(&self) -> Plot {
        let line = |name: &str, figure: fn(&Percentiles) -> f64| {
            let points = self.steps.iter().map(|step| {
                let from_due = step.figures.corrected.unwrap_or(step.figures.uncorrected);
                (step.figures.offered.unwrap_or(step.figures.rate), figure(&from_due))
            });
            let mut points: Vec<(f64, f64)> = points.collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            Series { name: name.to_owned(), points }
        };
        Plot {
            name: "latency".to_owned(),
            title: "latency from the due time".to_owned(),
            x: Axis::logarithmic("operations due per second"),
            y: Axis::logarithmic("µs"),
            series: vec![
                line("P50", |p| p.p50_us),
                line("P99", |p| p.p99_us),
                line("P99.9", |p| p.p999_us),
            ],
        }
    }

    /// Writes all figures with their histograms.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_json(&self, path: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self)?;
        std::fs::write(path, text).with_context(|| format!("writing {}", path.display()))
    }

    /// Writes the figures, a line for each step.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_csv(&self, path: &Path) -> Result<()> {
        let at = || format!("writing {}", path.display());
        let mut writer = csv::Writer::from_path(path).with_context(at)?;
        writer.write_record(CSV_COLUMNS).with_context(at)?;
        for step in &self.steps {
            writer.write_record(csv_line(step)).with_context(at)?;
        }
        writer.flush().with_context(at)
    }
}

const CSV_COLUMNS: [&str; 25] = [
    "threads",
    "offered_per_s",
    "seconds",
    "operations",
    "operations_per_s",
    "items_per_s",
    "empty",
    "late",
    "unstarted",
    "failed",
    "unanswered",
    "mean_us",
    "own_us",
    "paced_us",
    "own_percent",
    "corrected_p50_us",
    "corrected_p95_us",
    "corrected_p99_us",
    "corrected_p999_us",
    "corrected_max_us",
    "uncorrected_p50_us",
    "uncorrected_p95_us",
    "uncorrected_p99_us",
    "uncorrected_p999_us",
    "uncorrected_max_us",
];

fn csv_line(step: &StepReport) -> Vec<String> {
    let figures = &step.figures;
    let whole =
        [figures.empty, figures.late, figures.unstarted, figures.failed, figures.unanswered];
    let mut line = vec![
        figures.threads.to_string(),
        figures.offered.map_or(String::new(), |rate| rate.to_string()),
        figures.seconds.to_string(),
        figures.operations.to_string(),
        figures.rate.to_string(),
        figures.items_rate.to_string(),
    ];
    line.extend(whole.map(|count| count.to_string()));
    line.extend([figures.mean_us, step.own_us].map(|figure| figure.to_string()));
    line.push(step.paced_us.map_or(String::new(), |figure| figure.to_string()));
    line.push(step.own_percent().to_string());
    let of = |p: &Percentiles| [p.p50_us, p.p95_us, p.p99_us, p.p999_us, p.max_us];
    match &figures.corrected {
        Some(corrected) => line.extend(of(corrected).map(|figure| figure.to_string())),
        None => line.extend(std::iter::repeat_n(String::new(), 5)),
    }
    line.extend(of(&figures.uncorrected).map(|figure| figure.to_string()));
    line
}

/// The latencies of all steps, from the due time and from the start.
fn latencies(steps: &[StepReport]) -> Table {
    let columns =
        ["latency", "offered/s", "answered/s", "P50 µs", "P95 µs", "P99 µs", "P99.9 µs", "max µs"];
    let mut table = Table::new("latencies", &columns);
    for StepReport { figures, .. } in steps {
        let offered = figures.offered.map_or("closed".to_owned(), number);
        let mut row = |name: &str, p: &Percentiles| {
            let percentiles = [p.p50_us, p.p95_us, p.p99_us, p.p999_us, p.max_us];
            let head = [name.to_owned(), offered.clone(), number(figures.rate)];
            table.row(head.into_iter().chain(percentiles.map(number)));
        };
        if let Some(corrected) = &figures.corrected {
            row("from the due time", corrected);
            row("from the start (uncorrected)", &figures.uncorrected);
        } else {
            row("from the start", &figures.uncorrected);
        }
    }
    table
}

/// What was counted in all steps.
fn counts(steps: &[StepReport]) -> Table {
    let columns = [
        "offered/s",
        "operations",
        "items/s",
        "empty",
        "late starts",
        "never started",
        "refused",
        "unanswered",
        "mean µs",
        "driver's own µs",
        "own/work %",
        "own with sleeps µs",
    ];
    let mut table = Table::new("operations", &columns);
    for step in steps {
        let figures = &step.figures;
        let counts =
            [figures.empty, figures.late, figures.unstarted, figures.failed, figures.unanswered];
        let mut row = vec![
            figures.offered.map_or("closed".to_owned(), number),
            whole(figures.operations),
            number(figures.items_rate),
        ];
        row.extend(counts.map(whole));
        row.extend([figures.mean_us, step.own_us, step.own_percent()].map(number));
        row.push(step.paced_us.map_or(String::new(), number));
        table.row(row);
    }
    table
}

/// A count for people.
fn whole(count: u64) -> String {
    if count < 100 { count.to_string() } else { number(count as f64) }
}
