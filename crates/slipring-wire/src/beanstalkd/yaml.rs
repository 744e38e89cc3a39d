//! The small part of YAML that the statistics and lists are written in, both ways. Not a general
//! YAML reader: it knows one map of scalars, and one list of names.

use bytes::{BufMut, Bytes, BytesMut};

use super::name::TubeName;

/// Writes one map, key by key, in the order of the calls.
pub struct Map {
    out: BytesMut,
}

impl Map {
    /// A map without keys.
    pub fn begin() -> Map {
        let mut out = BytesMut::with_capacity(1024);
        out.put_slice(b"---\n");
        Map { out }
    }

    /// A number.
    pub fn number(&mut self, key: &str, value: u64) {
        self.word(key, itoa::Buffer::new().format(value));
    }

    /// A word that needs no quotes, such as `true` or a number with a point.
    pub fn word(&mut self, key: &str, value: &str) {
        self.key(key);
        self.out.put_slice(value.as_bytes());
        self.out.put_u8(b'\n');
    }

    /// A quoted string. Quotes and backslashes are escaped; control characters become spaces.
    pub fn string(&mut self, key: &str, value: &str) {
        self.key(key);
        self.out.put_u8(b'"');
        for byte in value.bytes() {
            match byte {
                b'"' | b'\\' => self.out.put_slice(&[b'\\', byte]),
                0..=0x1f | 0x7f => self.out.put_u8(b' '),
                _ => self.out.put_u8(byte),
            }
        }
        self.out.put_slice(b"\"\n");
    }

    /// The finished text.
    pub fn finish(self) -> Bytes {
        self.out.freeze()
    }

    fn key(&mut self, key: &str) {
        self.out.put_slice(key.as_bytes());
        self.out.put_slice(b": ");
    }
}

/// A list of tube names.
pub fn list<'a>(names: impl IntoIterator<Item = &'a TubeName>) -> Bytes {
    let mut out = BytesMut::with_capacity(256);
    out.put_slice(b"---\n");
    for name in names {
        out.put_slice(b"- ");
        out.put_slice(name.as_str().as_bytes());
        out.put_u8(b'\n');
    }
    out.freeze()
}

/// The pairs of a map as a server sent it, quotes taken off. Lines that are no pair are left out.
pub fn pairs(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(|line| {
        let (key, value) = line.split_once(": ")?;
        let bare = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        Some((key, bare.unwrap_or(value)))
    })
}

/// The names of a list as a server sent it.
pub fn items(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| line.strip_prefix("- "))
}
