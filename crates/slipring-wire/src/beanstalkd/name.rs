//! Tube names and their alphabet.

use std::fmt;
use std::sync::Arc;

/// The longest tube name, in bytes.
pub const TUBE_NAME_BYTES_MAX: usize = 200;

/// A valid tube name: 1 to 200 ASCII letters, digits and `-+/;.$_()`, not starting with `-`.
///
/// Cloning is cheap: clones share the text.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TubeName(Arc<str>);

/// A text that is no tube name, with the reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTubeName {
    /// A name has at least one byte.
    #[error("a tube name must not be empty")]
    Empty,
    /// A name has at most [`TUBE_NAME_BYTES_MAX`] bytes.
    #[error("a tube name has at most {TUBE_NAME_BYTES_MAX} bytes, not {0}")]
    TooLong(usize),
    /// A hyphen is allowed, but not first.
    #[error("a tube name must not start with a hyphen")]
    LeadingHyphen,
    /// A byte outside the alphabet.
    #[error("byte {byte:#04x} at offset {offset} is not one of A-Z a-z 0-9 - + / ; . $ _ ( )")]
    Byte {
        /// The offending byte.
        byte: u8,
        /// Where it stands, counted from 0.
        offset: usize,
    },
}

/// Whether a byte may stand in a tube name.
pub(super) fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-+/;.$_()".contains(&byte)
}

impl TubeName {
    /// Checks the bytes and makes a name of them.
    ///
    /// # Errors
    /// [`InvalidTubeName`] says which rule is broken.
    pub fn from_bytes(bytes: &[u8]) -> Result<TubeName, InvalidTubeName> {
        match bytes.first() {
            None => return Err(InvalidTubeName::Empty),
            Some(b'-') => return Err(InvalidTubeName::LeadingHyphen),
            Some(_) => {}
        }
        if bytes.len() > TUBE_NAME_BYTES_MAX {
            return Err(InvalidTubeName::TooLong(bytes.len()));
        }
        let bad = bytes.iter().enumerate().find(|&(_, &byte)| !is_name_byte(byte));
        match (bad, std::str::from_utf8(bytes)) {
            (None, Ok(text)) => Ok(TubeName(Arc::from(text))),
            (Some((offset, &byte)), _) => Err(InvalidTubeName::Byte { byte, offset }),
            // The alphabet is ASCII, so a text that passed it is UTF-8.
            (None, Err(_)) => Err(InvalidTubeName::Empty),
        }
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::str::FromStr for TubeName {
    type Err = InvalidTubeName;

    fn from_str(text: &str) -> Result<TubeName, InvalidTubeName> {
        TubeName::from_bytes(text.as_bytes())
    }
}

impl AsRef<str> for TubeName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl std::borrow::Borrow<str> for TubeName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TubeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for TubeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl Default for TubeName {
    /// The tube named `default`.
    fn default() -> TubeName {
        TubeName(Arc::from(super::DEFAULT_TUBE))
    }
}
