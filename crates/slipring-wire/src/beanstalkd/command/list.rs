//! `list-tubes`, `list-tube-used` and `list-tubes-watched`.

use bytes::{BufMut, BytesMut};

use super::{Command, Parsed, bare};

pub(super) fn parse(line: &[u8]) -> Parsed {
    // The longer word first: it begins with the shorter one.
    bare(line, b"list-tubes-watched", Command::ListTubesWatched)
        .or_else(|| bare(line, b"list-tube-used", Command::ListTubeUsed))
        .or_else(|| bare(line, b"list-tubes", Command::ListTubes))
}

pub(super) fn write(command: &Command, out: &mut BytesMut) {
    out.put_slice(match command {
        Command::ListTubesWatched => b"list-tubes-watched",
        Command::ListTubeUsed => b"list-tube-used",
        _ => b"list-tubes",
    });
}
