//! Clauses of `docs/semantics.md`: what is cited exists, and what exists is cited by some test.

use std::collections::BTreeSet;

use super::finding::Finding;
use super::tree::{File, Tree};

const SEMANTICS: &str = "docs/semantics.md";
const RULE: &str = "clause";

/// Fails for a cited clause that does not exist; warns about clauses that no test cites.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let Some(semantics) = tree.file(SEMANTICS) else { return Vec::new() };
    let defined: BTreeSet<&str> =
        semantics.prose().filter_map(|(_, line)| definition(line)).collect();
    let mut findings = Vec::new();
    let mut tested = BTreeSet::new();
    for file in tree.with(&["rs", "md", "py", "mjs", "go"]) {
        let tests_from = first_test_line(file);
        for (number, line) in file.numbered() {
            for clause in citations(line) {
                if !defined.contains(clause) && !file.path.starts_with("xtask/") {
                    let text = format!("{clause} is not in {SEMANTICS}: cite one that is");
                    findings.push(Finding::fail(&file.path, number, RULE, text));
                } else if number >= tests_from {
                    tested.insert(clause);
                }
            }
        }
    }
    let untested: Vec<&str> = defined.difference(&tested).copied().collect();
    if !untested.is_empty() {
        let text = format!("no test cites {}", untested.join(", "));
        findings.push(Finding::warn(SEMANTICS, 0, RULE, text));
    }
    findings
}

/// The clause that a line of the semantics defines: `- **S1.1** …`.
fn definition(line: &str) -> Option<&str> {
    let (clause, _) = line.trim_start().strip_prefix("- **")?.split_once("**")?;
    citations(clause).into_iter().next()
}

/// Every `S<digits>.<digits>` of a line that does not continue a longer word.
fn citations(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (at, _) in line.match_indices('S') {
        let (before, rest) = line.split_at(at);
        if before.ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let major = digits(&rest[1..]);
        let Some(after) = rest[1 + major..].strip_prefix('.') else { continue };
        let minor = digits(after);
        let ends = !after[minor..].starts_with(|c: char| c.is_alphanumeric() || c == '_');
        if major > 0 && minor > 0 && ends {
            found.push(&rest[..major + minor + 2]);
        }
    }
    found
}

fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

/// The line of a file from which on a citation counts as a test's.
fn first_test_line(file: &File) -> usize {
    if file.is_test() {
        return 1;
    }
    if !file.is("rs") {
        return usize::MAX;
    }
    let mut test_modules = file.numbered().filter(|(_, line)| line.trim() == "#[cfg(test)]");
    test_modules.next().map_or(usize::MAX, |(number, _)| number)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLAUSES: (&str, &str) = (SEMANTICS, "# S\n- **S3.2** Fences grow.\n- **S4.1** Gone.\n");

    fn findings(path: &str, text: &str) -> Vec<String> {
        let found = check(&Tree::of(&[CLAUSES, (path, text)]));
        found.into_iter().map(|finding| finding.to_string()).collect()
    }

    #[test]
    fn a_citation_of_no_clause_fails() {
        let found = findings("crates/a/tests/b.rs", "//! S3.2 and S4.1, and S4.9.\n");
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("crates/a/tests/b.rs:1: error: clause: S4.9"), "{found:?}");
    }

    #[test]
    fn a_clause_that_no_test_cites_is_warned_about() {
        let warning = "docs/semantics.md: warning: clause: no test cites S4.1";
        assert_eq!(findings("crates/a/tests/b.rs", "// S3.2\n"), [warning]);
        let code = "//! S4.1\nfn a() {}\n#[cfg(test)]\nmod tests {\n    // S3.2\n}\n";
        assert_eq!(findings("crates/a/src/b.rs", code), [warning]);
    }

    #[test]
    fn words_that_only_look_like_clauses_are_not() {
        assert!(citations("HTTPS1.1 S3 TLS1.2 S3.2x S.1 S3.").is_empty());
        assert_eq!(citations("(S3.2), S13.10."), ["S3.2", "S13.10"]);
    }
}
