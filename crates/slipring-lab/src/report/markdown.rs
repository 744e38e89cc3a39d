//! The tables and checks of runs as Markdown, for the page of benchmarks. Courses by time are left
//! out, which would be most of the page; the HTML page has them, with their plots.

use std::fmt::Write;
use std::path::Path;

use super::chapter::Chapter;
use super::page::link;
use crate::findings::Table;
use crate::run::condition::number;

/// The text of some chapters, one section each; it will lie in `folder`, from which it links the
/// raw data. `command` is what writes it again.
pub fn text(chapters: &[Chapter], command: &str, folder: &Path) -> String {
    let mut text = format!(
        "# Benchmarks\n\n\
        Written from the kept runs that are linked; no other number is published. Missed checks \
        stand beside those that were met. To write this page again:\n\n\
        ```sh\n{command}\n```\n"
    );
    for chapter in chapters {
        // Writing into a string does not fail.
        let _ = section(&mut text, chapter, folder);
    }
    text
}

fn section(text: &mut String, chapter: &Chapter, folder: &Path) -> std::fmt::Result {
    writeln!(text, "\n## {}: {}\n", chapter.name, chapter.title)?;
    if let Some(why) = &chapter.incomplete {
        writeln!(text, "**Incomplete:** {why}\n")?;
    }
    if let Some(head) = &chapter.head {
        let machine = &head.machine;
        writeln!(
            text,
            "{}, `{}`, {} × {}, Linux {}, {}\n",
            head.date, head.command, machine.cores, machine.cpu, machine.kernel, machine.filesystem
        )?;
    }
    if !chapter.conditions.is_empty() {
        writeln!(text, "| check | figure | asked | unit | |\n|---|---:|---:|---|---|")?;
        for condition in &chapter.conditions {
            let result = if condition.pass { "pass" } else { "**miss**" };
            let (figure, needed) = (number(condition.figure), number(condition.needed));
            let target = cell(&condition.target);
            writeln!(text, "| {target} | {figure} | {needed} | {} | {result} |", condition.unit)?;
        }
    }
    let (courses, tables): (Vec<&Table>, Vec<_>) =
        chapter.tables.iter().partition(|table| table.is_by_time());
    for table in tables {
        writeln!(text, "\n{}\n", table.title)?;
        figures(text, table)?;
    }
    if !courses.is_empty() {
        let titles: Vec<&str> = courses.iter().map(|table| table.title.as_str()).collect();
        writeln!(text, "\nIn the raw data: {}.", titles.join("; "))?;
    }
    for note in &chapter.notes {
        writeln!(text, "\n{note}")?;
    }
    writeln!(text, "\n[Raw data]({})", link(&chapter.raw, folder))
}

fn figures(text: &mut String, table: &Table) -> std::fmt::Result {
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|text| cell(text)).collect();
        format!("| {} |", cells.join(" | "))
    };
    writeln!(text, "{}", line(&table.columns))?;
    let rules =
        table.columns.iter().enumerate().map(|(at, _)| if at == 0 { "---" } else { "---:" });
    writeln!(text, "|{}|", rules.collect::<Vec<_>>().join("|"))?;
    for row in &table.rows {
        writeln!(text, "{}", line(row))?;
    }
    Ok(())
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
