//! Passwords in texts that are shown: an address may stand where no address belongs.

/// What stands in the place of a password.
const HIDDEN: &str = "***";

/// The text with `***` for what may be a password: between `:` and `@` of anything that looks like
/// an address, with a scheme or without, behind the host of one that has no `@`, and behind
/// `password=`.
pub fn hidden(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let ends = |c: char| c.is_whitespace() || matches!(c, '\'' | '"' | '`');
    let mut rest = text;
    while let Some(at) = rest.find(ends) {
        let (word, after) = rest.split_at(at);
        shown.push_str(&hidden_in_word(word));
        let end = after.chars().next().map_or(0, char::len_utf8);
        let (separator, after) = after.split_at(end);
        shown.push_str(separator);
        rest = after;
    }
    shown.push_str(&hidden_in_word(rest));
    shown
}

fn hidden_in_word(word: &str) -> String {
    // All that follows: whatever ends the password may be a part of it.
    if let Some(at) = word.to_ascii_lowercase().find("password=") {
        let (before, _) = word.split_at(at + "password=".len());
        return format!("{}{HIDDEN}", hidden_in_address(before));
    }
    hidden_in_address(word)
}

fn hidden_in_address(word: &str) -> String {
    let (before, rest) = match word.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), word),
    };
    if let Some((who, place)) = rest.rsplit_once('@') {
        return match who.split_once(':') {
            Some((user, _)) => format!("{before}{user}:{HIDDEN}@{place}"),
            None => word.to_owned(),
        };
    }
    if before.is_empty() {
        return word.to_owned();
    }
    let (host, port) = rest.split_once(':').unwrap_or((rest, ""));
    let digits = port.bytes().take_while(u8::is_ascii_digit).count();
    let after = port.get(digits..).unwrap_or_default();
    // What a sentence has behind an address is no part of it.
    let ended = after.trim_end_matches([',', ';', '.', ':', ')', ']']).is_empty();
    if ended || after.starts_with('/') || host.starts_with('[') {
        return word.to_owned();
    }
    format!("{before}{host}:{HIDDEN}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_hidden_and_the_rest_is_not() {
        for (text, shown) in [
            ("postgres://me:secret@db/q", "postgres://me:***@db/q"),
            ("'postgres://me:se:cr@et@db/q' found", "'postgres://me:***@db/q' found"),
            ("--sqs=postgres://me:secret", "--sqs=postgres://me:***"),
            ("http://localhost:9324/x", "http://localhost:9324/x"),
            ("http://[::1]:9324/x", "http://[::1]:9324/x"),
            ("postgres://me@db/q", "postgres://me@db/q"),
            ("host=db password=secret x", "host=db password=*** x"),
            ("a@b:c", "a@b:c"),
            ("postgres://me:se,cr,et@db/q, no", "postgres://me:***@db/q, no"),
            ("postgres://me:12,cret", "postgres://me:***"),
            ("'me:secret@db:5432'", "'me:***@db:5432'"),
            ("SQS on http://127.0.0.1:9324, admin (http://[::1]:1);", {
                "SQS on http://127.0.0.1:9324, admin (http://[::1]:1);"
            }),
            ("at http://localhost:9325; start", "at http://localhost:9325; start"),
            ("", ""),
        ] {
            assert_eq!(hidden(text), shown);
        }
        let query = hidden("postgres://me@db/q?Password=secret");
        assert!(!query.contains("secret"), "{query}");
    }
}
