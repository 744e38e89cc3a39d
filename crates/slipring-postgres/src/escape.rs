//! Texts in PostgreSQL hold every character but U+0000. It is written as U+0001 `0`, and U+0001
//! itself as U+0001 `1`, so that every text comes back as it was.

use std::borrow::Cow;
use std::collections::BTreeMap;

use slipring::{Error, Headers};

use crate::fault::garbled;

const MARK: char = '\u{1}';

/// The text as it is stored.
pub(crate) fn to_sql(text: &str) -> Cow<'_, str> {
    if !text.contains(['\0', MARK]) {
        return Cow::Borrowed(text);
    }
    let mut stored = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\0' => stored.extend([MARK, '0']),
            MARK => stored.extend([MARK, '1']),
            other => stored.push(other),
        }
    }
    Cow::Owned(stored)
}

/// The text that was stored; anything that no text is stored as stays as it is.
pub(crate) fn from_sql(stored: &str) -> Cow<'_, str> {
    if !stored.contains(MARK) {
        return Cow::Borrowed(stored);
    }
    let mut text = String::with_capacity(stored.len());
    let mut rest = stored.chars().peekable();
    while let Some(c) = rest.next() {
        match (c, rest.peek()) {
            (MARK, Some('0')) => text.push('\0'),
            (MARK, Some('1')) => text.push(MARK),
            (other, _) => {
                text.push(other);
                continue;
            }
        }
        rest.next();
    }
    Cow::Owned(text)
}

/// Headers as they are stored: a JSON object of texts, each written as any other text, for JSON in
/// PostgreSQL holds no U+0000 either.
pub(crate) fn headers_to_sql(headers: &Headers) -> Result<String, Error> {
    let stored: BTreeMap<_, _> = headers.iter().map(|(k, v)| (to_sql(k), to_sql(v))).collect();
    serde_json::to_string(&stored).map_err(garbled)
}

/// The headers that were stored.
pub(crate) fn headers_from_sql(stored: &str) -> Result<Headers, Error> {
    let headers: Headers = serde_json::from_str(stored)
        .map_err(|error| garbled(format!("headers that are no map of texts: {error}")))?;
    if !headers.iter().any(|(name, value)| name.contains(MARK) || value.contains(MARK)) {
        return Ok(headers);
    }
    let text = |text: &str| from_sql(text).into_owned();
    Ok(headers.iter().map(|(name, value)| (text(name), text(value))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_comes_back_as_it_was() {
        for text in ["", "plain ü", "a\0b", "\0", "\u{1}", "\u{1}0", "\0\u{1}1\0"] {
            let stored = to_sql(text);
            assert!(!stored.contains('\0'));
            assert_eq!(from_sql(&stored), text);
        }
        assert_eq!(from_sql("a\u{1}"), "a\u{1}", "what others wrote is not lost");
    }
    #[test]
    fn headers_come_back_as_they_were_and_hold_no_nul_as_json() {
        let headers = Headers::from([
            ("plain".to_owned(), "\"ü\"".to_owned()),
            ("a\0".to_owned(), "\0\u{1}1".to_owned()),
            ("a\u{1}0".to_owned(), String::new()),
        ]);
        let stored = headers_to_sql(&headers).unwrap();
        assert!(!stored.contains("\\u0000"), "{stored}");
        assert_eq!(headers_from_sql(&stored).unwrap(), headers);
        assert!(headers_from_sql(r#"{"a": 1}"#).is_err(), "no text");
    }
}
