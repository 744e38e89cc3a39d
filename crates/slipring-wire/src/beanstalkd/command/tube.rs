//! `use`, `watch` and `ignore`: which tubes a connection works with.

use bytes::{BufMut, BytesMut};

use super::{Command, Parsed, with_name};

pub(super) fn parse(line: &[u8]) -> Parsed {
    with_name(line, b"use ", Command::Use)
        .or_else(|| with_name(line, b"watch ", Command::Watch))
        .or_else(|| with_name(line, b"ignore ", Command::Ignore))
}

pub(super) fn write(command: &Command, out: &mut BytesMut) {
    let (word, tube): (&[u8], _) = match command {
        Command::Use(tube) => (b"use ", tube),
        Command::Watch(tube) => (b"watch ", tube),
        Command::Ignore(tube) => (b"ignore ", tube),
        _ => return,
    };
    out.put_slice(word);
    out.put_slice(tube.as_str().as_bytes());
}
