//! The examples of README.md and of the pages in docs/, run as they are printed against the release
//! binary.
//!
//! A comment line right before a fenced block says what it is:
//! `<!-- example: serve -->` starts the server that the following examples talk to,
//! `<!-- example: run -->` is run by the language of its fence (`python` or `sh`),
//! `<!-- example: output -->` is what the run before it prints, line by line, and
//! `<!-- example: elsewhere: WHERE -->` is not run here, but there.
//!
//! In README.md they are run in the root. Each page of docs/ has an empty folder of its own, where
//! a server runs from its first example on. A block of `sh` that says nothing is an error; those of
//! the lab's pages run for minutes, and a test of the lab reads their arguments.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{self, Outcome};
use crate::repository::Repository;
use crate::server::Server;
use crate::setup::debian;
use crate::setup::python::TODAY;

const LIMIT_SECONDS: u32 = 120;
const SERVER_SECONDS: u32 = 600;

/// Pages of the lab: `cargo test -p slipring-lab --test docs`.
const OF_THE_LAB: [&str; 3] = ["docs/lab.md", "docs/lab/", "docs/benchmarks.md"];

/// What a marked block is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Serve,
    Run,
    Output,
    Elsewhere,
}

/// A marked block of a page.
#[derive(Debug, PartialEq, Eq)]
struct Example {
    role: Role,
    language: String,
    /// The page, and the line of the fence, counted from 1.
    place: String,
    text: String,
}

/// Where the examples of a page are run.
struct Ground {
    folder: PathBuf,
    /// What the shell finds first.
    path: String,
    store: String,
    log: PathBuf,
    python: PathBuf,
}

/// Runs every marked block of README.md and of docs/ in order.
pub fn run(repository: &Repository) -> Outcome {
    debian::run(&[&debian::CURL, &debian::SQLITE])?;
    TODAY.set_up(repository)?;
    let root = repository.root();
    let mut pages = vec![root.join("README.md")];
    find_pages(&root.join("docs"), &mut pages)?;
    // What `cargo run` would build before it starts the server, which is expected to be quick.
    let binary = repository.release_binary()?;
    let tools = repository.scratch("venv")?.join("bin");
    let mut run = 0;
    for page in &pages {
        let name = page.strip_prefix(root).unwrap_or(page).display().to_string();
        if OF_THE_LAB.iter().any(|lab| name.starts_with(lab)) {
            continue;
        }
        let text = std::fs::read_to_string(page).map_err(|error| format!("{name}: {error}"))?;
        let examples = examples(&name, &text)?;
        let is_run = |example: &&Example| matches!(example.role, Role::Serve | Role::Run);
        let of_page = examples.iter().filter(is_run).count();
        run += of_page;
        if of_page == 0 && name == "README.md" {
            return Err("README.md has no block that is marked as an example to be run".to_owned());
        } else if of_page == 0 {
            continue;
        }
        let folder = repository.emptied(&format!("runs/examples/{}", name.replace('/', "-")))?;
        let path = std::env::var("PATH").unwrap_or_default();
        let built = binary.parent().unwrap_or(Path::new(".")).display();
        let ground = Ground {
            path: format!("{}:{built}:{path}", tools.display()),
            // The examples need no store that outlives them.
            store: format!("sqlite:{}", folder.join("slipring.db").display()),
            log: folder.join("server.log"),
            python: TODAY.python(repository)?,
            folder: if name == "README.md" { root.to_owned() } else { folder },
        };
        run_page(&ground, &examples)?;
    }
    println!("{run} examples");
    Ok(())
}

fn find_pages(folder: &Path, pages: &mut Vec<PathBuf>) -> Outcome {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let entries = std::fs::read_dir(folder).map_err(failed)?;
    let mut entries: Vec<PathBuf> = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()
        .map_err(failed)?;
    entries.sort();
    for entry in entries {
        if entry.is_dir() {
            find_pages(&entry, pages)?;
        } else if entry.extension().is_some_and(|end| end == "md") {
            pages.push(entry);
        }
    }
    Ok(())
}

fn run_page(ground: &Ground, examples: &[Example]) -> Outcome {
    let mut server = None;
    let mut printed = String::new();
    for example in examples {
        println!("{}: {:?}", example.place, example.role);
        match example.role {
            Role::Serve => server = Some(Server::of(shell(ground, example), &ground.log)?),
            Role::Run => {
                if server.is_none() {
                    let mut command = process::limited_alone(SERVER_SECONDS, "slipring");
                    command.arg("serve").env("PATH", &ground.path);
                    command.env("SLIPRING_STORE", &ground.store).current_dir(&ground.folder);
                    server = Some(Server::of(command, &ground.log)?);
                }
                printed = run_example(ground, example)?;
            }
            Role::Output => compare(example, &printed)?,
            Role::Elsewhere => {}
        }
    }
    server.map_or(Ok(()), Server::stop)
}

