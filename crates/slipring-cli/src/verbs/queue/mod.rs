//! `slipring queue`: administration of queues.

mod create;
mod delete;
mod ls;
mod pause;
mod purge;
mod resume;
mod set;
mod settings;
mod show;

use clap::Subcommand;

use crate::failure::Failure;

/// What to do with queues.
#[derive(Debug, Subcommand)]
pub enum QueueVerb {
    /// List queues with what they hold
    Ls(ls::LsArgs),
    /// Make a queue
    Create(create::CreateArgs),
    /// Show a queue's settings and what it holds
    Show(show::ShowArgs),
    /// Change a queue's settings
    Set(set::SetArgs),
    /// Hand out nothing until it is resumed, or for a while
    Pause(pause::PauseArgs),
    /// End a pause
    Resume(resume::ResumeArgs),
    /// Remove every message of a queue
    Purge(purge::PurgeArgs),
    /// Delete a queue with all that is in it
    Delete(delete::DeleteArgs),
}

impl QueueVerb {
    pub async fn run(self) -> Result<(), Failure> {
        match self {
            QueueVerb::Ls(args) => args.run().await,
            QueueVerb::Create(args) => args.run().await,
            QueueVerb::Show(args) => args.run().await,
            QueueVerb::Set(args) => args.run().await,
            QueueVerb::Pause(args) => args.run().await,
            QueueVerb::Resume(args) => args.run().await,
            QueueVerb::Purge(args) => args.run().await,
            QueueVerb::Delete(args) => args.run().await,
        }
    }
}
