//! Relative links in markdown lead to a file of the repository, and to a heading that is there.

use super::finding::Finding;
use super::tree::{File, Tree};

const RULE: &str = "dead link";

/// Reports links whose file or whose heading does not exist.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.with(&["md"]) {
        for (number, line) in file.prose() {
            for target in targets(line) {
                if let Some(text) = dead(tree, file, target) {
                    findings.push(Finding::fail(&file.path, number, RULE, text));
                }
            }
        }
    }
    findings
}

/// The targets of `[words](target)` in a line, code spans left out.
fn targets(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    // Every second piece between backticks is code.
    for prose in line.split('`').step_by(2) {
        let mut rest = prose;
        while let Some((_, after)) = rest.split_once("](") {
            let Some((target, tail)) = after.split_once(')') else { break };
            found.push(target.split(' ').next().unwrap_or(target));
            rest = tail;
        }
    }
    found
}

/// Says what is wrong with a link, or nothing when it is sound or leads outside.
fn dead(tree: &Tree, from: &File, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = match target.split_once('#') {
        Some((path, anchor)) => (path, Some(anchor)),
        None => (target, None),
    };
    let path = if path.is_empty() { from.path.clone() } else { resolve(&from.path, path) };
    if !tree.paths.contains(&path) {
        return Some(format!("`{target}` leads to {path}, which is not in the repository"));
    }
    let anchor = anchor?;
    let page = tree.file(&path).filter(|page| page.is("md"))?;
    let mut titles = page.prose().filter(|(_, line)| line.starts_with('#'));
    if titles.any(|(_, line)| slug(line) == anchor) {
        return None;
    }
    Some(format!("`{target}`: {path} has no heading for #{anchor}"))
}

/// `link` as seen from the folder of `from`, as a path from the root of the repository.
fn resolve(from: &str, link: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    parts.join("/")
}

/// The anchor that code hosts make of a heading line.
fn slug(heading: &str) -> String {
    let words = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = words.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(text: &str) -> usize {
        let other = ("docs/other.md", "# Other\n\n## What it's for: two things\n");
        let image = ("docs/img/a.txt", "");
        check(&Tree::of(&[("docs/a.md", text), other, image])).len()
    }

    #[test]
    fn a_link_to_a_file_or_folder_of_the_repository_is_alive() {
        assert_eq!(count("[a](other.md) [b](../docs/other.md) [c](img/) [d](./img/a.txt)"), 0);
        assert_eq!(count("[a](other.md) [b](gone.md) [c](../other.md)"), 2);
    }

    #[test]
    fn the_heading_behind_the_hash_must_exist() {
        assert_eq!(count("[a](other.md#what-its-for-two-things)"), 0);
        assert_eq!(count("[a](other.md#what)"), 1);
        assert_eq!(count("# Here\n[a](#here) [b](#there)"), 1);
    }

    #[test]
    fn code_and_addresses_are_not_links_of_ours() {
        assert_eq!(count("`[a](gone.md)` [b](https://example.org) [c](mailto:a@example.org)"), 0);
        assert_eq!(count("```\n[a](gone.md)\n```\n"), 0);
    }
}
