//! What characters a message may have, and what a number is.

use super::error::{ErrorCode, SqsError};

/// Whether every character may stand in a message.
pub fn is_allowed(text: &str) -> bool {
    // Most messages are printable ASCII, which one pass over the bytes shows.
    text.bytes().all(|b| (0x20..0x7f).contains(&b)) || text.chars().all(is_allowed_char)
}

/// Checks the characters of a message.
///
/// # Errors
/// `InvalidMessageContents` naming the first character that is not allowed.
pub fn check(text: &str) -> Result<(), SqsError> {
    if is_allowed(text) {
        return Ok(());
    }
    let bad = text.chars().find(|c| !is_allowed_char(*c)).unwrap_or_default();
    Err(SqsError::new(
        ErrorCode::InvalidMessageContents,
        format!(
            "Invalid characters found: U+{:04X}. Valid unicode characters are #x9 | #xA | #xD | \
             #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF.",
            u32::from(bad)
        ),
    ))
}

fn is_allowed_char(c: char) -> bool {
    // The surrogates from U+D800 to U+DFFF are no chars at all.
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..)
}

/// Whether a text is a decimal number, as the values of `Number` attributes must be.
pub(super) fn is_number(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let exponent = exponent.is_none_or(|text| {
        let text = text.strip_prefix(['-', '+']).unwrap_or(text);
        !text.is_empty() && digits(text)
    });
    digits(whole) && digits(fraction) && whole.len() + fraction.len() > 0 && exponent
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_documented_characters_pass() {
        for good in ["", "a b", "\t\r\n", "ü€", "\u{d7ff}", "\u{e000}", "\u{fffd}", "\u{10ffff}"]
        {
            assert_eq!(check(good), Ok(()), "{good:?}");
        }
        // U+007F and the C1 controls are inside the documented range.
        assert_eq!(check("\u{7f}\u{85}"), Ok(()));
        for bad in ["\0", "a\u{1}", "\u{b}", "\u{1f}", "\u{fffe}", "\u{ffff}"] {
            assert_eq!(check(bad).unwrap_err().code, ErrorCode::InvalidMessageContents, "{bad:?}");
        }
    }

    #[test]
    fn numbers_are_decimal() {
        for good in ["0", "-1", "+1", "1.5", ".5", "5.", "1e10", "-1.5E-3"] {
            assert!(is_number(good), "{good}");
        }
        for bad in ["", "-", ".", "one", "1 ", "1e", "0x10", "1.2.3", "NaN"] {
            assert!(!is_number(bad), "{bad}");
        }
    }
}
