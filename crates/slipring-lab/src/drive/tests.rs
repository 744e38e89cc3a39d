//! The driver on real targets: what it counts, and how it ends when a target refuses or goes away.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;

use super::crew::Step;
use super::on::measure;
use super::operation::{Failure, Maker, Operation, Turn};
use super::schedule::{Pace, Until};
use super::smoke::options;
use super::*;

fn report(words: &[&str]) -> Report {
    measure(&options(words).unwrap(), &Stop::default()).unwrap()
}

fn file_with_accounts(folder: &Path) -> String {
    let file = folder.join("users.db");
    let connection = Connection::open(&file).unwrap();
    let table = "CREATE TABLE account (id INTEGER PRIMARY KEY, sum INT); \
                 INSERT INTO account VALUES (1, 0), (2, 0)";
    connection.execute_batch(table).unwrap();
    file.to_str().unwrap().to_owned()
}

#[test]
fn each_operation_on_the_in_memory_store_is_done_as_often_as_asked() {
    for action in ["send", "receive", "wait-receive", "ack", "cycle"] {
        let words = [action, "--target", "memory", "--repeat", "5", "--threads", "3"];
        let report = report(&[&words[..], &["--batch", "2", "--fill", "60"]].concat());
        let figures = &report.steps[0].figures;
        assert_eq!((figures.operations, figures.items), (15, 30), "{action}: {report:?}");
        assert_eq!((report.checks.duplicates, report.failed()), (0, 0), "{action}");
        assert!(report.incomplete.is_none() && !report.waits.is_empty(), "{action}");
    }
}

#[test]
fn a_receive_that_waits_on_an_empty_queue_takes_as_long_as_it_waits() {
    let words = ["wait-receive", "--target", "memory", "--repeat", "3", "--wait", "20ms"];
    let figures = report(&words).steps.remove(0).figures;
    assert_eq!((figures.operations, figures.empty), (12, 12));
    assert!(figures.uncorrected.p50_us >= 19_000.0, "{figures:?}");
}

#[test]
fn an_open_loop_gives_both_latencies_and_a_row_for_each_rate() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["send", "--target", "memory", "--rate", "100,300", "--seconds", "0.2"];
    let report = report(&[&words[..], &["--warmup", "0"]].concat());
    let offered: Vec<_> = report.steps.iter().map(|step| step.figures.offered).collect();
    assert_eq!(offered, [Some(100.0), Some(300.0)]);
    for step in &report.steps {
        let corrected = step.figures.corrected.unwrap();
        assert_eq!(corrected.count, step.figures.operations + step.figures.unstarted);
        assert!(step.own_us > 0.0);
    }
    let (json, csv) = (folder.path().join("a.json"), folder.path().join("a.csv"));
    report.write_json(&json).unwrap();
    report.write_csv(&csv).unwrap();
    let back: Report = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    assert_eq!(back.steps.len(), 2);
    let text = std::fs::read_to_string(csv).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3);
    assert!(lines[0].starts_with("threads,offered_per_s") && lines[2].starts_with("4,300,"));
    assert!(report.findings().text().contains("from the start (uncorrected)"));
}

#[test]
fn statements_on_sqlite_are_executed_with_their_parameters() {
    let folder = tempfile::tempdir().unwrap();
    let file = file_with_accounts(folder.path());
    let update = "UPDATE account SET sum = sum + ?1 WHERE id = ?2";
    let words = ["sql", update, "--param", "=3", "--param", "random:1..2", "--file", &file];
    let report = report(&[&words[..], &["--repeat", "10", "--threads", "2"]].concat());
    assert_eq!(report.steps[0].figures.items, 20);
    let connection = Connection::open(&file).unwrap();
    let sum: i64 = connection.query_row("SELECT sum(sum) FROM account", [], |r| r.get(0)).unwrap();
    assert_eq!(sum, 60);
}

#[test]
fn a_statement_that_is_refused_is_counted_and_the_first_reason_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = file_with_accounts(folder.path());
    let insert = "INSERT INTO account VALUES (?1, 0)";
    let words = ["sql", insert, "--param", "n", "--file", &file, "--threads", "1"];
    let report = report(&[&words[..], &["--repeat", "5"]].concat());
    // The numbers 1 and 2 are taken.
    assert_eq!((report.steps[0].figures.operations, report.failed()), (3, 2));
    let why = report.first_failure().unwrap();
    assert!(why.contains("1555") && why.contains("UNIQUE"), "{why}");
    assert_eq!(report.findings().missed(), 1);
}

