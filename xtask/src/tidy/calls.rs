//! Calls that have one proper home, or none: the clock, randomness, sleeping in tests, stubs.
//!
//! The check reads tokens, so that comments and strings do not count and macro bodies do.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::finding::Finding;
use super::tree::Tree;

/// Where a call is banned.
#[derive(PartialEq)]
enum Scope {
    Everywhere,
    Tests,
}

/// A banned call: its path or macro, what to use instead, and who is excused.
struct Ban {
    path: &'static [&'static str],
    scope: Scope,
    instead: &'static str,
    /// Path prefixes that may use it: its home, and programs that measure or run processes.
    excused: &'static [&'static str],
}

const CLOCK: &str = "crates/slipring/src/clock.rs";
const RANDOM: &str = "crates/slipring/src/random.rs";
/// Measures real time; the lab's clock is the wall clock by its nature.
const LAB: &str = "crates/slipring-lab/";
/// Is a disk that takes its time.
const SLOW_DISK: &str = "crates/slipring-slowdisk/";
/// Times its steps and waits for other processes.
const XTASK: &str = "xtask/src/";

const TAKE_NOW: &str = "take `now` as an argument, or a `Clock`: a test must be able to set it";
const TAKE_RANDOM: &str = "take the core's randomness source: a test must be able to seed it";
const WAIT_FOR: &str = "wait for the condition with a deadline, or move the test's clock";
const FINISH: &str = "finish it or leave it out: nothing half done is committed";

const BANS: [Ban; 11] = [
    everywhere(&["SystemTime", "now"], TAKE_NOW, &[CLOCK, LAB, XTASK]),
    everywhere(&["Instant", "now"], TAKE_NOW, &[CLOCK, LAB, XTASK, SLOW_DISK]),
    everywhere(&["thread_rng"], TAKE_RANDOM, &[RANDOM]),
    everywhere(&["rand", "random"], TAKE_RANDOM, &[RANDOM]),
    everywhere(&["rand", "rng"], TAKE_RANDOM, &[RANDOM]),
    everywhere(&["thread", "sleep"], WAIT_FOR, &[LAB, XTASK, SLOW_DISK]),
    Ban { path: &["time", "sleep"], scope: Scope::Tests, instead: WAIT_FOR, excused: &[LAB] },
    Ban { path: &["time", "sleep_until"], scope: Scope::Tests, instead: WAIT_FOR, excused: &[LAB] },
    everywhere(&["todo", "!"], FINISH, &[]),
    everywhere(&["unimplemented", "!"], FINISH, &[]),
    everywhere(&["dbg", "!"], "use `tracing`", &[]),
];

const fn everywhere(
    path: &'static [&'static str],
    instead: &'static str,
    excused: &'static [&'static str],
) -> Ban {
    Ban { path, scope: Scope::Everywhere, instead, excused }
}

/// Reports every banned call; files that do not lex are left to the rule that parses.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.with(&["rs"]) {
        let Ok(tokens) = file.text.parse::<TokenStream>() else { continue };
        let mut words = Vec::new();
        flatten(tokens, file.is_test(), &mut words);
        let active =
            BANS.iter().filter(|ban| !ban.excused.iter().any(|e| file.path.starts_with(e)));
        for ban in active {
            for word in calls(&words, ban) {
                let name = ban.path.join("::").replace("::!", "!");
                let text = format!("`{name}`: {}", ban.instead);
                findings.push(Finding::fail(&file.path, word.line, "banned call", text));
            }
        }
    }
    findings
}

/// An identifier, a `!`, or an opening brace, as far as paths and macros need them.
struct Word {
    text: String,
    line: usize,
    in_tests: bool,
    /// For `{`: how many words the braces hold.
    inside: usize,
}

