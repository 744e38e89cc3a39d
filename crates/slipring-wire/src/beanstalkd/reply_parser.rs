//! The client side of a connection: bytes in pieces of any size to replies.

use bytes::{Buf, Bytes, BytesMut};

use super::fields::Fields;
use super::name::TubeName;
use super::parser::{LINE_BYTES_MAX, line_end};
use super::refusal::Refusal;
use super::reply::Reply;

/// A server that does not speak the protocol. The connection is of no more use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplyError {
    /// A line that is no reply.
    #[error("the server sent a line that is no beanstalkd reply: {0:?}")]
    NotAReply(String),
    /// More bytes than any reply line has, without a line end.
    #[error("the server sent {LINE_BYTES_MAX} bytes without a line end")]
    LineTooLong,
    /// A body above the limit given to [`ReplyParser::new`].
    #[error("the server announced a body of {announced} bytes; this client takes {limit}")]
    BodyTooBig {
        /// What the server announced, in bytes.
        announced: u64,
        /// What this client takes, in bytes.
        limit: u32,
    },
    /// A body that is not followed by CR LF.
    #[error("a body from the server is not followed by CR LF")]
    BodyEnd,
}

/// A reply whose body is still to come.
#[derive(Clone, Copy)]
enum Awaited {
    Reserved { id: u64 },
    Found { id: u64 },
    Ok,
}

/// Turns received bytes into replies; used like the server's [`Parser`](super::Parser). After an
/// error it gives that error once and then nothing.
pub struct ReplyParser {
    buffer: BytesMut,
    awaited: Option<(Awaited, usize)>,
    body_bytes_max: u32,
    broken: bool,
}

impl ReplyParser {
    /// A parser that takes bodies of at most `body_bytes_max` bytes.
    pub fn new(body_bytes_max: u32) -> ReplyParser {
        ReplyParser { buffer: BytesMut::new(), awaited: None, body_bytes_max, broken: false }
    }

    /// Appends received bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The buffer to append received bytes to, for reading from a socket without a copy.
    pub fn buffer_mut(&mut self) -> &mut BytesMut {
        &mut self.buffer
    }

    fn try_next(&mut self) -> Result<Option<Reply>, ReplyError> {
        if self.awaited.is_none() {
            let window = self.buffer.get(..LINE_BYTES_MAX).unwrap_or(&self.buffer);
            let Some(end) = line_end(window) else {
                let full = self.buffer.len() >= LINE_BYTES_MAX;
                return if full { Err(ReplyError::LineTooLong) } else { Ok(None) };
            };
            let line = window.get(..end).unwrap_or_default();
            let parsed = parse_line(line, self.body_bytes_max)?;
            self.buffer.advance(end + 2);
            match parsed {
                Line::Whole(reply) => return Ok(Some(reply)),
                Line::Body(awaited, bytes) => self.awaited = Some((awaited, bytes)),
            }
        }
        self.next_body()
    }

    fn next_body(&mut self) -> Result<Option<Reply>, ReplyError> {
        let Some((awaited, bytes)) = self.awaited else { return Ok(None) };
        if self.buffer.len() < bytes + 2 {
            return Ok(None);
        }
        let mut body = self.buffer.split_to(bytes + 2);
        if !body.ends_with(b"\r\n") {
            return Err(ReplyError::BodyEnd);
        }
        body.truncate(bytes);
        self.awaited = None;
        Ok(Some(with_body(awaited, body.freeze())))
    }
}

impl Iterator for ReplyParser {
    type Item = Result<Reply, ReplyError>;

    fn next(&mut self) -> Option<Result<Reply, ReplyError>> {
        if self.broken {
            return None;
        }
        let next = self.try_next().transpose();
        self.broken = matches!(next, Some(Err(_)));
        next
    }
}

enum Line {
    Whole(Reply),
    Body(Awaited, usize),
}

fn with_body(awaited: Awaited, body: Bytes) -> Reply {
    match awaited {
        Awaited::Reserved { id } => Reply::Reserved { id, body },
        Awaited::Found { id } => Reply::Found { id, body },
        Awaited::Ok => Reply::Ok(body),
    }
}

fn parse_line(line: &[u8], body_bytes_max: u32) -> Result<Line, ReplyError> {
    if let Some(reply) = Reply::from_word(line) {
        return Ok(Line::Whole(reply));
    }
    let not_a_reply = || ReplyError::NotAReply(line.escape_ascii().to_string());
    let space = line.iter().position(|&byte| byte == b' ').ok_or_else(not_a_reply)?;
    let (word, rest) = line.split_at(space);
    let number = || Fields::new(rest).only_number().map_err(|_| not_a_reply());
    Ok(match word {
        b"INSERTED" => Line::Whole(Reply::Inserted { id: number()? }),
        b"BURIED" => Line::Whole(Reply::InsertedBuried { id: number()? }),
        b"WATCHING" => Line::Whole(Reply::Watching(number()?)),
        b"KICKED" => Line::Whole(Reply::KickedCount(number()?)),
        b"USING" => Line::Whole(Reply::Using(used(rest).map_err(|_| not_a_reply())?)),
        b"OK" => Line::Body(Awaited::Ok, checked(number()?, body_bytes_max)?),
        b"RESERVED" | b"FOUND" => {
            let (id, bytes) = job(rest).map_err(|_| not_a_reply())?;
            let found = word == b"FOUND";
            let awaited = if found { Awaited::Found { id } } else { Awaited::Reserved { id } };
            Line::Body(awaited, checked(bytes, body_bytes_max)?)
        }
        _ => return Err(not_a_reply()),
    })
}

fn used(rest: &[u8]) -> Result<TubeName, Refusal> {
    let mut fields = Fields::new(rest);
    let name = fields.name()?;
    fields.end()?;
    Ok(name)
}

fn job(rest: &[u8]) -> Result<(u64, u64), Refusal> {
    let mut fields = Fields::new(rest);
    let job = (fields.number()?, fields.number()?);
    fields.end()?;
    Ok(job)
}

fn checked(announced: u64, limit: u32) -> Result<usize, ReplyError> {
    let too_big = ReplyError::BodyTooBig { announced, limit };
    if announced > u64::from(limit) {
        return Err(too_big);
    }
    usize::try_from(announced).map_err(|_| too_big)
}
