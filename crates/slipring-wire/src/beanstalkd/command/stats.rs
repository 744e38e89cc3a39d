//! `stats`, `stats-tube` and `stats-job`.

use bytes::{BufMut, BytesMut};

use super::{Command, Parsed, bare, with_id, with_name};
use crate::beanstalkd::digits::put_number;

pub(super) fn parse(line: &[u8]) -> Parsed {
    with_id(line, b"stats-job ", |id| Command::StatsJob { id })
        .or_else(|| with_name(line, b"stats-tube ", Command::StatsTube))
        .or_else(|| bare(line, b"stats", Command::Stats))
}

pub(super) fn write(command: &Command, out: &mut BytesMut) {
    match command {
        Command::StatsJob { id } => {
            out.put_slice(b"stats-job");
            put_number(out, *id);
        }
        Command::StatsTube(tube) => {
            out.put_slice(b"stats-tube ");
            out.put_slice(tube.as_str().as_bytes());
        }
        _ => out.put_slice(b"stats"),
    }
}
