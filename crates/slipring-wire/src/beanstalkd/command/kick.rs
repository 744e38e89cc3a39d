//! `kick` and `kick-job`.

use bytes::{BufMut, BytesMut};

use super::{Command, Parsed, with_id};
use crate::beanstalkd::digits::put_number;
use crate::beanstalkd::fields::Fields;
use crate::beanstalkd::refusal::Refusal;

pub(super) fn parse(line: &[u8]) -> Parsed {
    if let Some(rest) = line.strip_prefix(b"kick ") {
        return Some(kick(Fields::new(rest)));
    }
    with_id(line, b"kick-job ", |id| Command::KickJob { id })
}

fn kick(mut fields: Fields<'_>) -> Result<Command, Refusal> {
    // No tube holds so many jobs that a larger bound means more.
    let bound = u32::try_from(fields.number()?).unwrap_or(u32::MAX);
    fields.end()?;
    Ok(Command::Kick { bound })
}

pub(super) fn write(command: &Command, out: &mut BytesMut) {
    match *command {
        Command::Kick { bound } => {
            out.put_slice(b"kick");
            put_number(out, u64::from(bound));
        }
        Command::KickJob { id } => {
            out.put_slice(b"kick-job");
            put_number(out, id);
        }
        _ => {}
    }
}