/// Writes the words of `tokens` to `words`, marking those inside test items.
fn flatten(tokens: TokenStream, in_tests: bool, words: &mut Vec<Word>) {
    let mut test_item = false;
    for token in tokens {
        let line = token.span().start().line;
        let push = |words: &mut Vec<Word>, text: String| {
            words.push(Word { text, line, in_tests, inside: 0 });
            words.len() - 1
        };
        match token {
            TokenTree::Ident(ident) => drop(push(words, ident.to_string())),
            TokenTree::Punct(punct) => {
                // A `;` ends the item that a test attribute was written on.
                test_item &= punct.as_char() != ';';
                if !matches!(punct.as_char(), ':') {
                    push(words, punct.to_string());
                }
            }
            TokenTree::Literal(_) => drop(push(words, String::new())),
            TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket => {
                test_item |= marks_a_test(&group.stream());
                flatten(group.stream(), in_tests, words);
            }
            TokenTree::Group(group) => {
                let brace = group.delimiter() == Delimiter::Brace;
                let open = push(words, if brace { "{" } else { "(" }.to_owned());
                flatten(group.stream(), in_tests || (brace && test_item), words);
                words[open].inside = words.len() - 1 - open;
                test_item &= !brace;
            }
        }
    }
}

/// True for the inside of `#[cfg(test)]`, `#[test]` and `#[tokio::test]`.
fn marks_a_test(attribute: &TokenStream) -> bool {
    let text: String = attribute.to_string().split_whitespace().collect();
    text == "test" || text.starts_with("cfg(test") || text.starts_with("tokio::test")
}

/// The words that begin the banned path, also when the last name stands in a `use` list.
fn calls<'w>(words: &'w [Word], ban: &Ban) -> Vec<&'w Word> {
    let Some((last, before)) = ban.path.split_last() else { return Vec::new() };
    let begins = |at: usize| {
        let prefix = words.get(at..at + before.len())?;
        let same = prefix.iter().zip(before).all(|(word, part)| word.text == *part);
        let next = words.get(at + before.len()).filter(|_| same)?;
        let listed = || {
            let inside = words.get(at + before.len() + 1..)?.get(..next.inside)?;
            Some(inside.iter().any(|word| word.text == *last))
        };
        let in_list = next.text == "{" && !before.is_empty() && listed()?;
        words.get(at).filter(|_| next.text == *last || in_list)
    };
    let found = (0..words.len()).filter_map(begins);
    found.filter(|word| ban.scope == Scope::Everywhere || word.in_tests).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, source: &str) -> Vec<usize> {
        check(&Tree::of(&[(path, source)])).into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn each_ban_finds_its_call_and_excuses_its_home() {
        for ban in &BANS {
            let call = ban.path.join("::").replace("::!", "!");
            let source = format!("#[cfg(test)]\nmod tests {{\n    fn a() {{ x({call}()) }}\n}}\n");
            assert_eq!(lines("crates/a/src/b.rs", &source), [3], "{call}");
            for home in ban.excused {
                assert!(lines(&format!("{home}x"), &source).is_empty(), "{call} in {home}");
            }
        }
    }

    #[test]
    fn a_list_of_imports_does_not_hide_a_call() {
        assert_eq!(lines("a.rs", "use std::thread::{self, sleep};\n"), [1]);
        assert!(lines("a.rs", "use std::thread::{self, spawn};\n").is_empty());
    }

    #[test]
    fn comments_and_strings_are_no_calls_and_macro_bodies_are() {
        let silent = "// SystemTime::now()\n/// Instant::now\nconst A: &str = \"thread_rng\";\n";
        assert!(lines("a.rs", silent).is_empty());
        assert_eq!(lines("a.rs", "fn a() {\n    vec![\n        Instant::now(),\n    ];\n}\n"), [3]);
    }

    #[test]
    fn a_timer_of_the_engine_is_no_sleep_of_a_test() {
        let engine = "async fn turn() { tokio::time::sleep(wait).await }\n";
        assert!(lines("crates/a/src/b.rs", engine).is_empty());
        assert_eq!(lines("crates/a/tests/b.rs", engine), [1]);
        let marked = format!("#[tokio::test]\n{engine}fn other() {{ time::sleep(wait) }}\n");
        assert_eq!(lines("crates/a/src/b.rs", &marked), [2]);
    }
}
