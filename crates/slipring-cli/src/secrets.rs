//! Passwords in texts that are shown: an address may stand where no address belongs.

use std::ffi::OsString;

/// What stands in the place of a password.
const HIDDEN: &str = "***";
/// What a path may stand behind.
const BEFORE_PATHS: [&str; 2] = ["sqlite:", "unix:"];

/// [`hidden`] of a text that may repeat some of these arguments: one that may be an address is
/// hidden as a whole, for a password may have what ends a word.
pub fn hidden_with(text: &str, arguments: impl IntoIterator<Item = OsString>) -> String {
    let values = arguments.into_iter().map(|argument| argument.to_string_lossy().into_owned());
    let mut values: Vec<(String, String)> = values
        .map(|argument| value_of(&argument).to_owned())
        .filter(|value| may_be_address(value))
        .map(|value| (hidden_in_word(&value), value))
        .filter(|(shown, value)| shown != value)
        .collect();
    // One may be a part of another.
    values.sort_by_key(|(_, value)| std::cmp::Reverse(value.len()));
    let replaced = values
        .iter()
        .fold(text.to_owned(), |text, (shown, value)| text.replace(value.as_str(), shown));
    hidden(&replaced)
}

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

fn may_be_address(value: &str) -> bool {
    let marks = ["@", "://", "password="];
    let value = value.to_ascii_lowercase();
    marks.iter().any(|mark| value.contains(mark))
}

/// What stands behind `=` in `--flag=value`; of any other word all of it.
fn value_of(word: &str) -> &str {
    let flag = word.strip_prefix("--").and_then(|flag| flag.split_once('='));
    flag.map_or(word, |(_, value)| value)
}

/// Whether a word is a path for sure, in which `@` may stand. `//` begins an address, and no path
/// has the parts `user:password@host`.
fn is_path(word: &str) -> bool {
    let value = value_of(word);
    let path = BEFORE_PATHS.iter().find_map(|before| value.strip_prefix(before));
    path.is_some_and(|path| {
        let (before, _) = path.rsplit_once('@').unwrap_or_default();
        path.starts_with(['/', '.', '~']) && !path.starts_with("//") && !before.contains(':')
    })
}

fn hidden_in_word(word: &str) -> String {
    // All that follows: whatever ends the password may be a part of it.
    if let Some(at) = word.to_ascii_lowercase().find("password=") {
        let (before, _) = word.split_at(at + "password=".len());
        return format!("{}{HIDDEN}", hidden_in_address(before));
    }
    if is_path(word) {
        return word.to_owned();
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
            ("sqlite:/srv/ann@corp.example/q.db", "sqlite:/srv/ann@corp.example/q.db"),
            ("--store=sqlite:./a@b.db: gone", "--store=sqlite:./a@b.db: gone"),
            ("'unix:/run/a@b.sock' and unix:~/a@b", "'unix:/run/a@b.sock' and unix:~/a@b"),
            ("sqlite://me:secret@db/q", "sqlite://me:***@db/q"),
            ("unix:/me:secret@db", "unix:***@db"),
            ("unix:me@db", "unix:***@db"),
        ] {
            assert_eq!(hidden(text), shown);
        }
        let query = hidden("postgres://me@db/q?Password=secret");
        assert!(!query.contains("secret"), "{query}");
    }

    #[test]
    fn a_password_that_ends_a_word_is_hidden_where_an_argument_is_repeated() {
        let secret = "postgres://me:a'b`c \"d e@db:5432";
        let flag = format!("--store={secret}");
        for (arguments, text, shown) in [
            (vec![secret], format!("no '{secret}' here"), "no 'postgres://me:***@db:5432' here"),
            (vec![&flag], format!("no '{flag}'"), "no '--store=postgres://me:***@db:5432'"),
            (vec![&flag], format!("no '{secret}'"), "no 'postgres://me:***@db:5432'"),
            (vec!["me:a@db", "me:a@db'x:b@c"], "'me:a@db'x:b@c'".to_owned(), "'me:***@c'"),
            (vec!["--sqs=Password='a b'"], "'Password='a b''".to_owned(), "'Password=***'"),
            (vec!["postgres://me:a'b"], "'postgres://me:a'b'".to_owned(), "'postgres://me:***'"),
            (vec!["sqlite:/a b@c", "http://x:1/y"], "at http://x:1/y".to_owned(), {
                "at http://x:1/y"
            }),
        ] {
            let arguments = arguments.into_iter().map(OsString::from);
            assert_eq!(hidden_with(&text, arguments), shown);
        }
    }
}
