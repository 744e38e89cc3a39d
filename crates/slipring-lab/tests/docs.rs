//! The lab's pages: their examples run for minutes, so they are not run, but the program takes the
//! arguments of each.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

use std::path::{Path, PathBuf};

use clap::Parser;
use slipring_lab::cli::Arguments;

/// How a line calls the program.
const CALLS: [&[&str]; 3] = [
    &["cargo", "run", "--release", "-p", "slipring-lab", "--"],
    &["target/release/slipring-lab"],
    &["slipring-lab"],
];

fn pages() -> Vec<PathBuf> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let entries = std::fs::read_dir(docs.join("lab")).unwrap().map(|entry| entry.unwrap().path());
    entries.chain([docs.join("lab.md"), docs.join("benchmarks.md")]).collect()
}

/// The commands of a page's `sh` blocks, each with its line: what goes on in the next line is one.
fn commands(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let (mut inside, mut begun) = (false, None);
    for (at, line) in text.lines().enumerate() {
        if line.starts_with("```") {
            inside = line == "```sh";
        } else if inside {
            let (first, before) = begun.take().unwrap_or((at + 1, String::new()));
            let whole = format!("{before} {line}");
            match whole.strip_suffix('\\') {
                Some(part) => begun = Some((first, part.to_owned())),
                None => found.push((first, whole)),
            }
        }
    }
    found
}

/// The arguments for the program, of a line that calls it.
fn arguments(line: &str) -> Option<Vec<String>> {
    let mut words = shlex::split(line)?;
    words.truncate(words.iter().position(|word| word == ">").unwrap_or(words.len()));
    let first = words.iter().position(|word| !word.contains('='))?;
    let words = &words[first..];
    let call = CALLS
        .iter()
        .find(|call| words.len() >= call.len() && call.iter().zip(words).all(|(a, b)| a == b))?;
    Some(words[call.len()..].to_vec())
}

#[test]
fn the_program_takes_the_arguments_of_every_example() {
    let mut taken = 0;
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        for (at, line) in commands(&text) {
            let place = format!("{}:{at}: {line}", page.display());
            let command = line.trim_start();
            if command.is_empty()
                || ["export ", "cargo build "].iter().any(|w| command.starts_with(w))
            {
                continue;
            }
            let Some(arguments) = arguments(command) else {
                panic!("{place}: calls something else than the lab");
            };
            let words = ["slipring-lab".to_owned()].into_iter().chain(arguments);
            if let Err(error) = Arguments::try_parse_from(words) {
                panic!("{place}: {error}");
            }
            taken += 1;
        }
    }
    assert!(taken > 40, "{taken} examples");
}

#[test]
fn an_example_with_a_flag_that_is_not_there_is_noticed() {
    let page = "```sh\nA=1 slipring-lab case 1 \\\n    --fast   # as never before\n```\n";
    let found = commands(page);
    assert_eq!(found.len(), 1);
    let arguments = arguments(&found[0].1).unwrap();
    assert_eq!(arguments, ["case", "1", "--fast"]);
    let words = ["slipring-lab".to_owned()].into_iter().chain(arguments);
    assert!(Arguments::try_parse_from(words).is_err());
}
