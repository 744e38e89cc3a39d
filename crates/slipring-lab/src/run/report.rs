//! What a run found, as it is kept: a head, rows with their targets, two files.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};

use super::condition::Condition;
use super::rounds::ContenderReport;
use crate::machine::Machine;
use crate::rows::Sizes;
use crate::time;

/// When, how and on what a run was made.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Head {
    /// The day, as YYYY-MM-DD (UTC).
    pub date: String,
    /// The command line, without passwords.
    pub command: String,
    /// What it ran on.
    pub machine: Machine,
}

impl Head {
    /// Of the run that begins now, with its data in `folder`.
    pub fn here(folder: &Path) -> Head {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Head {
            date: time::date(since.map_or(0, |since| since.as_secs())),
            command: command_line(std::env::args().skip(1)),
            machine: Machine::here(folder),
        }
    }

    /// What the folder of a kept run is called.
    pub fn folder_name(&self) -> String {
        format!("{}-{}", self.date, self.machine.short_name())
    }

    /// The two lines that a printed table begins with.
    pub fn text(&self) -> String {
        let machine = &self.machine;
        format!(
            "{}  {}\n{} × {}, {} MiB, Linux {}, {}\n",
            self.date,
            self.command,
            machine.cores,
            machine.cpu,
            machine.memory_mib,
            machine.kernel,
            machine.filesystem
        )
    }
}

/// How this program was called, without passwords.
fn command_line(arguments: impl Iterator<Item = String>) -> String {
    let hidden = |argument: String| match (argument.find("://"), argument.find('@')) {
        (Some(scheme), Some(at)) if scheme < at => {
            format!("{}://…{}", &argument[..scheme], &argument[at..])
        }
        _ => argument,
    };
    let mut words = vec!["slipring-lab".to_owned()];
    words.extend(arguments.map(hidden));
    words.join(" ")
}

/// One row.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RowReport {
    /// What `--row` calls it.
    pub name: String,
    /// What is measured, in words.
    pub what: String,
    /// What was asked, and whether it was met.
    pub conditions: Vec<Condition>,
    /// What was run by turns.
    pub contenders: Vec<ContenderReport>,
}

impl RowReport {
    /// One of which nothing is measured yet.
    pub fn new(name: &str, what: &str) -> RowReport {
        let (name, what) = (name.to_owned(), what.to_owned());
        RowReport { name, what, conditions: Vec::new(), contenders: Vec::new() }
    }
}

/// A whole run of a table.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Report {
    /// When, how and on what it was made.
    #[serde(flatten)]
    pub head: Head,
    /// How long and how often things were measured.
    pub sizes: Sizes,
    /// The settings of PostgreSQL that matter; empty where it was not needed.
    pub settings: BTreeMap<String, String>,
    /// Why the run came to an end before all rows were run.
    pub incomplete: Option<String>,
    /// The rows that were run.
    pub rows: Vec<RowReport>,
}

impl Report {
    /// A report without rows yet, of the run that begins now with its data in `folder`.
    pub fn new(folder: &Path, sizes: Sizes) -> Report {
        Report {
            head: Head::here(folder),
            sizes,
            settings: BTreeMap::new(),
            incomplete: None,
            rows: Vec::new(),
        }
    }

    /// How many targets were missed.
    pub fn missed(&self) -> usize {
        let conditions = self.rows.iter().flat_map(|row| &row.conditions);
        conditions.filter(|condition| !condition.pass).count()
    }

    /// The targets once more, one line each.
    pub fn summary(&self) -> String {
        let mut text = "\nsummary\n".to_owned();
        for row in &self.rows {
            for condition in &row.conditions {
                text += &format!("  {:<20} {}\n", row.name, condition.text());
            }
        }
        let asked: usize = self.rows.iter().map(|row| row.conditions.len()).sum();
        let missed = self.missed();
        text += &format!("{} of {asked} targets met, {missed} missed\n", asked - missed);
        if let Some(why) = &self.incomplete {
            text += &format!("INCOMPLETE: {why}\n");
        }
        text
    }

    /// Writes a compressed JSON file with all raw figures, and what was printed, into `folder`;
    /// both bear the table's name.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn keep(&self, folder: &Path, name: &str, printed: &str) -> Result<()> {
        std::fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
        let mut json = GzEncoder::new(Vec::new(), Compression::best());
        serde_json::to_writer_pretty(&mut json, self)?;
        let json = json.finish().context("compressing the figures")?;
        for (ending, bytes) in [("json.gz", json.as_slice()), ("txt", printed.as_bytes())] {
            let path = folder.join(format!("{name}.{ending}"));
            std::fs::write(&path, bytes).with_context(|| format!("writing {}", path.display()))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::protocol::{Answer, Ready};
    use crate::ledger::Checks;
    use crate::rows::Table;
    use crate::run::rounds::Round;
    use crate::stats::Latencies;
    use crate::targets::Kind;
    use crate::workloads::{Settings, Work};

    #[test]
    fn the_figures_of_a_kept_run_are_read_back_from_their_compressed_file() {
        let folder = tempfile::tempdir().unwrap();
        let mut report = Report::new(folder.path(), Sizes::new(Table::Foundation, true));
        let mut row = RowReport::new("row", "what");
        row.conditions.push(Condition::at_most("longest stall", "ms", 7.5, 100.0));
        row.conditions.push(Condition::times(f64::NAN, 5.0, "raw", 0.5));
        row.contenders.push(contender());
        report.rows.push(row);
        report.incomplete = Some("it was interrupted".into());
        assert!(report.summary().ends_with("INCOMPLETE: it was interrupted\n"));
        report.keep(folder.path(), "table", "printed").unwrap();
        assert_eq!(std::fs::read_to_string(folder.path().join("table.txt")).unwrap(), "printed");
        let file = std::fs::File::open(folder.path().join("table.json.gz")).unwrap();
        let read: Report = serde_json::from_reader(flate2::read::GzDecoder::new(file)).unwrap();
        assert_eq!(read.incomplete, report.incomplete);
        assert_eq!(read.head.date, report.head.date);
        let row = &read.rows[0];
        assert_eq!((row.conditions[0].pass, row.conditions[1].pass), (true, false));
        assert!(row.conditions[1].figure.is_nan());
        let round = &row.contenders[0].rounds[0];
        assert_eq!(round.answer.latencies["send"].percentiles().count, 1);
        assert_eq!(round.settings.postgres, None);
    }

    fn contender() -> ContenderReport {
        let mut settings = Settings::new(Work::Send, Kind::Sql);
        settings.postgres = Some("postgres://me:secret@here:5432/db".into());
        let mut latencies = Latencies::new().unwrap();
        latencies.add(1_000_000);
        let mut answer = Answer::new(1, 1.0, Checks::default());
        answer.latency("send", &latencies);
        let round = Round { settings, answer, waits: vec![], cost: None, windows: vec![] };
        let mut contender = ContenderReport::new("ours");
        contender.add(Ready::default(), round);
        contender
    }

    #[test]
    fn a_report_names_the_database_and_not_the_password() {
        let words = ["run", "--postgres", "postgres://me:secret@here:5432/db", "--row", "a@b"];
        let line = command_line(words.into_iter().map(str::to_owned));
        assert_eq!(line, "slipring-lab run --postgres postgres://…@here:5432/db --row a@b");
    }
}
