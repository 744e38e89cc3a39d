//! The body of a job: its number, when it was inserted and whether its first attempt fails, in
//! hexadecimal digits, then filling up to the length that is asked for.

use bytes::{Bytes, BytesMut};

/// Digits of a number in a body.
const DIGITS: usize = 16;
/// Bytes without the filling; no body is shorter.
pub const JOB_BYTES_MIN: usize = 2 * DIGITS + 1;

/// What a body says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Job {
    /// Its number, from 0 in each replica.
    pub number: u64,
    /// When it was inserted, in microseconds of the wall clock since 1970.
    pub inserted_us: u64,
    /// Its first attempt fails.
    pub fails_first: bool,
}

impl Job {
    /// The body, of so many bytes or as many as it needs.
    pub fn body(&self, bytes: usize) -> Bytes {
        let flag = if self.fails_first { 'f' } else { 's' };
        let head = format!("{:016x}{:016x}{flag}", self.number, self.inserted_us);
        let mut body = BytesMut::from(head.as_bytes());
        body.resize(bytes.max(JOB_BYTES_MIN), b'x');
        body.freeze()
    }

    /// What a body says; nothing where it is no job's.
    pub fn of(body: &[u8]) -> Option<Job> {
        let head = std::str::from_utf8(body.get(..JOB_BYTES_MIN)?).ok()?;
        let number = |from: usize| u64::from_str_radix(head.get(from..from + DIGITS)?, 16).ok();
        let fails_first = match head.get(2 * DIGITS..)? {
            "f" => true,
            "s" => false,
            _ => return None,
        };
        Some(Job { number: number(0)?, inserted_us: number(DIGITS)?, fails_first })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_says_what_was_put_into_it_and_has_the_length_that_was_asked_for() {
        for (bytes, length) in [(0, JOB_BYTES_MIN), (256, 256)] {
            let job = Job { number: 7, inserted_us: u64::MAX, fails_first: bytes == 0 };
            let body = job.body(bytes);
            assert_eq!((body.len(), Job::of(&body)), (length, Some(job)));
        }
        assert_eq!(Job::of(b"something else that is long enough to be one"), None);
        assert_eq!(Job::of(b""), None);
    }
}