fn run_example(ground: &Ground, example: &Example) -> Outcome<String> {
    let mut command = match example.language.as_str() {
        "python" => {
            let mut command = process::limited(LIMIT_SECONDS, &ground.python);
            command.arg("-c").arg(&example.text).current_dir(&ground.folder);
            command
        }
        _ => shell(ground, example),
    };
    let (succeeded, printed) = process::captured(&mut command)?;
    print!("{printed}");
    if !succeeded {
        return Err(format!("{}: the example failed, see above", example.place));
    }
    Ok(printed)
}

/// A shell that runs the block, with the virtual environment's `python3` and `slipring` first.
fn shell(ground: &Ground, example: &Example) -> Command {
    let mut command = match example.role {
        Role::Serve => process::limited_alone(SERVER_SECONDS, "sh"),
        _ => process::limited(LIMIT_SECONDS, "sh"),
    };
    // `exec` would be wrong for a script of several lines; one command needs no shell around it.
    let single = example.role == Role::Serve && example.text.trim().lines().count() == 1;
    let script = format!("{}{}", if single { "exec " } else { "" }, example.text);
    command.args(["-e", "-c", &script]).current_dir(&ground.folder);
    if example.role == Role::Serve {
        command.env("SLIPRING_STORE", &ground.store);
    }
    command.env("PATH", &ground.path);
    command
}

/// Fails unless the printed lines are those of the block.
fn compare(example: &Example, printed: &str) -> Outcome {
    let wanted: Vec<&str> = example.text.trim().lines().map(str::trim_end).collect();
    let seen: Vec<&str> = printed.trim().lines().map(str::trim_end).collect();
    if wanted == seen {
        return Ok(());
    }
    let (place, wanted, seen) = (&example.place, wanted.join("\n"), seen.join("\n"));
    Err(format!("{place}: the example printed\n{seen}\nand the page says\n{wanted}"))
}

/// The marked blocks of a page in order.
fn examples(page: &str, text: &str) -> Outcome<Vec<Example>> {
    let mut found = Vec::new();
    let mut role = None;
    let mut lines = text.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let place = format!("{page}:{}", at + 1);
        if let Some(language) = line.strip_prefix("```") {
            let block = lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```");
            let text = block.map(|line| format!("{line}\n")).collect();
            let language = language.to_owned();
            match role.take() {
                Some(role) => found.push(Example { role, language, place, text }),
                None if language == "sh" => {
                    return Err(format!("{place}: no marker says what this example is for"));
                }
                None => {}
            }
            continue;
        }
        if role.is_some() {
            return Err(format!("{place}: no fenced block follows the marker"));
        }
        role = match marker(line) {
            None => None,
            Some("serve") => Some(Role::Serve),
            Some("run") => Some(Role::Run),
            Some("output") => Some(Role::Output),
            Some(word) if word.starts_with("elsewhere: ") => Some(Role::Elsewhere),
            Some(other) => return Err(format!("{place}: no example is called `{other}`")),
        };
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
                        ```toml\nnot this\n```\n<!-- example: output -->\n```text\n1\n2\n```\n";

    #[test]
    fn marked_blocks_are_found_and_those_of_other_languages_are_left_alone() {
        let found = examples("A.md", PAGE).unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].role, found[0].place.as_str()), (Role::Run, "A.md:4"));
        assert_eq!(found[0].language, "python");
        assert_eq!(found[0].text, "print(1)\nprint(2)\n");
        assert_eq!(found[1].role, Role::Output);
    }

    #[test]
    fn the_output_must_be_the_printed_one() {
        let found = examples("A.md", PAGE).unwrap();
        assert!(compare(&found[1], "1\n2\n").is_ok());
        assert!(compare(&found[1], "1\n3\n").unwrap_err().contains("A.md:13"));
    }

    #[test]
    fn a_marker_with_no_block_or_with_an_unknown_word_and_a_shell_without_one_are_errors() {
        assert!(examples("A.md", "<!-- example: run -->\n\ntext\n").is_err());
        assert!(examples("A.md", "<!-- example: try -->\n```sh\n```\n").is_err());
        assert!(examples("A.md", "text\n```sh\nls\n```\n").unwrap_err().contains("A.md:2"));
        let elsewhere = "<!-- example: elsewhere: step `x` -->\n```sh\nls\n```\n";
        assert_eq!(examples("A.md", elsewhere).unwrap()[0].role, Role::Elsewhere);
    }
}
