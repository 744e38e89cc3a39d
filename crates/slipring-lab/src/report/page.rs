//! The page: one file of HTML with its pictures and styles in it.

use std::path::Path;

use anyhow::Result;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::chapter::Chapter;
use super::{checks, style};
use crate::findings::Table;
use crate::run::condition::{Condition, number};
use crate::run::report::Head;

/// The page of some chapters; it will lie in `folder`, from which it links the raw data.
///
/// # Errors
/// When a plot cannot be drawn.
pub fn html(chapters: &[Chapter], folder: &Path) -> Result<String> {
    let (met, asked) = checks(chapters);
    let parts = chapters.iter().enumerate().map(|(at, chapter)| whole(at, chapter, folder));
    let parts = parts.collect::<Result<Vec<_>>>()?;
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "Slipring lab: " (met) " of " (asked) " checks met" }
                style { (PreEscaped(style::CSS)) }
            }
            body {
                h1 { "Slipring lab" }
                p { (chapters.len()) " investigations, " (met) " of " (asked) " checks met." }
                nav { ol { @for (at, chapter) in chapters.iter().enumerate() {
                    li { a href={ "#" (at) } { (chapter.name) ": " (chapter.title) } }
                } } }
                @for part in parts { (part) }
            }
        }
    };
    Ok(page.into_string())
}

fn whole(at: usize, chapter: &Chapter, folder: &Path) -> Result<Markup> {
    let plots = chapter.plots.iter().map(|plot| Ok((&plot.title, plot.svg()?)));
    let plots = plots.collect::<Result<Vec<_>>>()?;
    Ok(html! {
        section id=(at) {
            h2 { (chapter.name) ": " (chapter.title) }
            @if let Some(why) = &chapter.incomplete {
                p class="incomplete" { "Incomplete: " (why) }
            }
            @if let Some(head) = &chapter.head { (made(head)) }
            @if !chapter.conditions.is_empty() { (asked(&chapter.conditions)) }
            @for table in &chapter.tables { (figures(table)) }
            @for (title, svg) in plots { figure { figcaption { (title) } (PreEscaped(svg)) } }
            @if !chapter.notes.is_empty() {
                ul class="notes" { @for note in &chapter.notes { li { (note) } } }
            }
            @if let Some(printed) = &chapter.printed {
                details { summary { "What was printed" } pre { (printed) } }
            }
            p { a href=(link(&chapter.raw, folder)) { "Raw data" } }
        }
    })
}

fn made(head: &Head) -> Markup {
    let machine = &head.machine;
    html! {
        p { (head.date) ", " code { (head.command) } }
        p {
            (machine.cores) " × " (machine.cpu) ", " (machine.memory_mib) " MiB, Linux "
            (machine.kernel) ", " (machine.filesystem)
        }
        details { summary { "Versions" } ul {
            @for (name, version) in &machine.versions { li { (name) ": " (version) } }
        } }
    }
}

fn asked(conditions: &[Condition]) -> Markup {
    html! {
        table class="checks" {
            thead { tr { th { "check" } th { "figure" } th { "asked" } th { "" } th { "" } } }
            tbody { @for condition in conditions {
                tr {
                    td { (condition.target) }
                    td { (number(condition.figure)) }
                    td { (number(condition.needed)) }
                    td class="unit" { (condition.unit) }
                    @if condition.pass { td class="pass" { "pass" } }
                    @else { td class="miss" { "miss" } }
                }
            } }
        }
    }
}

fn figures(table: &Table) -> Markup {
    html! {
        table {
            caption { (table.title) }
            thead { tr { @for column in &table.columns { th { (column) } } } }
            tbody { @for row in &table.rows { tr { @for cell in row { td { (cell) } } } } }
        }
    }
}

/// Where a file is, seen from a folder: below it or up to three folders above, else as a whole
/// path.
pub fn link(path: &Path, folder: &Path) -> String {
    const UP_MAX: usize = 3;
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    for (up, above) in folder.ancestors().enumerate().take(UP_MAX + 1) {
        if let Ok(below) = path.strip_prefix(above) {
            return format!("{}{}", "../".repeat(up), below.display());
        }
    }
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_data_are_linked_from_where_the_page_lies() {
        let of = |path: &str, folder: &str| link(Path::new(path), Path::new(folder));
        assert_eq!(of("/a/b/c.gz", "/a/b"), "c.gz");
        assert_eq!(of("/a/b/c.gz", "/a/d"), "../b/c.gz");
        assert_eq!(of("/x/c.gz", "/a/b/c/d/e"), "/x/c.gz");
    }
}
