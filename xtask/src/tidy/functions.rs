//! Folders of SQL functions: each has a page, and what is said to stand in one stands there.

use super::finding::Finding;
use super::tree::Tree;

const RULE: &str = "SQL functions";
const FOLDERS: &str = "functions/";

/// Reports folders of functions without a page, and mentions of files that are not there.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.with(&["sql"]) {
        let Some((folder, _)) = file.path.rsplit_once('/') else { continue };
        let page = format!("{folder}/README.md");
        let kept = folder.contains(&format!("/{FOLDERS}"));
        let told = findings.iter().any(|finding: &Finding| finding.path == page);
        if kept && !told && !tree.paths.contains(&page) {
            let text = "no page: say which tables and locks these functions take".to_owned();
            findings.push(Finding::fail(&page, 0, RULE, text));
        }
    }
    for file in tree.with(&["sql", "rs", "md"]).filter(|file| !file.path.starts_with("xtask/")) {
        for (number, line) in file.numbered() {
            for mention in mentions(line).filter(|mention| !exists(tree, mention)) {
                let text = format!("{mention} is not in the repository");
                findings.push(Finding::fail(&file.path, number, RULE, text));
            }
        }
    }
    findings
}

/// Every `functions/….sql` of a line.
fn mentions(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices(FOLDERS).filter_map(|(at, _)| {
        let rest = &line[at..];
        let is_path = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '/' | '.');
        let end = rest.find(|c| !is_path(c)).unwrap_or(rest.len());
        let path = rest[..end].trim_end_matches('.');
        path.ends_with(".sql").then_some(path)
    })
}

fn exists(tree: &Tree, mention: &str) -> bool {
    let end = format!("/{mention}");
    tree.paths.iter().any(|path| path.ends_with(&end))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: (&str, &str) = ("crates/s/functions/api/README.md", "# Api\n");
    const SEND: (&str, &str) = ("crates/s/functions/api/send.sql", "SELECT 1;\n");

    #[test]
    fn a_folder_of_functions_needs_one_page() {
        let other = ("crates/s/functions/api/ack.sql", "SELECT 1;\n");
        assert_eq!(check(&Tree::of(&[SEND, other])).len(), 1);
        assert!(check(&Tree::of(&[SEND, other, PAGE])).is_empty());
    }

    #[test]
    fn what_is_said_to_stand_in_a_folder_stands_there() {
        let text = "-- see functions/api/send.sql, functions/send.sql and functions/api.\n";
        let found = check(&Tree::of(&[SEND, PAGE, ("crates/s/queries/a.sql", text)]));
        assert_eq!(found.len(), 1);
        assert!(found[0].text.starts_with("functions/send.sql is not"), "{}", found[0]);
    }
}
