//! Each Rust file begins by saying what it is for.

use super::finding::Finding;
use super::tree::Tree;

/// Reports Rust files whose first line is no `//!` line.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let bare = tree.with(&["rs"]).filter(|file| !file.text.starts_with("//! "));
    let text = "begin the file with `//!` and what it is for, and what it is not for";
    bare.map(|file| Finding::fail(&file.path, 1, "file header", text.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_header_fails() {
        assert_eq!(check(&Tree::of(&[("a.rs", "use std::fmt;\n")])).len(), 1);
        assert!(check(&Tree::of(&[("a.rs", "//! The clock.\n")])).is_empty());
    }
}
