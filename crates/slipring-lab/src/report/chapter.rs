//! A kept investigation in the form that pages are made of, whatever kind of run it was.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use flate2::read::GzDecoder;
use serde::Deserialize;
use serde_json::Value;

use crate::findings::{Findings, Plot, Table};
use crate::run::condition::{Condition, number};
use crate::run::report::Head;
use crate::stats::Summary;

const FIGURES: &str = ".json.gz";
/// Figures of a run are a few megabytes; what is larger is none.
const FIGURES_BYTES_MAX: u64 = 1 << 30;

/// One investigation.
#[derive(Debug)]
pub struct Chapter {
    /// What its files are called.
    pub name: String,
    /// What was asked, in one line.
    pub title: String,
    /// When, how and on what it was made; nothing for a run of which only a text was kept.
    pub head: Option<Head>,
    /// Why it ended before its end.
    pub incomplete: Option<String>,
    /// What was asked, and whether it was met.
    pub conditions: Vec<Condition>,
    /// What was measured.
    pub tables: Vec<Table>,
    /// The same as pictures.
    pub plots: Vec<Plot>,
    /// What a reader must know to read the figures.
    pub notes: Vec<String>,
    /// What was printed.
    pub printed: Option<String>,
    /// The file of the figures, or of the text where there are none.
    pub raw: PathBuf,
}

/// A kept run of a table of rows, of this and earlier forms.
#[derive(Deserialize)]
struct Rows {
    #[serde(flatten)]
    head: Head,
    #[serde(default)]
    incomplete: Option<String>,
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    name: String,
    what: String,
    conditions: Vec<Condition>,
    #[serde(alias = "sides")]
    contenders: Vec<Contender>,
}

#[derive(Deserialize)]
struct Contender {
    name: String,
    rate: Option<Summary>,
    #[serde(default)]
    trouble: Option<String>,
}

/// Reads what a folder holds, or one file of figures.
///
/// # Errors
/// When it cannot be read, or is of no known form.
pub fn read(run: &Path) -> Result<Vec<Chapter>> {
    if !run.is_dir() {
        return Ok(vec![read_figures(run)?]);
    }
    let entries = fs::read_dir(run).with_context(|| format!("reading {}", run.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    let ends = |path: &Path, ending: &str| path.to_string_lossy().ends_with(ending);
    let mut chapters = Vec::new();
    for path in paths.iter().filter(|path| ends(path, FIGURES)) {
        chapters.push(read_figures(path)?);
    }
    for path in paths.iter().filter(|path| ends(path, ".txt")) {
        let name = stem(path, ".txt");
        if !chapters.iter().any(|chapter| chapter.name == name) {
            chapters.push(read_text(path, &name)?);
        }
    }
    Ok(chapters)
}

fn stem(path: &Path, ending: &str) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.strip_suffix(ending).unwrap_or(&name).to_owned()
}

/// A run of which only a text was kept: the folder's name says what it was.
fn read_text(path: &Path, name: &str) -> Result<Chapter> {
    let printed =
        fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    let folder = path.parent().and_then(Path::file_name).unwrap_or_default();
    Ok(Chapter {
        name: name.to_owned(),
        title: folder.to_string_lossy().into_owned(),
        head: None,
        incomplete: None,
        conditions: Vec::new(),
        tables: Vec::new(),
        plots: Vec::new(),
        notes: Vec::new(),
        printed: Some(printed),
        raw: path.to_owned(),
    })
}

fn read_figures(path: &Path) -> Result<Chapter> {
    let of = || format!("reading {}", path.display());
    let file = fs::File::open(path).with_context(of)?;
    let mut text = Vec::new();
    GzDecoder::new(file).take(FIGURES_BYTES_MAX).read_to_end(&mut text).with_context(of)?;
    let mut value: Value = serde_json::from_slice(&text).with_context(of)?;
    let name = stem(path, FIGURES);
    let printed = path.with_file_name(format!("{name}.txt"));
    let printed = fs::read_to_string(printed).ok();
    let raw = path.to_owned();
    if value.get("tables").is_some() {
        drop_gaps(&mut value);
        let found: Findings = serde_json::from_value(value).with_context(of)?;
        return Ok(Chapter {
            name,
            title: found.title,
            head: Some(found.head),
            incomplete: found.incomplete,
            conditions: found.conditions,
            tables: found.tables,
            plots: found.plots,
            notes: found.notes,
            printed: None,
            raw,
        });
    }
    if value.get("rows").is_none() {
        bail!("{} holds neither findings nor rows", path.display());
    }
    let found: Rows = serde_json::from_value(value).with_context(of)?;
    Ok(Chapter { printed, raw, ..of_rows(name, found) })
}

/// JSON has no number for what was not measured; such points are not drawn.
fn drop_gaps(value: &mut Value) {
    let plots = value.get_mut("plots").and_then(Value::as_array_mut);
    let series = plots.into_iter().flatten().filter_map(|plot| plot.get_mut("series"));
    let series = series.filter_map(Value::as_array_mut).flatten();
    for points in series.filter_map(|series| series.get_mut("points")?.as_array_mut()) {
        points
            .retain(|point| point.as_array().is_some_and(|pair| pair.iter().all(Value::is_number)));
    }
}

fn of_rows(name: String, found: Rows) -> Chapter {
    let title = format!("run {name}, {} rows", found.rows.len());
    let mut chapter = Chapter {
        name,
        title,
        head: Some(found.head),
        incomplete: found.incomplete,
        conditions: Vec::new(),
        tables: Vec::new(),
        plots: Vec::new(),
        notes: Vec::new(),
        printed: None,
        raw: PathBuf::new(),
    };
    for row in found.rows {
        let title = format!("{}: {}", row.name, row.what);
        let mut table = Table::new(&title, &["contender", "messages/s", "± %", ""]);
        for contender in row.contenders {
            let rate = contender.rate.as_ref();
            table.row([
                contender.name,
                rate.map_or_else(|| "?".to_owned(), |rate| number(rate.median)),
                rate.map_or_else(String::new, |rate| format!("{:.1}", rate.spread_percent())),
                contender.trouble.unwrap_or_default(),
            ]);
        }
        chapter.tables.push(table);
        let named = |condition: Condition| {
            let target = format!("{}: {}", row.name, condition.target);
            Condition { target, ..condition }
        };
        chapter.conditions.extend(row.conditions.into_iter().map(named));
    }
    chapter
}
