//! The order in which the functions are made, found from what their files name.
//!
//! PostgreSQL reads what a function is declared with, and the body of one in SQL, when it makes
//! the function: what they call has to be there by then. A body in PL/pgSQL is read when it runs,
//! so what it calls may come later, and may call it.

use std::collections::{BTreeMap, BTreeSet};

/// Whether a name is called by a schema and a parenthesis: `slipring.NAME(`. A table of the same
/// name has a space before what follows it.
const SCHEMA: &str = "slipring.";

/// One file of functions.
pub(crate) struct Source {
    /// What its functions are called.
    pub name: String,
    /// Where it is, for errors.
    pub path: String,
    pub text: String,
}

/// What a file says of other files.
struct Facts {
    defines: BTreeSet<String>,
    /// Has to be there before.
    needs: BTreeSet<String>,
    /// Has to be there at some time.
    names: BTreeSet<String>,
}

/// Sorts files so that each comes after those it needs; of those that could come next the first
/// by name does. Files that define nothing come last: they are about all that is there.
///
/// # Errors
/// Files of one name; a file that defines another function than its name says; a call of a
/// function that no file defines; files that need each other.
pub(crate) fn order(sources: Vec<Source>) -> Result<Vec<Source>, String> {
    let mut files = BTreeMap::new();
    for source in sources {
        let path = source.path.clone();
        let facts = Facts::of(&source)?;
        if let Some((other, _)) = files.insert(source.name.clone(), (source, facts)) {
            return Err(format!("two files of one name: {} and {path}", other.path));
        }
    }
    for (source, facts) in files.values() {
        if let Some(name) = facts.names.iter().find(|name| !files.contains_key(*name)) {
            return Err(format!("{} calls {SCHEMA}{name}, which no file defines", source.path));
        }
    }
    let (mut last, mut left): (BTreeMap<_, _>, BTreeMap<_, _>) =
        files.into_iter().partition(|(_, (_, facts))| facts.defines.is_empty());
    let mut sorted = Vec::new();
    for part in [&mut left, &mut last] {
        while !part.is_empty() {
            let next = part
                .iter()
                .find(|(_, (_, facts))| facts.needs.iter().all(|name| !part.contains_key(name)));
            let Some(next) = next.map(|(name, _)| name.clone()) else {
                return Err(cycle(part));
            };
            sorted.extend(part.remove(&next).map(|(source, _)| source));
        }
    }
    Ok(sorted)
}

/// One cycle among files of which each needs another one of them.
fn cycle(files: &BTreeMap<String, (Source, Facts)>) -> String {
    let mut way: Vec<&str> = Vec::new();
    let mut next = files.keys().next().map(String::as_str);
    while let Some(name) = next.filter(|name| !way.contains(name)) {
        way.push(name);
        let mut needs = files.get(name).into_iter().flat_map(|(_, facts)| &facts.needs);
        next = needs.find(|name| files.contains_key(*name)).map(String::as_str);
    }
    let begin = way.iter().position(|name| Some(*name) == next).unwrap_or(0);
    let paths = way[begin..].iter().chain(next.iter()).filter_map(|name| files.get(*name));
    let paths: Vec<&str> = paths.map(|(source, _)| source.path.as_str()).collect();
    format!("functions that need each other when they are made: {}", paths.join(" → "))
}

impl Facts {
    fn of(source: &Source) -> Result<Facts, String> {
        let text = without_comments(&source.text);
        // Every second piece is a body.
        let pieces: Vec<&str> = text.split("$$").collect();
        let mut facts =
            Facts { defines: BTreeSet::new(), needs: BTreeSet::new(), names: called(&text) };
        for (at, piece) in pieces.iter().enumerate() {
            if at % 2 == 0 {
                facts.defines.extend(defined(piece));
                facts.needs.extend(called(piece));
            } else if !is_read_later(pieces[at - 1], pieces.get(at + 1).copied()) {
                facts.needs.extend(called(piece));
            }
        }
        // The order in a file is the file's own.
        facts.needs.remove(&source.name);
        if let Some(other) = facts.defines.iter().find(|name| **name != source.name) {
            return Err(format!(
                "{} defines {other}: a file defines what it is called",
                source.path
            ));
        }
        Ok(facts)
    }
}

/// Whether the statement around a body makes a function in PL/pgSQL.
fn is_read_later(before: &str, after: Option<&str>) -> bool {
    let before = before.rsplit(';').next().unwrap_or(before);
    let after = after.and_then(|after| after.split(';').next()).unwrap_or("");
    let words = before.split_whitespace().chain(after.split_whitespace());
    words.clone().zip(words.skip(1)).any(|(word, next)| {
        word.eq_ignore_ascii_case("language") && next.eq_ignore_ascii_case("plpgsql")
    })
}

