//! The verbs of the command line, one file each.

mod ack;
mod beanstalkd;
mod cancel;
mod compact;
mod completions;
mod config;
mod database;
mod doctor;
mod extend;
mod import;
mod kick;
mod load;
mod man;
mod migrate;
mod nack;
mod peek;
mod queue;
mod receive;
mod redrive;
mod running;
mod send;
mod serve;
mod show;
mod top;
mod waits;

use std::process::ExitCode;

use clap::{ArgMatches, Command, Subcommand};

use crate::failure::Failure;

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Run the server: SQS and beanstalkd protocols, admin API, metrics
    Serve(Box<serve::ServeArgs>),
    /// Run in place of beanstalkd, with its command line
    Beanstalkd(beanstalkd::BeanstalkdArgs),
    /// List, make, show, change, pause, purge and delete queues
    #[command(subcommand)]
    Queue(Box<queue::QueueVerb>),
    /// Send messages
    Send(send::SendArgs),
    /// Load a file of messages: all become ready at one moment, or none does
    Load(Box<load::LoadArgs>),
    /// Receive messages under a lease
    Receive(receive::ReceiveArgs),
    /// Ack received messages: they are done
    Ack(ack::AckArgs),
    /// Give received messages back: they failed and come again
    Nack(nack::NackArgs),
    /// Hold received messages for longer
    Extend(extend::ExtendArgs),
    /// Look at messages without taking them
    Peek(peek::PeekArgs),
    /// Show one message, wherever it is
    Show(show::ShowArgs),
    /// Move dead-lettered messages back, or to another queue
    Redrive(redrive::RedriveArgs),
    /// Make parked messages ready again, or delayed ones when none is parked
    Kick(kick::KickArgs),
    /// Remove one message that nobody holds
    Cancel(cancel::CancelArgs),
    /// Say in sentences why it is slow, and what to do
    Doctor(doctor::DoctorArgs),
    /// Watch the busiest queues, where the time goes, and what is wrong
    Top(top::TopArgs),
    /// Show what the server waits for
    Waits(waits::WaitsArgs),
    /// Write a SQLite file anew without the space it does not need
    Compact(compact::CompactArgs),
    /// Bring the schema of a PostgreSQL database up to date, or show how
    Migrate(migrate::MigrateArgs),
    /// Take a PostgreSQL database into use that was restored from a dump
    Import(import::ImportArgs),
    /// Show the server's configuration and where each value came from
    Config(Box<config::ConfigArgs>),
    /// Print what a shell needs to complete this command line
    Completions(completions::CompletionsArgs),
    /// Print the manual page, or write that of each verb
    Man(man::ManArgs),
}

impl Verb {
    /// Runs the verb and answers what the process ends with. `given` is what was given to it, for
    /// those who ask where a value came from; `command` is the whole command line, for those who
    /// describe it.
    ///
    /// # Errors
    /// What went wrong, for people.
    pub async fn run(self, given: ArgMatches, command: Command) -> Result<ExitCode, Failure> {
        let done = match self {
            Verb::Doctor(args) => return args.run().await,
            Verb::Serve(args) => args.run(&given).await,
            Verb::Beanstalkd(args) => args.run().await,
            Verb::Config(args) => args.run(&given),
            Verb::Completions(args) => args.run(command),
            Verb::Man(args) => args.run(command),
            Verb::Queue(verb) => verb.run().await,
            Verb::Send(args) => args.run().await,
            Verb::Load(args) => args.run().await,
            Verb::Receive(args) => args.run().await,
            Verb::Ack(args) => args.run().await,
            Verb::Nack(args) => args.run().await,
            Verb::Extend(args) => args.run().await,
            Verb::Peek(args) => args.run().await,
            Verb::Show(args) => args.run().await,
            Verb::Redrive(args) => args.run().await,
            Verb::Kick(args) => args.run().await,
            Verb::Cancel(args) => args.run().await,
            Verb::Top(args) => args.run().await,
            Verb::Waits(args) => args.run().await,
            Verb::Compact(args) => args.run().await,
            Verb::Migrate(args) => args.run().await,
            Verb::Import(args) => args.run().await,
        };
        done.map(|()| ExitCode::SUCCESS)
    }
}
