//! The command line.

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::{cases, crash, drive, foundation, postgres, waits, workloads};

/// Load driver, workloads and reports for Slipring and its peers.
#[derive(Debug, Parser)]
#[command(name = "slipring-lab", version)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a whole table of rows and print it with pass or miss per target.
    Run {
        #[command(subcommand)]
        table: Table,
    },
    /// The names of the rows of each table.
    List,
    /// Run one of the five published cases: the published design, the effect, and ours beside it.
    Case(cases::Options),
    /// Kill the real server again and again under clients of both protocols, then check that
    /// nothing was lost, invented, repeated without reason or out of order.
    Crash(crash::Options),
    /// A client process of `crash`.
    #[command(hide = true)]
    CrashClient(crash::client::Options),
    /// A driver process of `run postgres`.
    #[command(hide = true)]
    PostgresDriver(postgres::serve::Options),
    /// Drive one operation by many threads: in a closed loop, at rates, or up to the highest rate
    /// that is sustained; latency counts from the due time.
    Drive(Box<drive::Options>),
    /// Look for some seconds at what a PostgreSQL and a Slipring server wait for, who blocks whom
    /// and what pins the oldest snapshot; draws a flame graph of waiting.
    Waits(waits::Options),
    /// Run one workload on one target in this process, and print what it found as JSON.
    Workload(workloads::Settings),
}

#[derive(Debug, Subcommand)]
enum Table {
    /// The project's speed table: store in-process, both wires, backlog, waiters, neighbours.
    Foundation(foundation::Options),
    /// The speed table of the PostgreSQL store, beside its peers.
    Postgres(postgres::Options),
}

/// Does what the command line asks for.
///
/// # Errors
/// What went wrong, for people.
pub fn run(arguments: Arguments) -> Result<()> {
    match arguments.command {
        Command::Run { table: Table::Foundation(options) } => foundation::run(&options),
        Command::Run { table: Table::Postgres(options) } => postgres::run(&options),
        Command::List => {
            println!("run foundation");
            foundation::list();
            println!("run postgres");
            postgres::list();
            Ok(())
        }
        Command::Case(options) => cases::run(&options),
        Command::Crash(options) => crash::run(&options),
        Command::CrashClient(options) => crash::client::run(&options),
        Command::PostgresDriver(options) => postgres::serve::run(&options),
        Command::Drive(options) => drive::run(&options),
        Command::Waits(options) => waits::run(&options),
        Command::Workload(settings) => {
            println!("{}", serde_json::to_string(&workloads::run(&settings)?)?);
            Ok(())
        }
    }
}
