//! Leases: fences, receipts, and the key that makes receipt texts impossible to guess (S3).

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
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

/// A receipt alone.
const PLAIN: u8 = 1;
/// A receipt and the moment of its hand-out.
const TIMED: u8 = 2;
const DIGEST_LEN: usize = 16;
/// More than any text that is sealed here decodes to.
const DECODED_MAX: usize = 64;

impl ReceiptKey {
    /// A key from its bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> ReceiptKey {
        ReceiptKey(bytes)
    }

    /// The receipt as a text of 55 URL-safe characters, with a keyed BLAKE3 digest of 128 bits.
    pub fn seal(&self, receipt: &Receipt) -> String {
        let Receipt { queue, message, fence } = receipt;
        self.sealed(PLAIN, [queue.0, message.0, fence.0])
    }

    /// The receipt and a moment, both under the digest, as a text of 66 URL-safe characters.
    pub fn seal_at(&self, receipt: &Receipt, moment: Timestamp) -> String {
        let Receipt { queue, message, fence } = receipt;
        self.sealed(TIMED, [queue.0, message.0, fence.0, moment.as_millis()])
    }

    /// The receipt in a text made by [`ReceiptKey::seal`].
    ///
    /// # Errors
    /// `ReceiptInvalid` when the text is not one of this key (S3.6).
    pub fn open(&self, text: &str) -> Result<Receipt, Error> {
        self.opened(PLAIN, text).map(|[queue, message, fence]| receipt_of(queue, message, fence))
    }

    /// Receipt and moment in a text made by [`ReceiptKey::seal_at`].
    ///
    /// # Errors
    /// As [`ReceiptKey::open`].
    pub fn open_at(&self, text: &str) -> Result<(Receipt, Timestamp), Error> {
        let [queue, message, fence, moment] = self.opened(TIMED, text)?;
        Ok((receipt_of(queue, message, fence), Timestamp::from_millis(moment)))
    }

    fn sealed<const N: usize>(&self, format: u8, numbers: [u64; N]) -> String {
        let mut bytes = Vec::with_capacity(DECODED_MAX);
        bytes.push(format);
        numbers.iter().for_each(|number| bytes.extend_from_slice(&number.to_be_bytes()));
        let digest = blake3::keyed_hash(&self.0, &bytes);
        bytes.extend_from_slice(&digest.as_bytes()[..DIGEST_LEN]);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    fn opened<const N: usize>(&self, format: u8, text: &str) -> Result<[u64; N], Error> {
        let refuse =
            || Error::new(ErrorKind::ReceiptInvalid, "the receipt handle is not one of this store");
        let mut buffer = [0_u8; DECODED_MAX];
        let plain_len = 1 + 8 * N;
        // decode_slice refuses a longer text before it writes past the end.
        match URL_SAFE_NO_PAD.decode_slice(text, &mut buffer) {
            Ok(len) if len == plain_len + DIGEST_LEN && buffer[0] == format => {}
            _ => return Err(refuse()),
        }
        let (plain, rest) = buffer.split_at(plain_len);
        let digest = blake3::keyed_hash(&self.0, plain);
        // blake3::Hash compares in constant time; both sides are cut to the same 16 bytes first.
        let mut shown = [0; 32];
        let mut right = [0; 32];
        shown[..DIGEST_LEN].copy_from_slice(&rest[..DIGEST_LEN]);
        right[..DIGEST_LEN].copy_from_slice(&digest.as_bytes()[..DIGEST_LEN]);
        if blake3::Hash::from_bytes(shown) != blake3::Hash::from_bytes(right) {
            return Err(refuse());
        }
        let mut numbers = [0; N];
        for (number, bytes) in numbers.iter_mut().zip(plain[1..].chunks_exact(8)) {
            let mut eight = [0; 8];
            eight.copy_from_slice(bytes);
            *number = u64::from_be_bytes(eight);
        }
        Ok(numbers)
    }
}

fn receipt_of(queue: u64, message: u64, fence: u64) -> Receipt {
    Receipt { queue: QueueId(queue), message: MessageId(message), fence: Fence(fence) }
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
            assert!(key.open(junk).is_err() && key.open_at(junk).is_err());
        }
    }

    #[test]
    fn the_moment_is_under_the_digest() {
        // S3.6
        let key = ReceiptKey::from_bytes([9; 32]);
        let moment = Timestamp::from_millis(1_700_000_000_000);
        let text = key.seal_at(&receipt(), moment);
        assert_eq!(text.len(), 66);
        assert_eq!(key.open_at(&text).unwrap(), (receipt(), moment));
        for at in 0..text.len() {
            let mut altered = text.clone().into_bytes();
            altered[at] = if altered[at] == b'A' { b'B' } else { b'A' };
            let altered = String::from_utf8(altered).unwrap();
            assert_eq!(key.open_at(&altered).unwrap_err().kind(), ErrorKind::ReceiptInvalid);
        }
        assert!(key.open(&text).is_err() && key.open_at(&key.seal(&receipt())).is_err());
    }
}
