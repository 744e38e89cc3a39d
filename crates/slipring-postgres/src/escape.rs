//! Texts in PostgreSQL hold every character but U+0000. It is written as U+0001 `0`, and U+0001
//! itself as U+0001 `1`, so that every text comes back as it was.

use std::borrow::Cow;

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
}
