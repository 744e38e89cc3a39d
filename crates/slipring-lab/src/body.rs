//! The bodies that load is made of: 100 bytes of text that tell their number and due time, and
//! whether they are whole.

use anyhow::{Result, bail};

/// Length of every body in bytes.
pub const BODY_BYTES: usize = 100;

/// A body: number, due time and check as 16 hexadecimal digits each, then filler.
pub type Body = [u8; BODY_BYTES];

const FILLER: &[u8; 52] = b"slipring lab: what follows a number is of one length";
const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// What a body says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Content {
    /// The message's number, dense from 0 within a run.
    pub number: u64,
    /// When it was due to be sent, in nanoseconds of [`crate::time::monotonic_ns`].
    pub due_ns: u64,
}

/// The body that says `content`.
pub fn write(content: Content) -> Body {
    let mut body = [0; BODY_BYTES];
    let (head, filler) = body.split_at_mut(BODY_BYTES - FILLER.len());
    let numbers = [content.number, content.due_ns, check(content)];
    for (digits, number) in head.chunks_exact_mut(16).zip(numbers) {
        for (place, digit) in digits.iter_mut().rev().enumerate() {
            *digit = DIGITS[(number >> (4 * place)) as usize & 15];
        }
    }
    filler.copy_from_slice(FILLER);
    body
}

/// Reads a body back.
///
/// # Errors
/// When a byte is not as it was written.
pub fn read(body: &[u8]) -> Result<Content> {
    let (head, filler) = body.split_at(body.len().saturating_sub(FILLER.len()));
    let mut numbers = head.chunks_exact(16).map(hexadecimal);
    let fields = (numbers.next(), numbers.next(), numbers.next());
    let (Some(Some(number)), Some(Some(due_ns)), Some(Some(sum))) = fields else {
        bail!("not a body of this lab: {:?}", String::from_utf8_lossy(body));
    };
    let content = Content { number, due_ns };
    if filler != FILLER || body.len() != BODY_BYTES || sum != check(content) {
        bail!("a damaged body: {:?}", String::from_utf8_lossy(body));
    }
    Ok(content)
}

fn hexadecimal(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0, |number, digit| {
        let value = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        Some(number << 4 | u64::from(value))
    })
}

/// A check that changes with every bit of both numbers.
fn check(content: Content) -> u64 {
    let mixed = (content.number ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed ^ (mixed >> 29) ^ content.due_ns).wrapping_mul(0x94d0_49bb_1331_11eb)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_reads_back_and_any_changed_byte_is_noticed() {
        let content = Content { number: 123_456_789, due_ns: u64::MAX - 5 };
        let body = write(content);
        assert_eq!(read(&body).unwrap(), content);
        for at in 0..BODY_BYTES {
            let mut damaged = body;
            damaged[at] ^= 1;
            assert!(read(&damaged).is_err(), "byte {at}");
        }
        assert!(read(&body[..99]).is_err());
        assert!(read(b"").is_err());
    }
}
