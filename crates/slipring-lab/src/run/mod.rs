//! `run`: the rows of a table in one run, ours, the raw limits and the peers by turns; what they
//! share: options, measuring, what is asked of a row, how a report is printed and kept.

pub mod bench;
pub mod cluster;
pub mod condition;
pub mod databases;
pub mod held;
pub mod meter;
mod others;
pub mod report;
pub mod rounds;
mod table;

use std::io::IsTerminal;
use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::folder;
use crate::interrupt::interrupted;
use crate::rows::{Row, Sizes, Table};
use crate::targets::server;

use bench::Bench;
use databases::Databases;
use report::{Report, RowReport};

/// What of a table is run, and what becomes of it.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Which table.
    #[arg(value_enum)]
    pub table: Table,
    /// Tiny sizes without foreign peers, all answers checked; the figures mean nothing.
    #[arg(long)]
    pub smoke: bool,
    /// Only rows of these names.
    #[arg(long)]
    row: Vec<String>,
    /// Only contenders of these names, such as `ours` or `river`.
    #[arg(long)]
    contender: Vec<String>,
    /// Measured seconds of each round.
    #[arg(long)]
    pub seconds: Option<f64>,
    /// Rounds of each row.
    #[arg(long)]
    pub rounds: Option<usize>,
    /// How long transactions are held open, in minutes.
    #[arg(long)]
    pub minutes: Option<f64>,
    /// Messages in the long backlog.
    #[arg(long)]
    pub backlog: Option<u64>,
    /// Measure inside this PostgreSQL instead of starting one; its user must be allowed to make
    /// databases.
    #[arg(long)]
    postgres: Option<String>,
    /// Keep report and raw data in a dated folder inside this one; otherwise they go to
    /// target/lab, into a folder of the table's name.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Fail when a row misses its target.
    #[arg(long)]
    strict: bool,
}

impl Options {
    /// The rows that are asked for, those without a contender that is asked for left out.
    fn rows(&self, sizes: Sizes) -> Result<Vec<Row>> {
        let mut rows = self.table.rows();
        if let Some(unknown) = self.row.iter().find(|name| !rows.iter().any(|r| r.name == **name)) {
            bail!("no row is called {unknown:?}; see `slipring-lab list`");
        }
        rows.retain(|row| self.row.is_empty() || self.row.iter().any(|name| name == row.name));
        let kept = folder::data()?;
        let has =
            |row: &Row, only: &[String]| !Bench::contenders(sizes, only, row, &kept).is_empty();
        for name in &self.contender {
            if !rows.iter().any(|row| has(row, std::slice::from_ref(name))) {
                bail!("no contender of these rows is called {name:?}");
            }
        }
        rows.retain(|row| has(row, &self.contender));
        Ok(rows)
    }

    /// Whether a contender of these rows is inside PostgreSQL.
    fn needs_postgres(&self, sizes: Sizes, rows: &[Row]) -> Result<bool> {
        let kept = folder::data()?;
        let all = |row: &Row| Bench::contenders(sizes, &self.contender, row, &kept);
        Ok(rows.iter().flat_map(all).any(|one| one.settings.target.in_postgres()))
    }
}

/// Runs the rows and prints the table.
///
/// # Errors
/// When what is not from elsewhere fails or an answer is wrong, after the other rows were run; when
/// the run was interrupted; with `--strict`, also when a row misses its target. What was measured
/// until then is kept. A peer that fails is reported, and fails nothing.
pub fn run(options: &Options) -> Result<()> {
    let sizes = Sizes::of(options);
    let rows = options.rows(sizes)?;
    server::build()?;
    let data = folder::data()?;
    let mut report = Report::new(&data, sizes);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut failed = Vec::new();
    let ended = runtime.block_on(async {
        tokio::select! {
            ended = measure(&rows, options, &mut report, &mut failed) => ended,
            why = interrupted() => Err(why),
        }
    });
    report.incomplete = ended.err().map(|error| format!("{error:#}"));
    if let (Some(_), Some(begun)) = (&report.incomplete, report.rows.last()) {
        print!("{}", table::row(begun));
    }
    print!("{}", report.summary());
    let folder = match &options.out {
        Some(out) => out.join(report.head.folder_name()),
        None => data.join(options.table.name()),
    };
    report.keep(&folder, options.table.name(), &table::text(&report))?;
    println!("raw data: {}", folder.display());
    if let Some(why) = &report.incomplete {
        bail!("the run is incomplete: {why}");
    }
    if !failed.is_empty() {
        bail!("rows that failed: {}", failed.join(", "));
    }
    let missed = report.missed();
    if options.strict && missed > 0 {
        bail!("{missed} targets were missed");
    }
    Ok(())
}

/// Measures the rows one after the other, each into the report.
async fn measure(
    rows: &[Row],
    options: &Options,
    report: &mut Report,
    failed: &mut Vec<&'static str>,
) -> Result<()> {
    let sizes = report.sizes;
    let databases = match options.needs_postgres(sizes, rows)? {
        false => None,
        true => Some(Databases::open(options.postgres.as_deref()).await?),
    };
    if let Some(databases) = &databases {
        report.settings = databases.settings().await?;
    }
    print!("{}", table::head(report));
    let mut bench = Bench::new(sizes, &options.contender, databases);
    for row in rows {
        report.rows.push(RowReport::new(row.name, row.what));
        let Some(measured) = report.rows.last_mut() else { continue };
        let trouble = bench.row(row, measured).await?;
        print!("{}", table::row(measured));
        if let Some(trouble) = trouble {
            println!("  FAILED: {trouble}");
            failed.push(row.name);
        }
    }
    bench.close().await
}

/// Prints the names of the rows of all tables.
pub fn list() {
    for table in Table::ALL {
        println!("run {}", table.name());
        for row in table.rows() {
            println!("{:<26} {}", row.name, row.what);
        }
    }
}

/// Shows on a terminal what is going on; the next text takes the place of the last.
pub fn progress(text: &str) {
    if std::io::stderr().is_terminal() {
        eprint!("\r{text:<60}\r");
    }
}
