//! Each markdown file has exactly one first-level heading.

use super::finding::Finding;
use super::tree::Tree;

/// Reports markdown files with no first-level heading, or with a second one.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.with(&["md"]) {
        let mut first_level = file.prose().filter(|(_, line)| line.starts_with("# "));
        if first_level.next().is_none() {
            let text = "no heading: start the file with `# What it is about`".to_owned();
            findings.push(Finding::fail(&file.path, 1, "one heading", text));
        }
        for (number, _) in first_level {
            let text = "a second first-level heading: use `##`, or make a second file".to_owned();
            findings.push(Finding::fail(&file.path, number, "one heading", text));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        check(&Tree::of(&[("a.md", text)])).into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn one_heading_passes_and_none_or_two_fail() {
        assert!(lines("# A\n\n## B\n").is_empty());
        assert_eq!(lines("text\n"), [1]);
        assert_eq!(lines("# A\n# B\n"), [2]);
    }

    #[test]
    fn a_comment_inside_a_fenced_block_is_no_heading() {
        assert!(lines("# A\n```sh\n# start it\n```\n").is_empty());
    }
}
