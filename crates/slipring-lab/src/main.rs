//! The `slipring-lab` program; see `docs/lab.md`.

use std::process::ExitCode;

use clap::Parser;
use slipring_lab::cli;

fn main() -> ExitCode {
    match cli::run(cli::Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("slipring-lab: {error:#}");
            ExitCode::FAILURE
        }
    }
}
