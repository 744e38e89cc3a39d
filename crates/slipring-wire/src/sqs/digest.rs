//! The MD5 digests that SDKs compare with their own, and the one that stands for a body.

use std::collections::BTreeMap;
use std::fmt::Write;

use md5::{Digest, Md5};
use sha2::Sha256;

use super::attribute::AttributeValue;

/// The digest of a body, in hexadecimal.
pub fn of_body(body: &[u8]) -> String {
    hex(&Md5::digest(body))
}

/// The digest of attributes, in hexadecimal; `None` when there are none.
pub fn of_attributes(attributes: &BTreeMap<String, AttributeValue>) -> Option<String> {
    if attributes.is_empty() {
        return None;
    }
    let mut digest = Md5::new();
    let mut part = |bytes: &[u8], kind: &[u8]| {
        digest.update(kind);
        // A message is far below the 4 GiB that the format can name.
        digest.update(u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_be_bytes());
        digest.update(bytes);
    };
    // The map is in the order of names already, byte by byte.
    for (name, value) in attributes {
        part(name.as_bytes(), &[]);
        part(value.data_type.as_bytes(), &[]);
        match (&value.binary_value, &value.string_value) {
            (Some(bytes), _) => part(bytes, &[2]),
            (None, text) => part(text.as_deref().unwrap_or_default().as_bytes(), &[1]),
        }
    }
    Some(hex(&digest.finalize()))
}

/// The deduplication id of a body whose queue deduplicates by content.
pub fn content_id(body: &[u8]) -> String {
    hex(&Sha256::digest(body))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(name: &str, data_type: &str, text: Option<&str>, bytes: Option<&[u8]>) -> String {
        let value = AttributeValue {
            data_type: data_type.to_string(),
            string_value: text.map(str::to_string),
            binary_value: bytes.map(|bytes| bytes.to_vec().into()),
            ..AttributeValue::default()
        };
        of_attributes(&BTreeMap::from([(name.to_string(), value)])).unwrap()
    }

    #[test]
    fn the_known_answers_come_out() {
        assert_eq!(of_body(b"hello"), "5d41402abc4b2a76b9719d911017c592");
        assert_eq!(
            one("attribName1", "String", Some("attribValue 1"), None),
            "19e27d4e946b072f3f58da80d94fd778"
        );
        let number = "4563442423554324324264524243.32543234";
        assert_eq!(
            one("customNumberTypeAttrib", "Number.float", Some(number), None),
            "9fe1b90bbd9965bdf77bac517c7d2495"
        );
        assert_eq!(
            one("binaryAttribute", "Binary", None, Some(b"Hello binary world!")),
            "31a92b15d92f8db860eda32aceb656c3"
        );
        assert_eq!(of_attributes(&BTreeMap::new()), None);
    }
}
