//! `delete`, `release`, `bury` and `touch`: what becomes of a reserved job.

use bytes::{BufMut, BytesMut};

use super::{Command, Parsed, with_id};
use crate::beanstalkd::digits::put_number;
use crate::beanstalkd::fields::Fields;
use crate::beanstalkd::refusal::Refusal;

pub(super) fn parse(line: &[u8]) -> Parsed {
    if let Some(rest) = line.strip_prefix(b"release ") {
        return Some(release(Fields::new(rest)));
    }
    if let Some(rest) = line.strip_prefix(b"bury ") {
        return Some(bury(Fields::new(rest)));
    }
    with_id(line, b"delete ", |id| Command::Delete { id })
        .or_else(|| with_id(line, b"touch ", |id| Command::Touch { id }))
}

fn release(mut fields: Fields<'_>) -> Result<Command, Refusal> {
    let id = fields.number()?;
    let priority = fields.number_u32()?;
    let delay = fields.number_u32()?;
    fields.end()?;
    Ok(Command::Release { id, priority, delay })
}

fn bury(mut fields: Fields<'_>) -> Result<Command, Refusal> {
    let id = fields.number()?;
    let priority = fields.number_u32()?;
    fields.end()?;
    Ok(Command::Bury { id, priority })
}

pub(super) fn write(command: &Command, out: &mut BytesMut) {
    match *command {
        Command::Delete { id } => {
            out.put_slice(b"delete");
            put_number(out, id);
        }
        Command::Touch { id } => {
            out.put_slice(b"touch");
            put_number(out, id);
        }
        Command::Release { id, priority, delay } => {
            out.put_slice(b"release");
            put_number(out, id);
            put_number(out, u64::from(priority));
            put_number(out, u64::from(delay));
        }
        Command::Bury { id, priority } => {
            out.put_slice(b"bury");
            put_number(out, id);
            put_number(out, u64::from(priority));
        }
        _ => {}
    }
}
