//! `report`: kept runs as one page that opens without a network, and as Markdown.

mod chapter;
mod markdown;
mod page;
mod style;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::folder;
use chapter::Chapter;

/// Which runs, and what is made of them.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Folders of kept runs, or single files of figures (`NAME.json.gz`).
    #[arg(required = true)]
    runs: Vec<PathBuf>,
    /// Where the page goes; by default target/lab/report.html.
    #[arg(long)]
    html: Option<PathBuf>,
    /// Write the tables and checks as Markdown into this file in place of the page.
    #[arg(long, conflicts_with = "html")]
    markdown: Option<PathBuf>,
}

/// Reads the runs and writes the page, or the Markdown.
///
/// # Errors
/// When a run cannot be read, holds nothing, or the file cannot be written.
pub fn run(options: &Options) -> Result<()> {
    let mut chapters = Vec::new();
    for run in &options.runs {
        let found = chapter::read(run)?;
        if found.is_empty() {
            bail!("{} holds neither figures (*.json.gz) nor a text (*.txt)", run.display());
        }
        chapters.extend(found);
    }
    let (path, text) = match (&options.markdown, &options.html) {
        (Some(path), _) => {
            let command = markdown_command(path, &options.runs);
            (path.clone(), markdown::text(&chapters, &command, parent(path)?.as_path()))
        }
        (None, Some(path)) => (path.clone(), page::html(&chapters, parent(path)?.as_path())?),
        (None, None) => {
            let path = folder::data()?.join("report.html");
            (path.clone(), page::html(&chapters, parent(&path)?.as_path())?)
        }
    };
    fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
    let (met, asked) = checks(&chapters);
    println!("{}: {} investigations, {met} of {asked} checks met", path.display(), chapters.len());
    Ok(())
}

/// The command that writes this Markdown of these runs, as one shell command of several lines.
fn markdown_command(path: &Path, runs: &[PathBuf]) -> String {
    let runs: String = runs.iter().map(|run| format!(" \\\n  {}", run.display())).collect();
    format!("cargo run --release -p slipring-lab -- report --markdown {}{runs}", path.display())
}

/// How many checks of the chapters were met, and how many there are.
fn checks(chapters: &[Chapter]) -> (usize, usize) {
    let conditions = || chapters.iter().flat_map(|chapter| &chapter.conditions);
    (conditions().filter(|condition| condition.pass).count(), conditions().count())
}

/// The folder that a file is written into.
fn parent(path: &Path) -> Result<PathBuf> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or_else(|| Path::new("."));
    folder.canonicalize().with_context(|| format!("there is no folder {}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::{Axis, Findings, Plot, Series, Table};
    use crate::run::condition::Condition;

    fn kept(folder: &Path) -> Findings {
        let mut findings = Findings::new("case-9", "one lock & its <waits>", folder);
        let mut table = Table::new("latency", &["threads", "P50 ms"]);
        table.row(["1".to_owned(), "15 | 16".to_owned()]);
        findings.tables.push(table);
        let mut course = Table::new("ours, by time", &["s", "rate"]);
        course.row(["1".to_owned(), "777".to_owned()]);
        findings.tables.push(course);
        findings.plots.push(Plot {
            name: "latency".into(),
            title: "latency by threads".into(),
            x: Axis::linear("threads"),
            y: Axis::linear("ms"),
            series: vec![Series {
                name: "ours".into(),
                points: vec![(1.0, 2.0), (2.0, f64::NAN), (3.0, 4.0)],
            }],
        });
        findings.conditions.push(Condition::at_most("P95", "ms", 3.0, 2.0));
        findings.conditions.push(Condition::at_most("not measured", "ms", f64::NAN, 2.0));
        findings.keep(folder).unwrap();
        findings
    }

    #[test]
    fn a_page_holds_all_that_a_run_found_and_needs_no_network() {
        let folder = tempfile::tempdir().unwrap();
        kept(folder.path());
        let chapters = chapter::read(folder.path()).unwrap();
        let html = page::html(&chapters, folder.path()).unwrap();
        assert!(html.contains("one lock &amp; its &lt;waits&gt;"), "{html}");
        assert!(html.contains("<svg") && html.contains("15 | 16"), "{html}");
        assert!(html.contains("777"), "{html}");
        assert_eq!(html.matches("class=\"miss\"").count(), 2);
        assert!(html.contains("href=\"case-9.json.gz\""), "{html}");
        let outside = html.replace("http://www.w3.org/2000/svg", "");
        assert!(!outside.contains("http://") && !outside.contains("https://"), "{outside}");
        assert!(!html.contains("<script"), "{html}");
    }

    #[test]
    fn markdown_keeps_cells_and_checks() {
        let folder = tempfile::tempdir().unwrap();
        kept(folder.path());
        let chapters = chapter::read(folder.path()).unwrap();
        let text = markdown::text(&chapters, "slipring-lab report", folder.path());
        assert!(text.contains("[Raw data](case-9.json.gz)"), "{text}");
        assert!(text.contains("| 1 | 15 \\| 16 |"), "{text}");
        assert!(
            text.contains("In the raw data: ours, by time.") && !text.contains("777"),
            "{text}"
        );
        assert!(text.contains("miss"), "{text}");
    }

    #[test]
    fn a_folder_without_a_run_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let runs = vec![folder.path().to_owned()];
        let error = run(&Options { runs, html: None, markdown: None }).unwrap_err();
        assert!(error.to_string().contains(&folder.path().display().to_string()), "{error}");
    }

    #[test]
    fn the_published_benchmarks_are_what_their_command_writes() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
        let page = root.join("docs/benchmarks.md");
        let published = fs::read_to_string(&page).unwrap();
        let command = published.split("```sh\n").nth(1).unwrap().split("\n```").next().unwrap();
        let runs = command.split_whitespace().filter(|word| word.contains("/runs/"));
        let runs: Vec<PathBuf> = runs.map(PathBuf::from).collect();
        let read = runs.iter().flat_map(|run| chapter::read(&root.join(run)).unwrap());
        let chapters: Vec<Chapter> = read.collect();
        assert!(!chapters.is_empty(), "{command}");
        assert_eq!(command, markdown_command(Path::new("docs/benchmarks.md"), &runs));
        let text = markdown::text(&chapters, command, page.parent().unwrap());
        assert!(text == published, "docs/benchmarks.md is not what is written by:\n{command}");
    }

    #[test]
    fn every_run_of_the_repository_can_be_read() {
        let runs = Path::new(env!("CARGO_MANIFEST_DIR")).join("runs");
        for entry in fs::read_dir(runs).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                let chapters = chapter::read(&path).unwrap();
                assert!(!chapters.is_empty(), "{}", path.display());
                page::html(&chapters, &path).unwrap();
            }
        }
    }
}
