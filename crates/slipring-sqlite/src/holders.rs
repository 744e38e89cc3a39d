//! Which processes hold locks of a file: so that a warning can name the one to end.
//!
//! SQLite takes its locks in WAL mode on bytes of the `-shm`: one for who writes, five for who
//! reads. On Linux the system tells who holds which; elsewhere none is named.

use std::collections::BTreeSet;

/// The byte of the `-shm` that is locked by who writes.
const WRITING: Bytes = (120, 120);
/// The bytes of the `-shm` that are locked by who reads a state of the file.
const READING: Bytes = (123, 127);
const WHOLE: Bytes = (0, u64::MAX);

type Bytes = (u64, u64);

/// Who writes into the file whose index this is, in words.
pub(crate) fn writer(index: Option<(u64, u64)>) -> String {
    in_words(index, WRITING)
}

/// The processes beside this one that read a state of the file whose index this is, each with its
/// name, if the system tells it.
pub(crate) fn reading(index: Option<(u64, u64)>) -> Vec<(u32, Option<String>)> {
    let (own, holders) = (std::process::id(), found(index, READING));
    holders.into_iter().filter(|pid| *pid != own).map(|pid| (pid, called(pid))).collect()
}

/// Who reads a state of the file whose index this is, in words.
pub(crate) fn readers(index: Option<(u64, u64)>) -> String {
    in_words(index, READING)
}

/// Who holds any lock of a file, in words.
pub(crate) fn users(file: Option<(u64, u64)>) -> String {
    in_words(file, WHOLE)
}

fn in_words(file: Option<(u64, u64)>, bytes: Bytes) -> String {
    let holders = found(file, bytes);
    let own = std::process::id();
    let others = holders.iter().filter(|pid| **pid != own);
    let mut names: Vec<String> = others.map(|pid| name(*pid)).collect();
    if names.is_empty() && holders.contains(&own) {
        names.push("this process".to_owned());
    }
    if names.is_empty() { "another process".to_owned() } else { names.join(", ") }
}

fn found(file: Option<(u64, u64)>, bytes: Bytes) -> BTreeSet<u32> {
    let locks = std::fs::read_to_string("/proc/locks").unwrap_or_default();
    let (_, inode) = file.unwrap_or_default();
    holders(&locks, inode, bytes)
}

/// What a process calls itself, where the system tells.
fn called(pid: u32) -> Option<String> {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    // A name is chosen by its process; only what prints in one line is repeated.
    let name: String = name.trim().chars().filter(|c| !c.is_control()).take(64).collect();
    Some(name).filter(|name| !name.is_empty())
}

/// A process by its name, as far as the system tells it.
fn name(pid: u32) -> String {
    let name = called(pid).map(|name| format!(" ({name})")).unwrap_or_default();
    format!("process {pid}{name}")
}

/// The processes that hold a lock on any of these bytes of a file, out of the text of
/// `/proc/locks`: `1: POSIX  ADVISORY  READ  123 fe:00:77 124 124`. The device is not compared: a
/// stacked file system shows another one here than to who asks for the file.
fn holders(locks: &str, inode: u64, bytes: Bytes) -> BTreeSet<u32> {
    let mut holders = BTreeSet::new();
    for line in locks.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        // A line with an arrow is of one who waits.
        let [_, "POSIX" | "FLOCK" | "OFDLCK", _, _, pid, file, first, last] = words[..] else {
            continue;
        };
        let of_file = file.rsplit(':').next().and_then(|number| number.parse().ok());
        let last = last.parse().unwrap_or(u64::MAX);
        let (Ok(pid), Ok(first)) = (pid.parse::<u32>(), first.parse::<u64>()) else { continue };
        // A process of another container has no number here.
        if pid > 0 && of_file == Some(inode) && first <= bytes.1 && last >= bytes.0 {
            holders.insert(pid);
        }
    }
    holders
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCKS: &str = "\
1: POSIX  ADVISORY  READ  11 fe:00:77 124 124
1: -> POSIX  ADVISORY  WRITE 12 fe:00:77 120 120
2: POSIX  ADVISORY  WRITE 13 fe:00:77 120 120
3: POSIX  ADVISORY  READ  14 fe:00:77 127 128
4: POSIX  ADVISORY  READ  15 fe:00:78 124 124
5: FLOCK  ADVISORY  READ  16 fe:00:79 0 EOF
6: POSIX  ADVISORY  READ  0 fe:00:77 124 124
7: POSIX  ADVISORY  READ  17 fe:00:77 128 128
";

    #[test]
    fn those_are_named_who_hold_the_bytes_asked_for() {
        let found = |inode, bytes| holders(LOCKS, inode, bytes).into_iter().collect::<Vec<_>>();
        assert_eq!(found(77, READING), [11, 14]);
        assert_eq!(found(77, WRITING), [13]);
        assert_eq!(found(79, WHOLE), [16]);
        assert_eq!(found(80, WHOLE), [] as [u32; 0]);
    }

    #[test]
    fn where_the_system_tells_nothing_it_is_another_process() {
        assert_eq!(in_words(Some((0, u64::MAX)), READING), "another process");
        assert!(name(std::process::id()).starts_with("process "));
    }
}
