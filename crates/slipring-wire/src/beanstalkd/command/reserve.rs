//! `reserve`, `reserve-with-timeout` and `reserve-job`.

use bytes::{BufMut, BytesMut};

use super::{Command, Parsed, bare, with_id};
use crate::beanstalkd::digits::put_number;
use crate::beanstalkd::fields::Fields;
use crate::beanstalkd::refusal::Refusal;

pub(super) fn parse(line: &[u8]) -> Parsed {
    if let Some(rest) = line.strip_prefix(b"reserve-with-timeout ") {
        return Some(timeout(Fields::new(rest)));
    }
    with_id(line, b"reserve-job ", |id| Command::ReserveJob { id })
        .or_else(|| bare(line, b"reserve", Command::Reserve))
}

fn timeout(fields: Fields<'_>) -> Result<Command, Refusal> {
    match i32::try_from(fields.only_number()?) {
        Ok(seconds) => Ok(Command::ReserveWithTimeout { seconds: seconds.unsigned_abs() }),
        Err(_) => Err(Refusal::BadFormat),
    }
}

pub(super) fn write(command: &Command, out: &mut BytesMut) {
    match command {
        Command::ReserveWithTimeout { seconds } => {
            out.put_slice(b"reserve-with-timeout");
            put_number(out, u64::from(*seconds));
        }
        Command::ReserveJob { id } => {
            out.put_slice(b"reserve-job");
            put_number(out, *id);
        }
        _ => out.put_slice(b"reserve"),
    }
}
