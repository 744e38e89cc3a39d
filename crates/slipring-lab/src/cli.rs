//! The command line.

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::{
    adapter, badday, benchmark, cases, crash, drive, driver, hostile, report, run, simulate, waits,
    workloads,
};

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
    Run(run::Options),
    /// Be a system of the public benchmark of queues on PostgreSQL: the environment says what to
    /// do, lines of JSON on stdout say what happens, until SIGTERM.
    Adapter(adapter::Options),
    /// Run the scenarios of the public benchmark of queues on PostgreSQL: ours beside its peers.
    Benchmark(benchmark::Options),
    /// The names of the rows of each table.
    List,
    /// Run one of the five published cases: the published design, the effect, and ours beside it.
    Case(cases::Options),
    /// Run a bad day: one participant misbehaves, and everybody else is measured.
    Badday(badday::Options),
    /// A worker of `badday`.
    #[command(hide = true)]
    BaddayWorker(badday::worker::Options),
    /// Attack the server with connections that misbehave, one kind after another, and ask for its
    /// memory, for the sends of good clients, and how soon all is as before.
    Hostile(hostile::Options),
    /// A process of the connections of `hostile`.
    #[command(hide = true)]
    HostileCrowd(hostile::crowd::Options),
    /// Make one page of kept runs that opens without a network, or Markdown.
    Report(report::Options),
    /// Simulate workers, cores, latches and logs: what more cores would do.
    Simulate(simulate::Options),
    /// A measurement of `case 5`.
    #[command(hide = true)]
    CaseTimers(cases::timers::measure::Settings),
    /// Kill the real server again and again under clients of both protocols, then check that
    /// nothing was lost, invented, repeated without reason or out of order.
    Crash(crash::Options),
    /// A client process of `crash`.
    #[command(hide = true)]
    CrashClient(crash::client::Options),
    /// A driver: a process that loads one target, with work as JSON lines on stdin.
    #[command(hide = true)]
    Driver(driver::serve::Options),
    /// Drive one operation by many threads: in a closed loop, at rates, or up to the highest rate
    /// that is sustained; latency counts from the due time.
    Drive(Box<drive::Options>),
    /// Look for some seconds at what a PostgreSQL and a Slipring server wait for, who blocks whom
    /// and what pins the oldest snapshot; draws a flame graph of waiting.
    Waits(waits::Options),
    /// Run one workload on one target in this process, and print what it found as JSON.
    Workload(workloads::Settings),
}

/// Does what the command line asks for.
///
/// # Errors
/// What went wrong, for people.
pub fn run(arguments: Arguments) -> Result<()> {
    match arguments.command {
        Command::Run(options) => run::run(&options),
        Command::Adapter(options) => adapter::run(&options),
        Command::Benchmark(options) => benchmark::run(&options),
        Command::List => {
            run::list();
            Ok(())
        }
        Command::Case(options) => cases::run(&options),
        Command::Badday(options) => badday::run(&options),
        Command::BaddayWorker(options) => badday::worker::run(&options),
        Command::Hostile(options) => hostile::run(&options),
        Command::HostileCrowd(options) => hostile::crowd::run(&options),
        Command::Report(options) => report::run(&options),
        Command::Simulate(options) => simulate::run(&options),
        Command::CaseTimers(settings) => {
            let measured = cases::timers::measure::run(&settings)?;
            println!("{}", serde_json::to_string(&measured)?);
            Ok(())
        }
        Command::Crash(options) => crash::run(&options),
        Command::CrashClient(options) => crash::client::run(&options),
        Command::Driver(options) => driver::serve::run(&options),
        Command::Drive(options) => drive::run(&options),
        Command::Waits(options) => waits::run(&options),
        Command::Workload(settings) => driver::serve::once(&settings),
    }
}
