//! Numbers and names as they stand in sentences.

use std::time::Duration;

use crate::print;

/// A number with its thousands apart.
pub fn count(number: u64) -> String {
    indicatif::HumanCount(number).to_string()
}

/// Bytes with a unit.
pub fn bytes(number: u64) -> String {
    indicatif::HumanBytes(number).to_string()
}

/// A time: tenths of seconds where it is short, else whole seconds.
pub fn time(ms: u64) -> String {
    match ms {
        0..10_000 => format!("{:.1} s", ms as f64 / 1000.0),
        _ => humantime::format_duration(Duration::from_secs(ms / 1000)).to_string(),
    }
}

/// A text that somebody else has chosen.
pub fn said(text: &str) -> String {
    print::short(text, 200)
}

/// A text in quotation marks, as SQL has it.
pub fn quoted(text: &str) -> String {
    format!("'{}'", said(text).replace('\'', "''"))
}

/// Names in a row, of many the first three and how many more.
pub fn row(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] if names.len() <= 3 => format!("{} and {last}", first.join(", ")),
        _ => format!("{} and {} more", names[..3].join(", "), names.len() - 3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_are_short() {
        assert_eq!(count(1_234_567), "1,234,567");
        let times = [0, 1_240, 42_900, 3_723_000].map(time);
        assert_eq!(times, ["0.0 s", "1.2 s", "42s", "1h 2m 3s"]);
        let rows = [&["a"][..], &["a", "b"], &["a", "b", "c", "d", "e"]].map(row);
        assert_eq!(rows, ["a", "a and b", "a, b, c and 2 more"]);
        assert_eq!(quoted("o'clock\u{7}"), "'o''clock\\u{7}'");
    }
}
