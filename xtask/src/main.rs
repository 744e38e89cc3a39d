//! The repository's own checks: `cargo xtask test | tidy | clients | schema`.
#![allow(clippy::print_stdout)] // a command-line program: its output is what it is for

mod beside;
mod browser;
mod clients;
mod cluster;
mod examples;
mod failing;
mod package;
mod pages;
mod process;
mod programs;
mod repository;
mod schema;
mod server;
mod setup;
mod steps;
mod test;
mod tidy;

use std::process::ExitCode;

use process::Outcome;
use repository::Repository;

const USAGE: &str = "\
cargo xtask test [--only STEP…] [--skip STEP…] [--list]   every check of the project
cargo xtask tidy                                          the house rules
cargo xtask clients [--only NAME…] [--store KIND]         unmodified foreign clients, over a store
                                                          of the kind sqlite or postgres
cargo xtask package                                       the Debian package and the image
cargo xtask schema                                        write schema.sql anew";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            if !message.is_empty() {
                println!("{message}");
            }
            ExitCode::FAILURE
        }
    }
}

fn dispatch(arguments: &[String]) -> Outcome {
    let repository = Repository::find();
    let Some((command, rest)) = arguments.split_first() else { return Err(USAGE.to_owned()) };
    let options = Options::parse(rest)?;
    match command.as_str() {
        "test" if options.list => {
            test::list();
            Ok(())
        }
        "test" if options.store.is_none() => {
            let selection = test::Selection { only: options.only, skip: options.skip };
            test::run(&repository, &selection)
        }
        "clients" if options.skip.is_empty() && !options.list => {
            let store = clients::Storage::named(options.store.as_deref())?;
            clients::run(&repository, &options.only, store)
        }
        "tidy" if rest.is_empty() => tidy::run(repository.root()),
        "package" if rest.is_empty() => {
            setup::debian::run(&setup::debian::PACKAGING)?;
            package::run(&repository)
        }
        "schema" if rest.is_empty() => schema::run(&repository, schema::Mode::Write),
        _ => Err(USAGE.to_owned()),
    }
}

/// What follows the name of the command.
#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    only: Vec<String>,
    skip: Vec<String>,
    list: bool,
    store: Option<String>,
}

impl Options {
    /// Reads `--only NAME…`, `--skip NAME…`, `--store KIND` and `--list`, in any order.
    fn parse(words: &[String]) -> Outcome<Options> {
        let mut options = Options::default();
        let mut names = None;
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--only" => names = Some(&mut options.only),
                "--skip" => names = Some(&mut options.skip),
                "--list" => options.list = true,
                "--store" => {
                    let kind = words.next().ok_or_else(|| "--store needs a kind".to_owned())?;
                    options.store = Some(kind.clone());
                }
                name if name.starts_with('-') => {
                    return Err(format!("no option is called `{name}`\n{USAGE}"));
                }
                name => match &mut names {
                    Some(names) => names.push(name.to_owned()),
                    None => return Err(format!("`{name}` follows no option\n{USAGE}")),
                },
            }
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &str) -> Outcome<Options> {
        Options::parse(&words.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn options_take_any_number_of_names() {
        let options = parse("--only fmt tidy --skip docs --only tests").unwrap();
        assert_eq!(options.only, ["fmt", "tidy", "tests"]);
        assert_eq!(options.skip, ["docs"]);
        assert!(parse("--list").unwrap().list);
        let options = parse("--store postgres --only boto3").unwrap();
        assert_eq!((options.store.as_deref(), options.only.len()), (Some("postgres"), 1));
    }

    #[test]
    fn what_is_not_understood_is_an_error() {
        assert!(parse("--fast").unwrap_err().contains("`--fast`"));
        assert!(parse("--store").unwrap_err().contains("--store"));
        assert!(parse("fmt").unwrap_err().contains("`fmt`"));
        assert_eq!(dispatch(&["unknown".to_owned()]), Err(USAGE.to_owned()));
    }
}
