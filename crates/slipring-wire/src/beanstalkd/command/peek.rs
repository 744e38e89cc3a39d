//! `peek`, `peek-ready`, `peek-delayed` and `peek-buried`.

use bytes::{BufMut, BytesMut};

use super::{Command, Parsed, bare, with_id};
use crate::beanstalkd::digits::put_number;

pub(super) fn parse(line: &[u8]) -> Parsed {
    with_id(line, b"peek ", |id| Command::Peek { id })
        .or_else(|| bare(line, b"peek-ready", Command::PeekReady))
        .or_else(|| bare(line, b"peek-delayed", Command::PeekDelayed))
        .or_else(|| bare(line, b"peek-buried", Command::PeekBuried))
}

pub(super) fn write(command: &Command, out: &mut BytesMut) {
    match command {
        Command::Peek { id } => {
            out.put_slice(b"peek");
            put_number(out, *id);
        }
        Command::PeekReady => out.put_slice(b"peek-ready"),
        Command::PeekDelayed => out.put_slice(b"peek-delayed"),
        _ => out.put_slice(b"peek-buried"),
    }
}
