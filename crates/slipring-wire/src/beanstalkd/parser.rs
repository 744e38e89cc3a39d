//! The server side of a connection: bytes in pieces of any size to commands, bounded in memory.

use bytes::{Buf, Bytes, BytesMut};

use super::command::{Command, Line, Put, parse_line};
use super::refusal::Refusal;

/// The longest command line, in bytes, with its CR LF.
pub const LINE_BYTES_MAX: usize = 224;

/// A body up to this size is copied out of the buffer. That is cheaper than sharing the buffer,
/// which is then used again, and a kept body does not keep all that came beside it.
const COPIED_BODY_BYTES_MAX: usize = 16 * 1024;

/// A body of less than half of the buffer is copied up to this size: a kept slice keeps the whole
/// buffer. The buffer of a larger one has little in it that was written beside the body.
const LONE_BODY_BYTES_MAX: usize = 256 * 1024;

/// What the next bytes belong to.
enum Expect {
    Line,
    /// The rest of a line that is too long. `told` once it is refused.
    LineEnd {
        told: bool,
    },
    /// The body of a job whose command line is in `Put` (with an empty body), and its CR LF.
    Body {
        put: Put,
        bytes: usize,
    },
    /// Bytes of a body that is not wanted, its CR LF included.
    Skip {
        left: u64,
        refusal: Refusal,
    },
}

/// Turns received bytes into commands.
///
/// Bytes come in through [`feed`](Parser::feed) or by reading into
/// [`buffer_mut`](Parser::buffer_mut); commands come out by iterating, in the order in which they
/// were sent. The iterator ends where the bytes end and goes on after more were fed. Large bodies
/// are slices of the received bytes; small ones are copied, so that they do not keep the buffer.
///
/// Call it dry before feeding more: then the buffer holds at most one unfinished command, that is
/// a line of 224 bytes or a body of the limit, beside what was fed last.
pub struct Parser {
    buffer: BytesMut,
    expect: Expect,
    job_bytes_max: u32,
    /// The size of the buffer with all that was taken from it, as far as is known.
    allocated: usize,
    /// What the buffer had room for when that was last looked at.
    room_seen: usize,
    /// No line has come whole: the client has not shown yet that it speaks this protocol.
    first: bool,
}

impl Parser {
    /// A parser that refuses job bodies above `job_bytes_max` bytes.
    pub fn new(job_bytes_max: u32) -> Parser {
        let buffer = BytesMut::new();
        let expect = Expect::Line;
        Parser { buffer, expect, job_bytes_max, allocated: 0, room_seen: 0, first: true }
    }

    /// Appends received bytes. Copies them; see [`buffer_mut`](Parser::buffer_mut).
    pub fn feed(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The buffer to append received bytes to, for reading from a socket without a copy.
    pub fn buffer_mut(&mut self) -> &mut BytesMut {
        &mut self.buffer
    }

    /// Whether no unfinished command is held.
    pub fn is_idle(&self) -> bool {
        matches!(self.expect, Expect::Line) && self.buffer.is_empty()
    }

    /// The announced size of the job body that is being received, in bytes.
    pub fn unfinished_body_bytes(&self) -> Option<usize> {
        match self.expect {
            Expect::Body { bytes, .. } => Some(bytes),
            _ => None,
        }
    }

    /// Throws away the body that is being received, what has come of it and what is still to
    /// come, and refuses its `put` with [`Refusal::OutOfMemory`] once it is gone. For a server
    /// that has no room for it; without such a body nothing happens.
    pub fn refuse_body(&mut self) {
        if let Expect::Body { bytes, .. } = self.expect {
            let refusal = Refusal::OutOfMemory;
            self.expect = Expect::Skip { left: bytes as u64 + 2, refusal };
        }
    }

    /// A complete line without its CR LF, handed to `parse_line`; `None` if there is none yet.
    fn next_line(&mut self) -> Option<Result<Line, Refusal>> {
        let window = self.buffer.get(..LINE_BYTES_MAX).unwrap_or(&self.buffer);
        let Some(end) = line_end(window) else {
            if self.buffer.len() >= LINE_BYTES_MAX {
                self.expect = Expect::LineEnd { told: false };
            }
            return None;
        };
        self.first = false;
        let line = parse_line(window.get(..end).unwrap_or_default());
        self.buffer.advance(end + 2);
        Some(line)
    }

    /// Throws away an overlong line; true when its end was seen.
    fn drop_line(&mut self) -> bool {
        if let Some(end) = line_end(&self.buffer) {
            self.buffer.advance(end + 2);
            self.expect = Expect::Line;
            return true;
        }
        // A CR at the very end may be the first half of the line end.
        let keep = usize::from(self.buffer.last() == Some(&b'\r'));
        self.buffer.advance(self.buffer.len() - keep);
        false
    }

    /// Decides what follows a `put` line.
    fn expect_body(&mut self, put: Put, announced_bytes: u32) {
        self.expect = if announced_bytes > self.job_bytes_max {
            Expect::Skip { left: u64::from(announced_bytes) + 2, refusal: Refusal::JobTooBig }
        } else {
            Expect::Body { put, bytes: announced_bytes as usize }
        };
    }

    /// The body that has come whole, without its CR LF.
    fn take_body(&mut self, bytes: usize) -> Result<Bytes, Refusal> {
        if self.buffer.get(bytes..bytes + 2) != Some(b"\r\n") {
            self.buffer.advance(bytes + 2);
            return Err(Refusal::ExpectedCrlf);
        }
        if !self.is_copied(bytes) {
            let body = self.buffer.split_to(bytes).freeze();
            self.buffer.advance(2);
            return Ok(body);
        }
        let body = Bytes::copy_from_slice(self.buffer.get(..bytes).unwrap_or_default());
        self.buffer.advance(bytes + 2);
        Ok(body)
    }

    /// Whether a body of this size is copied out of the buffer.
    fn is_copied(&mut self, bytes: usize) -> bool {
        // Taking bytes from the buffer makes its room smaller; only a new buffer, or one that was
        // moved to its beginning, has more.
        let room = self.buffer.capacity();
        if room > self.room_seen {
            self.allocated = room;
        }
        self.room_seen = room;
        bytes <= COPIED_BODY_BYTES_MAX || bytes <= LONE_BODY_BYTES_MAX && bytes < self.allocated / 2
    }

    /// Throws away bytes of an unwanted body; true when all of it is gone.
    fn skip_body(&mut self, left: u64, refusal: Refusal) -> bool {
        let here = usize::try_from(left).unwrap_or(usize::MAX).min(self.buffer.len());
        self.buffer.advance(here);
        let left = left - here as u64;
        self.expect = if left == 0 { Expect::Line } else { Expect::Skip { left, refusal } };
        left == 0
    }

    /// Gives back the memory that the bytes of the unfinished command do not need, for a client
    /// that is waited for. Costs a copy of these bytes where they are fewer than half of what they
    /// have room for.
    pub fn shrink(&mut self) {
        if self.buffer.is_empty() {
            self.buffer = BytesMut::new();
            (self.allocated, self.room_seen) = (0, 0);
        } else if self.buffer.len() < self.buffer.capacity() / 2 {
            self.buffer = BytesMut::from(&self.buffer[..]);
            (self.allocated, self.room_seen) = (0, 0);
        }
    }
}

impl Iterator for Parser {
    type Item = Result<Command, Refusal>;

