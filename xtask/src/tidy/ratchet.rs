//! `xtask/ratchet.txt`: the files and functions that are over the limit today.
//!
//! Each entry may only shrink. An entry that is larger than the thing it names is an error too,
//! so that what was won is not lost again.

use std::collections::BTreeMap;

use super::finding::Finding;
use super::tree::Tree;

/// Where the list lives.
pub const PATH: &str = "xtask/ratchet.txt";

/// The entries: `file PATH` or `function PATH::NAME`, with the line of the list and the length.
pub struct Ratchet {
    entries: BTreeMap<String, (usize, usize)>,
    malformed: Vec<usize>,
}

impl Ratchet {
    /// Reads the list; an absent list is an empty one.
    pub fn of(tree: &Tree) -> Ratchet {
        let mut ratchet = Ratchet { entries: BTreeMap::new(), malformed: Vec::new() };
        let Some(file) = tree.file(PATH) else { return ratchet };
        for (number, line) in file.numbered() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let entry = line.rsplit_once(' ').and_then(|(name, length)| {
                let known = name.starts_with("file ") || name.starts_with("function ");
                Some((name.to_owned(), length.parse().ok()?)).filter(|_| known)
            });
            match entry {
                Some((name, length)) => drop(ratchet.entries.insert(name, (number, length))),
                None => ratchet.malformed.push(number),
            }
        }
        ratchet
    }

    /// Compares the lengths found over `limit` with the entries of one `kind`.
    ///
    /// `found` maps `kind name` to the place and the length of each thing over the limit.
    pub fn judge(
        &self,
        kind: &str,
        rule: &'static str,
        limit: usize,
        found: &BTreeMap<String, (String, usize, usize)>,
    ) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (name, (path, line, length)) in found {
            let allowed = self.entries.get(name).map_or(limit, |(_, allowed)| *allowed);
            if *length > allowed {
                let text = format!("{name} has {length} lines, {allowed} are allowed: split it");
                findings.push(Finding::fail(path, *line, rule, text));
            }
        }
        for (name, (number, allowed)) in &self.entries {
            if !name.starts_with(kind) {
                continue;
            }
            let text = match found.get(name) {
                Some((_, _, length)) if length < allowed => {
                    format!("{name} has shrunk to {length} lines: write that in place of {allowed}")
                }
                Some(_) => continue,
                None => format!("{name} is within the limit of {limit} or gone: delete this line"),
            };
            findings.push(Finding::fail(PATH, *number, rule, text));
        }
        findings
    }
}

/// Reports lines of the list that cannot be read.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let unread = Ratchet::of(tree).malformed;
    let text = "write `file PATH LINES` or `function PATH::NAME LINES`";
    unread.into_iter().map(|line| Finding::fail(PATH, line, "ratchet", text.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(length: usize) -> BTreeMap<String, (String, usize, usize)> {
        BTreeMap::from([("file a.rs".to_owned(), ("a.rs".to_owned(), 0, length))])
    }

    fn judge(list: &str, found: &BTreeMap<String, (String, usize, usize)>) -> Vec<String> {
        let ratchet = Ratchet::of(&Tree::of(&[(PATH, list)]));
        let findings = ratchet.judge("file ", "file length", 400, found);
        findings.into_iter().map(|finding| finding.text).collect()
    }

    #[test]
    fn an_entry_allows_its_own_length_and_no_more() {
        assert!(judge("file a.rs 500", &found(500)).is_empty());
        let grown = judge("file a.rs 500", &found(501));
        assert_eq!(grown, ["file a.rs has 501 lines, 500 are allowed: split it"]);
    }

    #[test]
    fn an_entry_that_is_too_generous_must_be_lowered_or_deleted() {
        let shrunk = judge("file a.rs 500", &found(450));
        assert_eq!(shrunk, ["file a.rs has shrunk to 450 lines: write that in place of 500"]);
        let gone = judge("file a.rs 500", &BTreeMap::new());
        assert_eq!(gone, ["file a.rs is within the limit of 400 or gone: delete this line"]);
    }

    #[test]
    fn a_line_that_is_no_entry_is_an_error() {
        assert_eq!(check(&Tree::of(&[(PATH, "# why\nsome words\nfile a.rs 500\n")])).len(), 1);
    }
}
