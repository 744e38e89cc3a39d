//! Tiny runs on all kinds of targets, with every answer checked: what the driver can offer, the
//! in-memory store, the store in a file, our server by both wires, and statements of a user.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Parser;
use rusqlite::Connection;

use super::options::Options;
use super::report::Report;
use super::stop::Stop;
use super::{on, show};
use crate::run::cluster::Cluster;
use crate::targets::postgres::connect;
use crate::waits;

/// The options of one run, read as the command line is.
#[derive(Debug, Parser)]
#[command(no_binary_name = true)]
struct Line {
    #[command(flatten)]
    options: Options,
}

/// Options as the command line gives them.
///
/// # Errors
/// When clap refuses them.
pub fn options(words: &[&str]) -> Result<Options> {
    Ok(Line::try_parse_from(words)?.options)
}

/// A run with these options that must be whole and without a refused operation.
fn checked(words: &[&str]) -> Result<Report> {
    let report = on::measure(&options(words)?, &Stop::default());
    let report = report.with_context(|| words.join(" "))?;
    if let Some(why) = report.incomplete.as_deref().or(report.first_failure()) {
        bail!("{}: {why}", words.join(" "));
    }
    let done = report.steps.iter().all(|step| step.figures.operations > 0);
    if !done || report.checks.duplicates > 0 {
        bail!("{}: {:?} {:?}", words.join(" "), report.steps, report.checks);
    }
    Ok(report)
}

/// Runs all of them.
///
/// # Errors
/// When one of them fails, or an answer is not as it must be.
pub fn run() -> Result<()> {
    let short = ["--seconds", "0.3", "--warmup", "0.1"];
    let noop =
        ["noop", "--rate", "500000", "--threads", "2", "--seconds", "0.5", "--warmup", "0.2"];
    let report = checked(&noop)?;
    // The figure is printed with its check; how busy the machine is decides on it.
    show(&options(&noop)?, &report)?;
    for action in ["send", "receive", "wait-receive", "ack", "cycle"] {
        let words = [action, "--target", "memory", "--fill", "1000", "--batch", "10", "--waits"];
        let report = checked(&[&words[..], &short].concat())?;
        line(action, &report);
        let waited = report.stacks.iter().any(|line| line.starts_with("Slipring;receive_wait "));
        if action == "wait-receive" && !waited {
            bail!("receives waited, and the stacks are {:?}", report.stacks);
        }
    }
    let rates = ["cycle", "--target", "store", "--rate", "200,400", "--threads", "2"];
    let report = checked(&[&rates[..], &short].concat())?;
    line("cycle at two rates", &report);
    if report.steps.len() != 2 || report.waits.iter().all(|class| class.acquisitions == 0) {
        bail!("two rates gave {} steps, with the waits {:?}", report.steps.len(), report.waits);
    }
    for target in ["slipring-beanstalkd", "slipring-sqs"] {
        let words = ["cycle", "--target", target, "--repeat", "20", "--threads", "2"];
        let report = checked(&words)?;
        line(target, &report);
        if report.waits.is_empty() {
            bail!("{target} gave no wait table: {:?}", report.notes);
        }
    }
    let folder = crate::workloads::temporary_folder()?;
    on_sqlite(&folder.path().join("users.db"), &short)?;
    on_postgres(&short)
}

fn line(name: &str, report: &Report) {
    for step in &report.steps {
        let (figures, own) = (&step.figures, step.own_percent());
        let p99 = figures.corrected.unwrap_or(figures.uncorrected).p99_us;
        println!(
            "  {name:<24} {:>8} operations, {:>10.0}/s, P99 {p99:>9.1} µs, driver's own {own:.1} %",
            figures.operations, figures.rate
        );
    }
}

fn on_sqlite(file: &Path, short: &[&str]) -> Result<()> {
    let connection = Connection::open(file).context("making a file of a user")?;
    connection.execute_batch(
        "PRAGMA journal_mode = wal; CREATE TABLE account (id INTEGER PRIMARY KEY, sum INT)",
    )?;
    let path = file.to_str().context("a path that is no text")?;
    let insert = "INSERT INTO account VALUES (?1, 0)";
    let words = ["sql", insert, "--param", "n", "--file", path, "--repeat", "50"];
    let report = checked(&[&words[..], &["--threads", "2"]].concat())?;
    line("SQLite insert", &report);
    let rows: i64 = connection.query_row("SELECT count(*) FROM account", [], |row| row.get(0))?;
    if rows != 100 {
        bail!("100 inserts left {rows} rows");
    }
    let select = "SELECT sum FROM account WHERE id = ?1";
    let words = ["sql", select, "--param", "random:0..99", "--file", path];
    let report = checked(&[&words[..], short].concat())?;
    line("SQLite select", &report);
    match report.steps.iter().all(|step| step.figures.items == step.figures.operations) {
        true => Ok(()),
        false => bail!("each select finds one row: {:?}", report.steps),
    }
}

/// The key 0 is taken: each insert is refused, and the first reason is told.
fn on_postgres_refused(url: &str) -> Result<()> {
    let insert = "INSERT INTO account VALUES ($1, 0)";
    let words = ["sql", insert, "--param", "=0", "--url", url, "--repeat", "3", "--threads", "1"];
    let report = on::measure(&options(&words)?, &Stop::default())?;
    let why = report.first_failure().unwrap_or_default();
    match report.failed() == 3 && why.contains("SQLSTATE 23505") {
        true => Ok(()),
        false => bail!("{} of 3 inserts of a key that is there failed: {why}", report.failed()),
    }
}

fn on_postgres(short: &[&str]) -> Result<()> {
    let runtime = tokio::runtime::Runtime::new().context("starting the runtime")?;
    let cluster = runtime.block_on(Cluster::open(None))?;
    let made = async {
        let database = cluster.create_database(&cluster.admin().await?).await?;
        let client = connect(&cluster.url(&database)).await?;
        client.batch_execute("CREATE TABLE account (id int8 PRIMARY KEY, sum numeric)").await?;
        anyhow::Ok(database)
    };
    let url = cluster.url(&runtime.block_on(made)?);
    let insert = "INSERT INTO account VALUES ($1, $2)";
    let values = ["--param", "n", "--param", "=1.5", "--url", &url, "--repeat", "50"];
    let report = checked(&[&["sql", insert, "--threads", "2"], &values[..]].concat())?;
    line("PostgreSQL insert", &report);
    if !report.counters.iter().any(|counter| counter.name.starts_with("WAL")) {
        bail!("inserts wrote WAL, and the counters say {:?}", report.counters);
    }
    on_postgres_refused(&url)?;
    let sleep = ["sql", "SELECT pg_sleep(0.1)", "--url", &url, "--waits"];
    let report = checked(&[&sleep[..], short].concat())?;
    let stack = "Timeout;PgSleep;slipring-lab drive: SELECT pg_sleep(?) ";
    if !report.stacks.iter().any(|line| line.starts_with(stack)) {
        bail!("sessions slept, and what was seen is {:?}, {:?}", report.stacks, report.notes);
    }
    let words = ["cycle", "--url", &url, "--batch", "10", "--rate", "50"];
    line("our store in PostgreSQL", &checked(&[&words[..], short].concat())?);
    runtime.block_on(waits::smoke(&url, Duration::from_secs(10)))
}
