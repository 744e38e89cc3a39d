//! Reads the recorded conversations of `transcripts/beanstalkd`; their README says how they are
//! written. Used by the tests of this crate and of the server.

// Each test file takes what it needs of this module.
#![allow(dead_code, clippy::unwrap_used, clippy::panic)]

use std::path::{Path, PathBuf};

/// One line of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The connection sends these bytes.
    Send(Vec<u8>),
    /// The connection receives exactly these bytes.
    Receive(Vec<u8>),
    /// The connection receives a line that begins with these bytes.
    ReceivePrefix(Vec<u8>),
    /// The connection receives an `OK` reply with all of these pairs or list items.
    ReceiveYaml { pairs: Vec<(String, String)>, items: Vec<String> },
    /// The server has closed the connection.
    ReceiveEof,
    /// The connection closes.
    Close,
    /// So many milliseconds pass (the connection's name is empty).
    Wait(u64),
}

/// A line with the place it came from, for messages.
#[derive(Clone, Debug)]
pub struct Line {
    pub number: usize,
    pub connection: String,
    pub step: Step,
}

/// A whole conversation.
pub struct Transcript {
    pub name: String,
    pub lines: Vec<Line>,
}

/// All recorded conversations, by name.
pub fn all() -> Vec<Transcript> {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../slipring-wire/tests/transcripts/beanstalkd");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .collect();
    paths.sort();
    paths.iter().map(|path| read(path)).collect()
}

fn read(path: &Path) -> Transcript {
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines: Vec<Line> = Vec::new();
    for (index, text) in text.lines().enumerate() {
        let number = index + 1;
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        if let Some(millis) = text.strip_prefix("wait ") {
            let step = Step::Wait(millis.parse().unwrap());
            lines.push(Line { number, connection: String::new(), step });
            continue;
        }
        let at = text.find(['>', '<', '!']).unwrap_or_else(|| panic!("{path:?}:{number}"));
        let (connection, rest) = text.split_at(at);
        if add_yaml(&mut lines, rest) {
            continue;
        }
        let step = step(rest).unwrap_or_else(|| panic!("{path:?}:{number}: {text}"));
        lines.push(Line { number, connection: connection.to_string(), step });
    }
    Transcript { name: path.file_stem().unwrap().to_string_lossy().into_owned(), lines }
}

/// Adds a pair or an item to the `OK` reply before it; false if the line is neither.
fn add_yaml(lines: &mut [Line], rest: &str) -> bool {
    let Some(Line { step: Step::ReceiveYaml { pairs, items }, .. }) = lines.last_mut() else {
        return false;
    };
    if let Some(pair) = rest.strip_prefix("<= ") {
        let (key, value) = unescape_text(pair).split_once(": ").map(own).unwrap();
        pairs.push((key, value));
    } else if let Some(item) = rest.strip_prefix("<- ") {
        items.push(unescape_text(item));
    } else {
        return false;
    }
    true
}

fn own((key, value): (&str, &str)) -> (String, String) {
    (key.to_string(), value.to_string())
}

fn step(rest: &str) -> Option<Step> {
    Some(match rest {
        "!" => Step::Close,
        "<eof" => Step::ReceiveEof,
        "<ok" => Step::ReceiveYaml { pairs: Vec::new(), items: Vec::new() },
        ">" => Step::Send(b"\r\n".to_vec()),
        _ => {
            if let Some(text) = rest.strip_prefix(">- ") {
                Step::Send(unescape(text))
            } else if let Some(text) = rest.strip_prefix("> ") {
                Step::Send([&unescape(text), &b"\r\n"[..]].concat())
            } else if let Some(text) = rest.strip_prefix("<~ ") {
                Step::ReceivePrefix(unescape(text))
            } else {
                Step::Receive([&unescape(rest.strip_prefix("< ")?), &b"\r\n"[..]].concat())
            }
        }
    })
}

fn unescape_text(text: &str) -> String {
    String::from_utf8(unescape(text)).unwrap()
}

fn unescape(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if let Some(escaped) = rest.strip_prefix('\\') {
            out.push(match escaped.chars().next() {
                Some('r') => b'\r',
                Some('n') => b'\n',
                Some('0') => 0,
                Some('s') => b' ',
                Some('\\') => b'\\',
                other => panic!("unknown escape {other:?} in {text:?}"),
            });
            rest = &escaped[1..];
        } else if let Some((repeat, tail)) = rest.strip_prefix('{').and_then(|r| r.split_once('}'))
        {
            let (part, count) = repeat.split_once('*').unwrap();
            out.extend(part.repeat(count.parse().unwrap()).bytes());
            rest = tail;
        } else {
            out.extend(first.to_string().bytes());
            rest = &rest[first.len_utf8()..];
        }
    }
    out
}
