//! The examples of README.md, run as they are printed against the release binary.
//!
//! A comment line right before a fenced block says what it is:
//! `<!-- example: serve -->` starts the server that the following examples talk to,
//! `<!-- example: run -->` is run by the language of its fence (`python` or `sh`), and
//! `<!-- example: output -->` is what the run before it prints, line by line.

use std::process::Command;

use crate::process::{self, Outcome};
use crate::repository::Repository;
use crate::server::Server;
use crate::setup::python::TODAY;

const LIMIT_SECONDS: u32 = 120;
const SERVER_SECONDS: u32 = 600;

/// What a marked block is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Serve,
    Run,
    Output,
}

/// A marked block of the README.
#[derive(Debug, PartialEq, Eq)]
struct Example {
    role: Role,
    language: String,
    /// The line of its fence, counted from 1.
    line: usize,
    text: String,
}

/// Runs every marked block of README.md in order.
pub fn run(repository: &Repository) -> Outcome {
    TODAY.set_up(repository)?;
    let path = repository.root().join("README.md");
    let text =
        std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let examples = examples(&text)?;
    if !examples.iter().any(|example| example.role == Role::Run) {
        return Err("README.md has no block marked <!-- example: run -->".to_owned());
    }
    // What `cargo run` would build before it starts the server, which is expected to be quick.
    repository.release_binary()?;
    let folder = repository.emptied("runs/readme")?;
    let mut server = None;
    let mut printed = String::new();
    for example in &examples {
        println!("README.md:{}: {:?}", example.line, example.role);
        match example.role {
            Role::Serve => {
                let mut command = shell(repository, example)?;
                // The examples need no store that outlives them.
                let store = format!("sqlite:{}", folder.join("slipring.db").display());
                command.env("SLIPRING_STORE", store);
                server = Some(Server::of(command, &folder.join("server.log"))?);
            }
            Role::Run => printed = run_example(repository, example)?,
            Role::Output => compare(example, &printed)?,
        }
    }
    server.map_or(Ok(()), Server::stop)
}

fn run_example(repository: &Repository, example: &Example) -> Outcome<String> {
    let mut command = match example.language.as_str() {
        "python" => {
            let mut command = process::limited(LIMIT_SECONDS, TODAY.python(repository)?);
            command.arg("-c").arg(&example.text).current_dir(repository.root());
            command
        }
        _ => shell(repository, example)?,
    };
    let (succeeded, printed) = process::captured(&mut command)?;
    print!("{printed}");
    if !succeeded {
        return Err(format!("README.md:{}: the example failed, see above", example.line));
    }
    Ok(printed)
}

/// A shell that runs the block in the root, with the virtual environment's `python3` first.
fn shell(repository: &Repository, example: &Example) -> Outcome<Command> {
    let mut command = match example.role {
        Role::Serve => process::limited_alone(SERVER_SECONDS, "sh"),
        _ => process::limited(LIMIT_SECONDS, "sh"),
    };
    // `exec` would be wrong for a script of several lines; one command needs no shell around it.
    let single = example.role == Role::Serve && example.text.trim().lines().count() == 1;
    let script = format!("{}{}", if single { "exec " } else { "" }, example.text);
    command.args(["-e", "-c", &script]).current_dir(repository.root());
    let tools = repository.scratch("venv")?.join("bin");
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", tools.display()));
    Ok(command)
}

/// Fails unless the printed lines are those of the block.
fn compare(example: &Example, printed: &str) -> Outcome {
    let wanted: Vec<&str> = example.text.trim().lines().map(str::trim_end).collect();
    let seen: Vec<&str> = printed.trim().lines().map(str::trim_end).collect();
    if wanted == seen {
        return Ok(());
    }
    let (line, wanted, seen) = (example.line, wanted.join("\n"), seen.join("\n"));
    Err(format!("README.md:{line}: the example printed\n{seen}\nand README.md says\n{wanted}"))
}

/// The marked blocks in order.
fn examples(text: &str) -> Outcome<Vec<Example>> {
    let mut found = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let Some(word) = marker(line) else { continue };
        let role = match word {
            "serve" => Role::Serve,
            "run" => Role::Run,
            "output" => Role::Output,
            other => {
                return Err(format!("README.md:{}: no example is called `{other}`", at + 1));
            }
        };
        let Some((fence_at, fence)) = lines.next().filter(|(_, line)| line.starts_with("```"))
        else {
            return Err(format!("README.md:{}: no fenced block follows the marker", at + 1));
        };
        let block = lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```");
        let text = block.map(|line| format!("{line}\n")).collect();
        let language = fence.trim_start_matches('`').to_owned();
        found.push(Example { role, language, line: fence_at + 1, text });
    }
    Ok(found)
}

fn marker(line: &str) -> Option<&str> {
    line.strip_prefix("<!-- example: ")?.strip_suffix(" -->")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# A\n\n<!-- example: run -->\n```python\nprint(1)\nprint(2)\n```\n\n\
                        ```sh\nnot this\n```\n<!-- example: output -->\n```text\n1\n2\n```\n";

    #[test]
    fn marked_blocks_are_found_and_others_are_left_alone() {
        let found = examples(PAGE).unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].role, found[0].line), (Role::Run, 4));
        assert_eq!(found[0].language, "python");
        assert_eq!(found[0].text, "print(1)\nprint(2)\n");
        assert_eq!(found[1].role, Role::Output);
    }

    #[test]
    fn the_output_must_be_the_printed_one() {
        let found = examples(PAGE).unwrap();
        assert!(compare(&found[1], "1\n2\n").is_ok());
        assert!(compare(&found[1], "1\n3\n").unwrap_err().contains("README.md:13"));
    }

    #[test]
    fn a_marker_with_no_block_or_with_an_unknown_word_is_an_error() {
        assert!(examples("<!-- example: run -->\n\ntext\n").is_err());
        assert!(examples("<!-- example: try -->\n```sh\n```\n").is_err());
    }
}
