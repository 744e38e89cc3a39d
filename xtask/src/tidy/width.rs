//! Rust lines stay within 100 columns, where rustfmt does not reach: comments and long strings.

use super::finding::Finding;
use super::tree::Tree;

const COLUMNS_MAX: usize = 100;

/// Reports lines that are too wide; a line with an address in it may be as long as it must.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.with(&["rs"]) {
        for (number, line) in file.numbered() {
            let columns = line.chars().count();
            if columns > COLUMNS_MAX && !line.contains("://") {
                let text = format!("{columns} columns, {COLUMNS_MAX} are allowed: break the line");
                findings.push(Finding::fail(&file.path, number, "line width", text));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(line: &str) -> usize {
        check(&Tree::of(&[("a.rs", line)])).len()
    }

    #[test]
    fn width_is_counted_in_characters() {
        assert_eq!(count(&"ü".repeat(100)), 0);
        assert_eq!(count(&"ü".repeat(101)), 1);
    }

    #[test]
    fn a_line_with_an_address_is_left_alone() {
        assert_eq!(count(&format!("// https://example.org/{}", "x".repeat(100))), 0);
    }
}
