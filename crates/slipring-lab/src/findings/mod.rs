//! What an investigation found: tables, plots and checks. They are printed, and kept as one
//! compressed JSON file, a text and an SVG drawing for each plot.

pub mod plot;
pub mod table;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};

use crate::folder;
use crate::output::say;
use crate::run::condition::Condition;
use crate::run::report::Head;
pub use plot::{Axis, Plot, Series};
pub use table::{BY_TIME, Table};

/// What one investigation found.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Findings {
    /// When, how and on what it was made.
    #[serde(flatten)]
    pub head: Head,
    /// What its files are called, such as `case-1`.
    pub name: String,
    /// What was asked, in one line.
    pub title: String,
    /// What was measured, and what others published beside it.
    pub tables: Vec<Table>,
    /// The same as pictures.
    pub plots: Vec<Plot>,
    /// What was asked, and whether it was met.
    pub conditions: Vec<Condition>,
    /// What a reader must know to read the figures: settings, durability, what this machine cannot
    /// show and what stands in for it.
    pub notes: Vec<String>,
    /// Why the run ended before its end; nothing for a run that is complete.
    pub incomplete: Option<String>,
}

impl Findings {
    /// Of the run that begins now with its data in `folder`; nothing is found yet.
    pub fn new(name: &str, title: &str, folder: &Path) -> Findings {
        Findings {
            head: Head::here(folder),
            name: name.to_owned(),
            title: title.to_owned(),
            tables: Vec::new(),
            plots: Vec::new(),
            conditions: Vec::new(),
            notes: Vec::new(),
            incomplete: None,
        }
    }

    /// How many conditions were missed.
    pub fn missed(&self) -> usize {
        self.conditions.iter().filter(|condition| !condition.pass).count()
    }

    /// All of it for people; the plots are files of their own.
    pub fn text(&self) -> String {
        let mut text = format!("{}{}: {}\n", self.head.text(), self.name, self.title);
        if let Some(why) = &self.incomplete {
            text += &format!("INCOMPLETE: {why}\n");
        }
        for table in &self.tables {
            text += &format!("\n{}", table.text());
        }
        if !self.notes.is_empty() {
            text += "\n";
        }
        for note in &self.notes {
            text += &format!("note: {note}\n");
        }
        if !self.conditions.is_empty() {
            let (asked, missed) = (self.conditions.len(), self.missed());
            text += "\nchecks\n";
            for condition in &self.conditions {
                text += &format!("  {}\n", condition.text());
            }
            text += &format!("{} of {asked} checks met, {missed} missed\n", asked - missed);
        }
        text
    }

    /// Prints and keeps all of it: in a dated folder inside `out`, or in a folder of its name in
    /// the lab's own. Answers the folder.
    ///
    /// # Errors
    /// When it cannot be printed or kept.
    pub fn show(&self, out: Option<&Path>) -> Result<PathBuf> {
        let folder = match out {
            Some(out) => out.join(self.head.folder_name()),
            None => folder::data()?.join(&self.name),
        };
        say(&self.text())?;
        self.keep(&folder)?;
        say(&format!("raw data: {}\n", folder.display()))?;
        Ok(folder)
    }

    /// As [`Findings::show`], at the end of a run that fails when it is incomplete and, if strict,
    /// when a check was missed.
    ///
    /// # Errors
    /// As said, and as [`Findings::show`].
    pub fn end(&self, out: Option<&Path>, strict: bool) -> Result<()> {
        self.show(out)?;
        if let Some(why) = &self.incomplete {
            bail!("{} is incomplete: {why}", self.name);
        }
        let missed = self.missed();
        if strict && missed > 0 {
            bail!("{missed} checks of {} were missed", self.name);
        }
        Ok(())
    }

    /// Writes all of it into `folder`.
    ///
    /// # Errors
    /// When it cannot be drawn or written.
    pub fn keep(&self, folder: &Path) -> Result<()> {
        fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
        let write = |name: String, bytes: &[u8]| {
            let path = folder.join(name);
            fs::write(&path, bytes).with_context(|| format!("writing {}", path.display()))
        };
        let mut json = GzEncoder::new(Vec::new(), Compression::best());
        serde_json::to_writer_pretty(&mut json, self)?;
        write(format!("{}.json.gz", self.name), &json.finish().context("compressing")?)?;
        write(format!("{}.txt", self.name), self.text().as_bytes())?;
        for plot in &self.plots {
            write(format!("{}-{}.svg", self.name, plot.name), plot.svg()?.as_bytes())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(folder: &Path) -> Findings {
        let mut findings = Findings::new("case-9", "a title", folder);
        let mut table = Table::new("latency", &["threads", "P50 ms"]);
        table.row(["1".to_owned(), "15".to_owned()]);
        findings.tables.push(table);
        let series = Series { name: "ours".into(), points: vec![(1.0, 2.0), (10.0, 3.0)] };
        findings.plots.push(Plot {
            name: "latency".into(),
            title: "latency by threads".into(),
            x: Axis::logarithmic("threads"),
            y: Axis::linear("ms"),
            series: vec![series],
        });
        findings.conditions.push(Condition::at_most("P95", "ms", 3.0, 2.0));
        findings
    }

    #[test]
    fn what_was_found_is_printed_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let findings = found(folder.path());
        let text = findings.text();
        assert!(text.contains("latency") && text.contains("MISS"), "{text}");
        assert!(text.ends_with("0 of 1 checks met, 1 missed\n"), "{text}");
        findings.keep(folder.path()).unwrap();
        let read = |name| fs::read(folder.path().join(name)).unwrap();
        assert_eq!(read("case-9.txt"), text.as_bytes());
        let json = read("case-9.json.gz");
        let back: Findings =
            serde_json::from_reader(flate2::read::GzDecoder::new(json.as_slice())).unwrap();
        assert_eq!(back.tables, findings.tables);
        assert!(read("case-9-latency.svg").starts_with(b"<svg"));
    }

    #[test]
    fn a_run_that_ended_early_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let mut findings = found(folder.path());
        findings.incomplete = Some("the server went away".into());
        assert!(findings.text().contains("INCOMPLETE: the server went away"));
    }
}
