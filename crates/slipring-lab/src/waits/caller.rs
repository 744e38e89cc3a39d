//! Names for those who wait: the application and the first words of its statement, without the
//! values in it, so that a thousand executions are one caller.

/// Words of a statement in a name.
const WORDS_MAX: usize = 8;
/// Characters of a statement in a name.
const CHARACTERS_MAX: usize = 64;

/// A statement without comments and values, cut after its first words.
pub fn normalised(query: &str) -> String {
    let mut text = String::with_capacity(query.len());
    let mut rest = query;
    while let Some(c) = rest.chars().next() {
        let (shown, taken) = piece(rest, c, text.chars().next_back());
        text.push_str(&shown);
        rest = rest.get(taken..).unwrap_or_default();
    }
    let words: Vec<&str> = text.split_whitespace().take(WORDS_MAX + 1).collect();
    let short = words.iter().take(WORDS_MAX).copied().collect::<Vec<_>>().join(" ");
    let cut: String = short.chars().take(CHARACTERS_MAX).collect();
    match words.len() > WORDS_MAX || cut.len() < short.len() {
        true => format!("{} …", cut.trim_end()),
        false => cut,
    }
}

/// What stands for the beginning of `rest`, and how many bytes of it that was.
fn piece(rest: &str, first: char, before: Option<char>) -> (String, usize) {
    let to = |end: &str, from: usize| {
        let found = rest.get(from..).and_then(|tail| tail.find(end));
        found.map_or(rest.len(), |at| from + at + end.len())
    };
    let in_word = before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | '?'));
    match first {
        '-' if rest.starts_with("--") => (" ".to_owned(), to("\n", 2)),
        '/' if rest.starts_with("/*") => (" ".to_owned(), to("*/", 2)),
        '\'' => ("?".to_owned(), to("'", 1)),
        '0'..='9' if !in_word => {
            let number = |c: char| c.is_ascii_digit() || c == '.';
            ("?".to_owned(), rest.find(|c| !number(c)).unwrap_or(rest.len()))
        }
        _ => (first.to_string(), first.len_utf8()),
    }
}

/// The name of a session: its application, else its role, and what it executes.
pub fn name(application: &str, role: &str, query: Option<&str>, query_id: Option<i64>) -> String {
    let who = match (application, role) {
        ("", "") => "unnamed",
        ("", role) => role,
        (application, _) => application,
    };
    let hidden = |query: &&str| !query.trim().is_empty() && *query != "<insufficient privilege>";
    let what = query.filter(hidden).map(normalised);
    match (what, query_id) {
        (Some(what), _) => format!("{who}: {what}"),
        (None, Some(id)) => format!("{who}: query {id}"),
        (None, None) => who.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_comments_are_not_part_of_a_statement() {
        let same = [
            "UPDATE t1 SET a = 5 WHERE id = 17",
            "UPDATE t1\n  SET a = 6.5 /* why */ WHERE id = 3 -- here",
            "/* trace=1 */ UPDATE t1 SET a = 'it''s' WHERE id = '4'",
        ];
        let names = same.map(normalised);
        assert_eq!(names[0], "UPDATE t1 SET a = ? WHERE id …");
        assert_eq!(names[1], names[0]);
        assert!(names[2].starts_with("UPDATE t1 SET a = ?"), "{}", names[2]);
        assert_eq!(normalised("SELECT $1, 'open"), "SELECT $1, ?");
        assert_eq!(normalised("COMMIT"), "COMMIT");
    }

    #[test]
    fn a_long_statement_is_cut() {
        let cut = normalised(&format!("SELECT {}", "é".repeat(100)));
        assert!(cut.chars().count() <= CHARACTERS_MAX + 2 && cut.ends_with('…'), "{cut}");
    }

    #[test]
    fn a_session_is_named_by_the_best_that_is_known() {
        assert_eq!(name("app", "me", Some("SELECT 1"), Some(9)), "app: SELECT ?");
        assert_eq!(name("", "me", Some("<insufficient privilege>"), None), "me");
        assert_eq!(name("app", "me", None, Some(9)), "app: query 9");
        assert_eq!(name("", "", Some(" "), None), "unnamed");
    }
}