fn without_comments(text: &str) -> String {
    let lines = text.lines().map(|line| line.split("--").next().unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n")
}

/// The names that statements outside of bodies define.
fn defined(code: &str) -> impl Iterator<Item = String> {
    let words: Vec<&str> = code.split_whitespace().collect();
    let pairs: Vec<(&str, &str)> = words.windows(2).map(|pair| (pair[0], pair[1])).collect();
    let made = pairs.into_iter().filter_map(|(kind, name)| {
        let name = name.strip_prefix(SCHEMA)?.split('(').next()?;
        ["FUNCTION", "PROCEDURE", "AGGREGATE"].contains(&kind).then(|| name.to_owned())
    });
    made.collect::<Vec<_>>().into_iter()
}

/// The functions that a text calls, or would.
fn called(text: &str) -> BTreeSet<String> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut names = BTreeSet::new();
    for (at, _) in text.match_indices(SCHEMA) {
        let rest = &text[at + SCHEMA.len()..];
        let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        if length > 0 && rest[length..].starts_with('(') && !text[..at].ends_with(is_word) {
            names.insert(rest[..length].to_owned());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, language: &str, body: &str) -> Source {
        let text = format!(
            "-- Purpose: not slipring.told().\nCREATE OR REPLACE FUNCTION slipring.{name}(p int)\n\
             RETURNS int LANGUAGE {language} AS $$\n    {body} -- nor slipring.this()\n$$;\n"
        );
        Source { name: name.to_owned(), path: format!("x/{name}.sql"), text }
    }

    fn names(sources: Vec<Source>) -> Result<Vec<String>, String> {
        Ok(order(sources)?.into_iter().map(|source| source.name).collect())
    }

    #[test]
    fn what_is_needed_comes_first_and_names_decide_the_rest() {
        let sources = vec![
            file("d", "plpgsql", "RETURN 1;"),
            file("a", "sql", "SELECT slipring.c(1) FROM slipring.d (x)"),
            file("c", "sql", "SELECT slipring.e(1)"),
            file("e", "plpgsql", "RETURN 1;"),
            file("b", "plpgsql", "RETURN slipring.c(1);"),
        ];
        assert_eq!(
            names(sources).as_deref(),
            Ok(&["b", "d", "e", "c", "a"].map(str::to_owned)[..])
        );
    }

    #[test]
    fn bodies_that_are_read_later_may_call_each_other() {
        let sources = vec![
            file("a", "plpgsql", "RETURN slipring.b(1);"),
            file("b", "plpgsql", "RETURN slipring.a(1);"),
        ];
        assert_eq!(names(sources).as_deref(), Ok(&["a", "b"].map(str::to_owned)[..]));
    }

    #[test]
    fn a_cycle_of_bodies_that_are_read_at_once_is_named() {
        let sources = vec![
            file("a", "sql", "SELECT slipring.b(1)"),
            file("b", "sql", "SELECT slipring.c(1)"),
            file("c", "sql", "SELECT slipring.b(1)"),
        ];
        let error = names(sources).unwrap_err();
        assert!(error.ends_with(": x/b.sql → x/c.sql → x/b.sql"), "{error}");
    }

    #[test]
    fn a_default_is_needed_whatever_the_body_is_written_in() {
        let text = file("a", "plpgsql", "RETURN 1;").text;
        let text = text.replace("p int", "p int DEFAULT slipring.z(1)");
        let a = Source { name: "a".to_owned(), path: "x/a.sql".to_owned(), text };
        let sources = vec![a, file("z", "plpgsql", "RETURN 1;")];
        assert_eq!(names(sources).as_deref(), Ok(&["z", "a"].map(str::to_owned)[..]));
    }

    #[test]
    fn a_file_that_defines_nothing_comes_last() {
        let text = "DO $$ BEGIN PERFORM slipring.z(1); END $$;\n".to_owned();
        let roles = Source { name: "roles".to_owned(), path: "x/roles.sql".to_owned(), text };
        let sources = vec![roles, file("z", "plpgsql", "RETURN 1;")];
        assert_eq!(names(sources).as_deref(), Ok(&["z", "roles"].map(str::to_owned)[..]));
    }

    #[test]
    fn a_function_that_is_missing_is_named_with_its_caller() {
        let error = names(vec![file("a", "plpgsql", "RETURN slipring.gone(1);")]).unwrap_err();
        assert_eq!(error, "x/a.sql calls slipring.gone, which no file defines");
    }

    #[test]
    fn two_files_of_one_name_and_a_file_with_another_name_are_refused() {
        let other = Source { path: "y/a.sql".to_owned(), ..file("a", "sql", "SELECT 1") };
        let error = names(vec![file("a", "sql", "SELECT 1"), other]).unwrap_err();
        assert_eq!(error, "two files of one name: x/a.sql and y/a.sql");
        let other = Source { name: "b".to_owned(), ..file("a", "sql", "SELECT 1") };
        assert!(names(vec![other]).unwrap_err().starts_with("x/a.sql defines a"));
    }
}
