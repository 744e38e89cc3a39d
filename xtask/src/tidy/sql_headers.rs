//! Each statement says what it is for, what it takes, what it locks and which index it uses.

use super::finding::Finding;
use super::tree::{File, Tree};

const QUERY: [&str; 4] = ["Purpose", "Inputs", "Lock", "Index"];
const MIGRATION: [&str; 1] = ["Purpose"];

/// Reports missing header lines of `queries/*.sql` and `migrations/*.sql`.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.with(&["sql"]) {
        let wanted: &[&str] = if file.path.contains("/queries/") {
            &QUERY
        } else if file.path.contains("/migrations/") {
            &MIGRATION
        } else {
            continue;
        };
        for key in wanted.iter().filter(|key| !has(file, key)) {
            let text = format!("no `-- {key}: …` in the comment at the top: add it");
            findings.push(Finding::fail(&file.path, 1, "SQL header", text));
        }
    }
    findings
}

/// True if the comment lines at the head of the file hold `-- KEY: words`.
fn has(file: &File, key: &str) -> bool {
    let mut head = file.text.lines().take_while(|line| line.starts_with("--"));
    head.any(|line| {
        let words = line.trim_start_matches('-').trim_start().strip_prefix(key);
        words.and_then(|rest| rest.strip_prefix(':')).is_some_and(|rest| !rest.trim().is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "-- Purpose: a\n-- Inputs: b\n-- Lock: c\n-- Index: d\nSELECT 1;\n";

    fn count(path: &str, text: &str) -> usize {
        check(&Tree::of(&[(path, text)])).len()
    }

    #[test]
    fn a_query_needs_all_four_lines() {
        assert_eq!(count("crates/s/queries/a.sql", WHOLE), 0);
        assert_eq!(count("crates/s/queries/a.sql", &WHOLE.replace("Lock", "Look")), 1);
        assert_eq!(count("crates/s/queries/a.sql", "SELECT 1; -- Purpose: late\n"), 4);
        assert_eq!(count("crates/s/queries/a.sql", &WHOLE.replace(" c\n", "\n")), 1);
    }

    #[test]
    fn a_migration_needs_its_purpose_and_a_dump_needs_nothing() {
        assert_eq!(count("crates/s/migrations/001.sql", "CREATE TABLE a (b);\n"), 1);
        assert_eq!(count("crates/s/migrations/001.sql", "-- Purpose: a\n"), 0);
        assert_eq!(count("crates/s/schema.sql", "CREATE TABLE a (b);\n"), 0);
    }
}
