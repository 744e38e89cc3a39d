//! A page of the lab's, opened in a real browser without a window and without a network.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::process::Outcome;
use crate::repository::Repository;

/// What a reader looks at; of each the browser must see as many as were written.
const ELEMENTS: [&str; 5] = ["svg", "figure", "table", "tr", "section"];
/// How the browser's log marks what a page complains of.
const COMPLAINT: &str = "CONSOLE";
const LIMIT_SECONDS: &str = "120";

/// Opens the file `page`, and compares what the browser made of it with what is written there.
pub fn open(repository: &Repository, page: &Path) -> Outcome {
    let named = |error| format!("{}: {error}", page.display());
    let written = std::fs::read_to_string(page).map_err(named)?;
    let page = page.canonicalize().map_err(named)?;
    let mut browser = Command::new("timeout");
    browser.args(["--kill-after=5", LIMIT_SECONDS, "chromium", "--headless", "--no-sandbox"]);
    browser.args(["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]);
    browser.args(["--disable-background-networking", "--disable-component-update"]);
    // No name is found: what the page would fetch from elsewhere is missing from it.
    browser.arg("--host-resolver-rules=MAP * ~NOTFOUND");
    let profile = repository.emptied("browser")?;
    browser.arg(format!("--user-data-dir={}", profile.display()));
    browser.args(["--enable-logging=stderr", "--dump-dom"]);
    browser.arg(format!("file://{}", page.display()));
    println!("$ chromium --headless --dump-dom file://{}", page.display());
    let shown = browser.stdin(Stdio::null()).output();
    let shown = shown.map_err(|error| format!("chromium cannot be started: {error}"))?;
    let log = String::from_utf8_lossy(&shown.stderr);
    if !shown.status.success() {
        return Err(format!("chromium ended with {}:\n{log}", shown.status));
    }
    compare(&written, &String::from_utf8_lossy(&shown.stdout), &log)
}

/// Compares a page with what a browser made of it and what it said.
fn compare(written: &str, shown: &str, log: &str) -> Outcome {
    if let Some(complaint) = log.lines().find(|line| line.contains(COMPLAINT)) {
        return Err(format!("the browser complains of the page: {complaint}"));
    }
    for element in ELEMENTS {
        let (before, after) = (count(written, element), count(shown, element));
        if before == 0 || before != after {
            return Err(format!("of {before} <{element}> of the page the browser shows {after}"));
        }
    }
    Ok(())
}

/// How many elements of this name begin in a page.
fn count(page: &str, element: &str) -> usize {
    let begins = format!("<{element}");
    let ends = |rest: &str| rest.starts_with(['>', ' ', '\n', '/']);
    page.match_indices(&begins).filter(|(at, text)| ends(&page[at + text.len()..])).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "<section><table><tr></tr></table><figure><svg/></figure></section>";

    #[test]
    fn a_page_that_is_shown_as_written_passes() {
        assert_eq!(compare(PAGE, PAGE, "[1:2:INFO:x.cc] started"), Ok(()));
    }

    #[test]
    fn what_is_missing_or_complained_of_fails() {
        let cut = PAGE.replace("<tr></tr>", "");
        assert!(compare(PAGE, &cut, "").unwrap_err().contains("<tr>"));
        assert!(compare(&cut, &cut, "").unwrap_err().contains("<tr>"));
        let log = "[1:2:INFO:CONSOLE(1)] \"not found\"";
        assert!(compare(PAGE, PAGE, log).unwrap_err().contains("not found"));
    }

    #[test]
    fn names_that_only_begin_alike_are_not_counted() {
        assert_eq!(count("<table><tr><track></track></tr>", "tr"), 1);
    }
}
