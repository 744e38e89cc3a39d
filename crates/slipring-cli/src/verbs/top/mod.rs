//! `slipring top`: the busiest queues, where the time goes, and what is wrong, again and again.
//!
//! Each look is compared with the one before it, by the rules of `slipring doctor` as well.

mod screen;
mod view;

use std::io::{ErrorKind, IsTerminal as _};
use std::time::Duration;

use clap::Args;
use slipring::clock::monotonic_ns;

use self::view::View;
use super::doctor::snapshot::Snapshot;
use crate::failure::Failure;
use crate::print;
use crate::target::{Target, TargetArgs};

/// A look is at most this part of the time, so that looking at very many queues is no load.
const LOOK_PART: u32 = 5;

#[derive(Debug, Args)]
pub struct TopArgs {
    /// Time between two looks; longer where a look takes more than a fifth of it
    #[arg(long, value_name = "DURATION", default_value = "2s",
        value_parser = print::parse_duration)]
    every: Duration,
    /// End after so many screens
    #[arg(long, value_name = "N")]
    screens: Option<u64>,
    /// Show at most so many queues
    #[arg(long, value_name = "N", default_value = "15")]
    queues: usize,
    #[command(flatten)]
    target: TargetArgs,
}

impl TopArgs {
    pub async fn run(self) -> Result<(), Failure> {
        let (target, seen) = self.target.open_after_look().await?;
        let done = tokio::select! {
            done = self.watch(&target, seen) => done,
            // Ctrl-C is how it is ended.
            interrupted = tokio::signal::ctrl_c() => interrupted.map_err(Failure::failed),
        };
        target.close().await;
        done
    }

    async fn watch(
        &self,
        target: &Target,
        seen: Option<slipring::Obstacles>,
    ) -> Result<(), Failure> {
        let mut began = monotonic_ns();
        let mut before = Snapshot::first(target, seen).await?;
        let mut shown = 0;
        while self.screens.is_none_or(|screens| shown < screens) {
            let look = Duration::from_nanos(monotonic_ns().saturating_sub(began));
            tokio::time::sleep(self.every.max(look * (LOOK_PART - 1))).await;
            began = monotonic_ns();
            let mut now = Snapshot::second(target).await?;
            if !self.show(&View::new(&before, &now, self.queues))? {
                break;
            }
            now.read_waits(target).await?;
            before = now;
            shown += 1;
        }
        Ok(())
    }

    /// Prints a screen; answers whether stdout still has a reader.
    fn show(&self, view: &View) -> Result<bool, Failure> {
        let text = if self.target.json {
            serde_json::to_string(view).map_err(Failure::failed)?
        } else if std::io::stdout().is_terminal() {
            format!("{}{}", screen::CLEAR, screen::text(view))
        } else {
            screen::text(view)
        };
        match print::line_to_reader(&text) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
            written => written.map(|()| true).map_err(Failure::failed),
        }
    }
}
