//! What stands on the wire for a body of the history. The history keeps a body's name, which tells
//! its size; the bytes follow from it, so that a wrong one is noticed wherever it is.

use anyhow::{Context, Result, bail};

/// A name nobody uses again, of a body of so many bytes.
pub fn name(seed: u64, session: u64, number: u64, bytes: usize) -> String {
    format!("{seed:x}-{session}-{number}-{bytes}")
}

/// Whether a body is too small to hold its name, which then travels beside it.
pub fn is_tiny(name: &str) -> bool {
    size(name).is_some_and(|bytes| bytes <= name.len())
}

/// The bytes of a body: its name where there is room for it, and filler.
pub fn written(name: &str) -> String {
    let bytes = size(name).unwrap_or(name.len() + 1);
    let mut text = String::with_capacity(bytes);
    if bytes > name.len() {
        text.push_str(name);
        text.push(' ');
    }
    // FNV-1a of the name, then a linear congruence: other names, other bytes.
    let hash = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let mut state = name.bytes().fold(0xcbf2_9ce4_8422_2325, hash);
    while text.len() < bytes {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        text.push(char::from(b'a' + (state >> 60) as u8));
    }
    text
}

/// The name of a body that was received; `beside` is what travelled beside it.
///
/// # Errors
/// When a byte is not as it was written.
pub fn read(body: &[u8], beside: Option<&str>) -> Result<String> {
    let text = std::str::from_utf8(body).context("a body that is no text")?;
    let within = || text.split(' ').next().unwrap_or_default();
    let name = beside.unwrap_or_else(within);
    if text != written(name) {
        let shown: String = text.chars().take(60).collect();
        bail!("a body of {} bytes is not what was sent: {name} {shown:?}", text.len());
    }
    Ok(name.to_owned())
}

/// The size at the end of a name.
fn size(name: &str) -> Option<usize> {
    name.rsplit('-').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_reads_back_as_its_name_and_any_other_byte_is_noticed() {
        for bytes in [20, 21, 300, 262_144] {
            let name = name(255, 3, 17, bytes);
            let body = written(&name);
            assert_eq!((body.len(), is_tiny(&name)), (bytes, false));
            assert_eq!(read(body.as_bytes(), None).unwrap(), name);
            let mut wrong = body.into_bytes();
            *wrong.last_mut().unwrap() ^= 1;
            assert!(read(&wrong, None).is_err(), "{bytes} bytes");
            wrong.pop();
            assert!(read(&wrong, None).is_err(), "{bytes} bytes, cut");
        }
    }

    #[test]
    fn a_body_that_has_no_room_for_its_name_is_told_by_what_travels_beside_it() {
        let name = name(255, 3, 17, 1);
        let body = written(&name);
        assert_eq!((body.len(), is_tiny(&name)), (1, true));
        assert_eq!(read(body.as_bytes(), Some(&name)).unwrap(), name);
        assert!(read(b"", Some(&name)).is_err());
    }
}
