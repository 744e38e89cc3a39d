//! Files stay short enough to be one subject: 400 lines, a warning at 600, never over 1,000.

use std::collections::BTreeMap;

use super::finding::Finding;
use super::ratchet::Ratchet;
use super::tree::Tree;

const RULE: &str = "file length";
const LINES_MAX: usize = 400;
const LINES_WARNED: usize = 600;
const LINES_NEVER: usize = 1_000;
const KINDS: [&str; 8] = ["rs", "py", "mjs", "cjs", "go", "java", "php", "sql"];
/// Written by a test from a migrated store, and as long as that is.
const GENERATED: &str = "schema.sql";

/// Reports files over the limit that the ratchet does not cover.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut over = BTreeMap::new();
    let by_hand = |path: &str| path.rsplit('/').next() != Some(GENERATED);
    for file in tree.with(&KINDS).filter(|file| by_hand(&file.path)) {
        let length = file.text.lines().count();
        if length > LINES_MAX {
            over.insert(format!("file {}", file.path), (file.path.clone(), 0, length));
        }
        if length > LINES_NEVER {
            let text = format!("{length} lines, over {LINES_NEVER} whatever the ratchet says");
            findings.push(Finding::fail(&file.path, 0, RULE, text));
        } else if length > LINES_WARNED {
            let text = format!("{length} lines, over {LINES_WARNED}: find the second subject");
            findings.push(Finding::warn(&file.path, 0, RULE, text));
        }
    }
    findings.extend(Ratchet::of(tree).judge("file ", RULE, LINES_MAX, &over));
    findings
}

#[cfg(test)]
mod tests {
    use super::super::finding::Level;
    use super::super::ratchet;
    use super::*;

    fn levels(lines: usize, list: &str) -> Vec<Level> {
        let text = "x\n".repeat(lines);
        let tree = Tree::of(&[("a.rs", &text), (ratchet::PATH, list)]);
        check(&tree).into_iter().map(|finding| finding.level).collect()
    }

    #[test]
    fn a_file_over_the_limit_needs_an_entry() {
        assert!(levels(400, "").is_empty());
        assert_eq!(levels(401, ""), [Level::Fail]);
        assert!(levels(401, "file a.rs 401").is_empty());
    }

    #[test]
    fn a_generated_schema_is_as_long_as_its_store() {
        let text = "x\n".repeat(500);
        let tree = Tree::of(&[("s/schema.sql", &text), (ratchet::PATH, "")]);
        assert!(check(&tree).is_empty());
    }

    #[test]
    fn a_long_file_is_warned_about_and_a_giant_fails_even_with_an_entry() {
        assert_eq!(levels(601, "file a.rs 601"), [Level::Warn]);
        assert_eq!(levels(1_001, "file a.rs 1001"), [Level::Fail]);
    }
}
