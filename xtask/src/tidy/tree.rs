//! The files that tidy looks at: what git tracks or would track, read once.
//!
//! Rules see only this value, so that a test can hand them a tree made of strings.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{self, Outcome};

/// One text file, with its path from the root of the repository, written with `/`.
pub struct File {
    pub path: String,
    pub text: String,
}

/// Crates that nothing but tests depends on.
const TEST_CRATES: [&str; 2] = ["crates/slipring-conformance/src/", "crates/slipring-testbed/src/"];

impl File {
    /// True for the file name extension `ext`, without its dot.
    pub fn is(&self, ext: &str) -> bool {
        Path::new(&self.path).extension().is_some_and(|e| e == ext)
    }

    /// True for files that only tests use.
    pub fn is_test(&self) -> bool {
        self.path.contains("/tests/")
            || self.path.starts_with("tests/")
            || TEST_CRATES.iter().any(|folder| self.path.starts_with(folder))
    }

    /// The lines with their numbers, counted from 1.
    pub fn numbered(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(at, line)| (at + 1, line))
    }

    /// The lines of a markdown file that are outside fenced blocks, with their numbers.
    pub fn prose(&self) -> impl Iterator<Item = (usize, &str)> {
        let mut fenced = false;
        self.numbered().filter(move |(_, line)| {
            let fence = line.trim_start().starts_with("```");
            if fence {
                fenced = !fenced;
            }
            !fence && !fenced
        })
    }
}

/// All files of the repository.
pub struct Tree {
    pub files: Vec<File>,
    /// Every path and every folder of a path, binary files included.
    pub paths: BTreeSet<String>,
}

impl Tree {
    /// Reads the tree below `root`; fails when `root` is no git work tree.
    pub fn read(root: &Path) -> Outcome<Tree> {
        let mut git = Command::new("git");
        git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
        let listed = process::output(git.current_dir(root))?;
        let mut tree = Tree { files: Vec::new(), paths: BTreeSet::new() };
        for path in listed.split('\0').filter(|path| !path.is_empty()) {
            // A file can be gone from disk and still be listed until its removal is committed.
            let Ok(bytes) = std::fs::read(root.join(path)) else { continue };
            tree.note(path);
            if let Ok(text) = String::from_utf8(bytes) {
                tree.files.push(File { path: path.to_owned(), text });
            }
        }
        Ok(tree)
    }

    /// A tree made of `(path, text)` pairs.
    #[cfg(test)]
    pub fn of(files: &[(&str, &str)]) -> Tree {
        let mut tree = Tree { files: Vec::new(), paths: BTreeSet::new() };
        for (path, text) in files {
            tree.note(path);
            tree.files.push(File { path: (*path).to_owned(), text: (*text).to_owned() });
        }
        tree
    }

    /// The file at `path`, if it is there and is text.
    pub fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// The files with one of these extensions.
    pub fn with<'t>(&'t self, extensions: &'t [&str]) -> impl Iterator<Item = &'t File> {
        self.files.iter().filter(|file| extensions.iter().any(|ext| file.is(ext)))
    }

    fn note(&mut self, path: &str) {
        let mut at = PathBuf::from(path);
        loop {
            self.paths.insert(at.to_string_lossy().into_owned());
            if !at.pop() {
                break;
            }
        }
    }
}
