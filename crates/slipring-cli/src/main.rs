//! The slipring binary: serve, beanstalkd, queue, send, receive and the rest. Arguments and
//! printing only; the work is done by the server, the stores and the admin API.

// Answers on stdout are what this program is for.
#![allow(clippy::print_stdout)]

mod audit;
mod confirm;
mod failure;
mod logging;
mod print;
mod secrets;
mod service_manager;
mod settings;
mod store;
mod target;
mod user;
mod verbs;

use std::process::ExitCode;

use clap::{ArgMatches, Command, CommandFactory, FromArgMatches, Parser};

use clap::error::ErrorKind;
use failure::Failure;
use logging::LogFormat;
use nix::sys::signal::Signal;
use slipring::{Clock, SystemClock};
use tokio::signal::unix::{SignalKind, signal};
use verbs::Verb;

/// A durable message and job queue on one file, spoken to by SQS and beanstalkd clients.
#[derive(Debug, Parser)]
#[command(name = "slipring", version, propagate_version = true, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[global_allocator]
static ALLOCATOR: slipring_allocator::Allocator = slipring_allocator::Allocator;

fn main() -> ExitCode {
    slipring_allocator::give_back_soon();
    let matches = match command().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => return refused(&error),
    };
    let cli = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => return refused(&error),
    };
    match run(cli.verb, &matches) {
        Ok(code) => code,
        Err(failure) => {
            // An address may stand where none belongs, with its password.
            let hidden = |text: &str| secrets::hidden_with(text, std::env::args_os().skip(1));
            let failure = failure.shown_by(hidden);
            logging::last_words(&match failure.format() {
                LogFormat::Human => format!("error: {failure}\n"),
                LogFormat::Json => in_json(&failure),
            });
            failure.exit_code()
        }
    }
}

fn in_json(failure: &Failure) -> String {
    logging::error_in_json(failure, SystemClock::new().now()) + "\n"
}

/// Says what is wrong with the arguments, or what was asked for; an address in the wrong place is
/// repeated without its password.
fn refused(error: &clap::Error) -> ExitCode {
    let text = error.render().to_string();
    let shown = secrets::hidden_with(&text, std::env::args_os().skip(1));
    let asked_for = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    let json = !asked_for && logging::is_json_asked_for(std::env::args_os());
    if !json && shown == text {
        error.exit();
    }
    if json {
        let text = shown.trim_end().trim_start_matches("error: ");
        logging::last_words(&in_json(&Failure::usage(text)));
    } else {
        logging::last_words(&shown);
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

fn command() -> Command {
    Cli::command()
}

fn run(verb: Verb, matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::failed(format!("no threads to run on: {error}")))?;
    let given = matches.subcommand().map(|(_, matches)| matches.clone()).unwrap_or_default();
    let result = runtime.block_on(async {
        outlive_file_limit()?;
        verb.run(given, command()).await
    });
    // A store that hangs in the system must not hold up the end of the process.
    runtime.shutdown_background();
    result
}

/// Lets a write beyond the limit on the size of files (`ulimit -f`) fail like any other write. By
/// default the system ends the process instead.
fn outlive_file_limit() -> Result<(), Failure> {
    // A handler stays for good, also when nothing listens to it.
    signal(SignalKind::from_raw(Signal::SIGXFSZ as i32))
        .map(drop)
        .map_err(|error| Failure::failed(format!("signals: {error}")))
}
