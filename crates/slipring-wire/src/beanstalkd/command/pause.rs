//! `pause-tube`.

use bytes::{BufMut, BytesMut};

use super::{Command, Parsed};
use crate::beanstalkd::digits::put_number;
use crate::beanstalkd::fields::Fields;
use crate::beanstalkd::name::TubeName;
use crate::beanstalkd::refusal::Refusal;

pub(super) fn parse(line: &[u8]) -> Parsed {
    let rest = line.strip_prefix(b"pause-tube")?;
    Some(pause(Fields::new(rest)))
}

fn pause(mut fields: Fields<'_>) -> Result<Command, Refusal> {
    let tube = fields.name()?;
    let delay = fields.number_u32()?;
    fields.end()?;
    Ok(Command::PauseTube { tube, delay })
}

pub(super) fn write(tube: &TubeName, delay: u32, out: &mut BytesMut) {
    out.put_slice(b"pause-tube ");
    out.put_slice(tube.as_str().as_bytes());
    put_number(out, u64::from(delay));
}