#[test]
fn a_statement_that_does_not_fit_is_refused_before_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let file = file_with_accounts(folder.path());
    let cases: [(&[&str], &str); 9] = [
        (&["sql", "SELECT absent", "--file", &file], "no such column"),
        (&["sql", "SELECT ?1", "--file", &file], "has 1 parameters and 0"),
        (&["sql", "SELECT 1", "--file", "nowhere.db"], "nowhere.db"),
        (&["sql", "SELECT 1"], "--url"),
        (&["cycle", "--tube", "127.0.0.1:1"], "127.0.0.1:1"),
        (&["noop", "--threads", "0"], "--threads is 0"),
        (&["send", "--tube", "a:1", "--sqs", "http://b:2"], "--tube and --sqs"),
        (&["wait-receive", "--tube", "a:1", "--wait", "10ms"], "whole seconds"),
        (&["send", "--sqs", "https://a:1"], "https://"),
    ];
    for (words, wanted) in cases {
        let error = measure(&options(words).unwrap(), &Stop::default()).unwrap_err();
        let error = format!("{error:#}");
        assert!(error.contains(wanted), "{words:?}: {error}");
    }
}

/// Answers twice on each thread, and then fails or never answers.
struct Twice {
    then: fn() -> Option<Failure>,
}

struct TwiceOperation {
    left: u32,
    then: fn() -> Option<Failure>,
}

impl Maker for Twice {
    type Operation = TwiceOperation;

    async fn make(&self, _: usize) -> Result<TwiceOperation> {
        Ok(TwiceOperation { left: 2, then: self.then })
    }
}

impl Operation for TwiceOperation {
    async fn once(&mut self, _: Turn) -> Result<u64, Failure> {
        if self.left > 0 {
            self.left -= 1;
            return Ok(1);
        }
        match (self.then)() {
            Some(failure) => Err(failure),
            None => std::future::pending().await,
        }
    }
}

const TEN_MINUTES: Step = Step {
    threads: 2,
    pace: Pace::Closed,
    until: Until::Over { warmup_ns: 0, measured_ns: 600_000_000_000 },
    patience: Duration::ZERO,
};

#[test]
fn a_run_that_is_stopped_keeps_what_it_has_measured_and_cuts_off_the_rest() {
    let stop = Stop::default();
    let figures = crew::run(&Twice { then: || None }, TEN_MINUTES, &stop, |progress| {
        if progress.operations == 4 {
            stop.because("stopped by Ctrl-C");
        }
    });
    let figures = figures.unwrap();
    assert_eq!((figures.operations, figures.unanswered, figures.failed), (4, 2, 0));
    assert_eq!(stop.reason().as_deref(), Some("stopped by Ctrl-C"));
}

#[test]
fn a_target_that_goes_away_ends_the_run_with_its_reason() {
    let stop = Stop::default();
    let then = || Some(Failure::Gone(anyhow::anyhow!("the server closed the connection")));
    let figures = crew::run(&Twice { then }, TEN_MINUTES, &stop, |_| {}).unwrap();
    assert!((2..=4).contains(&figures.operations), "{figures:?}");
    let reason = stop.reason().unwrap();
    assert_eq!(reason, "the target failed: the server closed the connection");
}

#[test]
fn a_refused_operation_does_not_end_the_run() {
    let stop = Stop::default();
    let step = Step { until: Until::Repetitions(10), ..TEN_MINUTES };
    let then = || Some(Failure::Refused("SQLSTATE 40001: again".into()));
    let figures = crew::run(&Twice { then }, step, &stop, |_| {}).unwrap();
    assert_eq!((figures.operations, figures.failed, figures.unanswered), (4, 16, 0));
    assert!(!stop.is_set());
}

#[test]
fn an_incomplete_run_is_labelled() {
    let mut report = report(&["noop", "--repeat", "10"]);
    report.incomplete = Some("stopped by Ctrl-C".into());
    assert!(report.findings().text().contains("INCOMPLETE: stopped by Ctrl-C"));
}
