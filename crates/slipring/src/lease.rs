//! Leases: fences, receipts, and the key that makes receipt texts impossible to guess (S3).

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind};
use crate::message::MessageId;
use crate::queue::QueueId;

/// A number that is higher at each hand-out of a message (S3.2).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default,
)]
#[serde(transparent)]
pub struct Fence(pub u64);

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Names one hand-out of one message; what ack, nack and extend need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Receipt {
    /// The queue that handed out.
    pub queue: QueueId,
    /// The message.
    pub message: MessageId,
    /// The fence of the hand-out.
    pub fence: Fence,
}

/// The secret of a store that seals receipts into texts. 32 random bytes, kept in the store, so
/// that receipts outlive a restart.
#[derive(Clone)]
pub struct ReceiptKey([u8; 32]);

const FORMAT: u8 = 1;
const PLAIN_LEN: usize = 25;
const DIGEST_LEN: usize = 16;

impl ReceiptKey {
    /// A key from its bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> ReceiptKey {
        ReceiptKey(bytes)
    }

    /// The receipt as a text of 55 URL-safe characters, with a keyed BLAKE3 digest of 128 bits.
    pub fn seal(&self, receipt: &Receipt) -> String {
        let mut bytes = [0_u8; PLAIN_LEN + DIGEST_LEN];
        bytes[0] = FORMAT;
        bytes[1..9].copy_from_slice(&receipt.queue.0.to_be_bytes());
        bytes[9..17].copy_from_slice(&receipt.message.0.to_be_bytes());
        bytes[17..25].copy_from_slice(&receipt.fence.0.to_be_bytes());
        let digest = blake3::keyed_hash(&self.0, &bytes[..PLAIN_LEN]);
        bytes[PLAIN_LEN..].copy_from_slice(&digest.as_bytes()[..DIGEST_LEN]);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// The receipt in a text made by [`ReceiptKey::seal`].
    ///
    /// # Errors
    /// `ReceiptInvalid` when the text is not one of this key (S3.6).
    pub fn open(&self, text: &str) -> Result<Receipt, Error> {
        let refuse =
            || Error::new(ErrorKind::ReceiptInvalid, "the receipt handle is not one of this store");
        let mut bytes = [0_u8; PLAIN_LEN + DIGEST_LEN];
        // decode_slice refuses a longer text before it writes past the end.
        match URL_SAFE_NO_PAD.decode_slice(text, &mut bytes) {
            Ok(len) if len == bytes.len() && bytes[0] == FORMAT => {}
            _ => return Err(refuse()),
        }
        let digest = blake3::keyed_hash(&self.0, &bytes[..PLAIN_LEN]);
        // blake3::Hash compares in constant time; both sides are cut to the same 16 bytes first.
        let mut shown = [0; 32];
        let mut right = [0; 32];
        shown[..DIGEST_LEN].copy_from_slice(&bytes[PLAIN_LEN..]);
        right[..DIGEST_LEN].copy_from_slice(&digest.as_bytes()[..DIGEST_LEN]);
        if blake3::Hash::from_bytes(shown) != blake3::Hash::from_bytes(right) {
            return Err(refuse());
        }
        let number = |at: usize| {
            let mut eight = [0; 8];
            eight.copy_from_slice(&bytes[at..at + 8]);
            u64::from_be_bytes(eight)
        };
        Ok(Receipt {
            queue: QueueId(number(1)),
            message: MessageId(number(9)),
            fence: Fence(number(17)),
        })
    }
}

impl fmt::Debug for ReceiptKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReceiptKey(secret)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receipt() -> Receipt {
        Receipt { queue: QueueId(7), message: MessageId(u64::MAX), fence: Fence(3) }
    }

    #[test]
    fn a_sealed_receipt_opens_to_itself() {
        let key = ReceiptKey::from_bytes([9; 32]);
        assert_eq!(key.open(&key.seal(&receipt())).unwrap(), receipt());
    }

    #[test]
    fn an_altered_or_foreign_text_is_refused() {
        // S3.6
        let key = ReceiptKey::from_bytes([9; 32]);
        let text = key.seal(&receipt());
        for at in 0..text.len() {
            let mut altered = text.clone().into_bytes();
            altered[at] = if altered[at] == b'A' { b'B' } else { b'A' };
            let altered = String::from_utf8(altered).unwrap();
            assert_eq!(key.open(&altered).unwrap_err().kind(), ErrorKind::ReceiptInvalid);
        }
        assert!(ReceiptKey::from_bytes([8; 32]).open(&text).is_err());
        for junk in ["", "x", "ü", &"A".repeat(10_000)] {
            assert!(key.open(junk).is_err());
        }
    }
}