    fn next(&mut self) -> Option<Result<Command, Refusal>> {
        loop {
            match &mut self.expect {
                Expect::Line => match self.next_line() {
                    Some(Ok(Line::Whole(command))) => return Some(Ok(command)),
                    Some(Ok(Line::Put { put, body_bytes })) => {
                        self.expect_body(put, body_bytes);
                    }
                    Some(Err(refusal)) => return Some(Err(refusal)),
                    None if matches!(self.expect, Expect::LineEnd { .. }) => {}
                    None => return None,
                },
                Expect::LineEnd { told } => {
                    if std::mem::take(&mut self.first) {
                        *told = true;
                        return Some(Err(Refusal::FirstLineTooLong));
                    }
                    let told = *told;
                    if !self.drop_line() {
                        return None;
                    }
                    if !told {
                        return Some(Err(Refusal::BadFormat));
                    }
                }
                Expect::Body { put, bytes } => {
                    let bytes = *bytes;
                    if self.buffer.len() < bytes + 2 {
                        return None;
                    }
                    let put = put.clone();
                    self.expect = Expect::Line;
                    return Some(
                        self.take_body(bytes).map(|body| Command::Put(Put { body, ..put })),
                    );
                }
                Expect::Skip { left, refusal } => {
                    let (left, refusal) = (*left, *refusal);
                    return self.skip_body(left, refusal).then_some(Err(refusal));
                }
            }
        }
    }
}

/// The offset of the first CR LF. A lone CR or LF does not end a line.
pub(super) fn line_end(bytes: &[u8]) -> Option<usize> {
    memchr::memchr_iter(b'\n', bytes)
        .filter_map(|at| at.checked_sub(1))
        .find(|&at| bytes.get(at) == Some(&b'\r'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_body_does_not_keep_a_buffer_that_is_much_larger() {
        // The buffer gets smaller with each body that is taken from it, and what it keeps does not.
        let mut parser = Parser::new(1 << 20);
        parser.buffer_mut().reserve(128 << 10);
        let put = format!("put 0 0 60 20000\r\n{}\r\n", "x".repeat(20_000));
        parser.feed(put.repeat(6).as_bytes());
        for _ in 0..6 {
            let Some(Ok(Command::Put(put))) = parser.next() else { panic!("it came whole") };
            assert!(put.body.is_unique(), "it shares the buffer");
        }
        // One that fills most of its buffer is not copied.
        let mut parser = Parser::new(1 << 20);
        parser.buffer_mut().reserve(128 << 10);
        parser.feed(format!("put 0 0 60 100000\r\n{}\r\n", "x".repeat(100_000)).as_bytes());
        let Some(Ok(Command::Put(put))) = parser.next() else { panic!("it came whole") };
        assert!(!put.body.is_unique(), "it was copied");
    }

    #[test]
    fn a_parser_gives_back_what_the_bytes_of_a_command_do_not_need() {
        let mut parser = Parser::new(100);
        parser.buffer_mut().reserve(64 << 10);
        parser.feed(b"put 1 2 3 4\r\nbo");
        assert!(parser.next().is_none());
        parser.shrink();
        assert!(parser.buffer_mut().capacity() < 1024);
        parser.feed(b"dy\r\n");
        let expected =
            Put { priority: 1, delay: 2, time_to_run: 3, body: Bytes::from_static(b"body") };
        assert_eq!(parser.next(), Some(Ok(Command::Put(expected))));
        parser.buffer_mut().reserve(64 << 10);
        parser.shrink();
        assert_eq!(parser.buffer_mut().capacity(), 0);
    }
}
