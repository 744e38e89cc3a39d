//! `put`: a command line with numbers, then the body.

use bytes::{BufMut, Bytes, BytesMut};

use super::Line;
use crate::beanstalkd::digits::{put_crlf, put_number};
use crate::beanstalkd::fields::Fields;
use crate::beanstalkd::refusal::Refusal;

/// A job to be stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Put {
    /// 0 is the most urgent.
    pub priority: u32,
    /// Seconds until the job is ready.
    pub delay: u32,
    /// Seconds a reservation lasts. 0 may be sent and counts as 1.
    pub time_to_run: u32,
    /// The job itself, opaque bytes.
    pub body: Bytes,
}

pub(super) fn parse(mut fields: Fields<'_>) -> Result<Line, Refusal> {
    let put = Put {
        priority: fields.number_u32()?,
        delay: fields.number_u32()?,
        time_to_run: fields.number_u32()?,
        body: Bytes::new(),
    };
    let body_bytes = fields.number_u32()?;
    fields.end()?;
    Ok(Line::Put { put, body_bytes })
}

impl Put {
    pub(super) fn write(&self, out: &mut BytesMut) {
        out.reserve(self.body.len() + 64);
        out.put_slice(b"put");
        put_number(out, u64::from(self.priority));
        put_number(out, u64::from(self.delay));
        put_number(out, u64::from(self.time_to_run));
        put_number(out, self.body.len() as u64);
        put_crlf(out);
        out.put_slice(&self.body);
        put_crlf(out);
    }
}
