//! `cargo xtask tidy`: the house rules that a program can check, one file for each rule.
//!
//! Not for what rustfmt and clippy already check.

mod calls;
mod clauses;
mod file_length;
mod finding;
mod function_length;
mod functions;
mod headers;
mod headings;
mod links;
mod ratchet;
mod sql_headers;
mod tree;
mod walls;
mod width;
mod words;

use std::path::Path;
use std::process::Command;

use crate::process::{self, Outcome};
use finding::{Finding, Level};
use tree::Tree;

/// Checks the repository at `root` and prints every finding; fails when one of them is an error.
pub fn run(root: &Path) -> Outcome {
    let tree = Tree::read(root)?;
    let mut metadata = Command::new("cargo");
    metadata.args(["metadata", "--format-version", "1", "--no-deps"]);
    let metadata = process::output(metadata.current_dir(root))?;

    let mut findings = check_text(&tree);
    findings.extend(walls::check(&metadata));
    findings.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    for finding in &findings {
        println!("{finding}");
    }
    let errors = findings.iter().filter(|finding| finding.level == Level::Fail).count();
    let warnings = findings.len() - errors;
    println!("tidy: {} files, {errors} errors, {warnings} warnings", tree.files.len());
    if errors > 0 {
        return Err(format!("tidy found {errors} errors; each line above says what to do"));
    }
    Ok(())
}

fn check_text(tree: &Tree) -> Vec<Finding> {
    let rules: [fn(&Tree) -> Vec<Finding>; 11] = [
        file_length::check,
        function_length::check,
        ratchet::check,
        width::check,
        links::check,
        headings::check,
        sql_headers::check,
        functions::check,
        calls::check,
        words::check,
        headers::check,
    ];
    let mut findings: Vec<Finding> = rules.iter().flat_map(|rule| rule(tree)).collect();
    findings.extend(clauses::check(tree));
    findings
}
