//! `slipring queue ls`: the queues with what they hold.

use clap::Args;
use slipring::{Clock, QueueStats, SystemClock};

use crate::failure::Failure;
use crate::print;
use crate::target::TargetArgs;

#[derive(Debug, Args)]
pub struct LsArgs {
    /// Only queues whose names begin so
    #[arg(default_value = "")]
    prefix: String,
    #[command(flatten)]
    target: TargetArgs,
}

impl LsArgs {
    pub async fn run(self) -> Result<(), Failure> {
        let target = self.target.open().await?;
        let (queues, _) = target.queues(&self.prefix, usize::MAX).await?;
        target.close().await;
        if self.target.json {
            return print::json(&queues);
        }
        if queues.is_empty() {
            return print::line("no queues");
        }
        let head = ["QUEUE", "READY", "DELAYED", "LEASED", "PARKED", "BYTES", "WAITING", ""];
        let mut table = print::table(&head, 1..7);
        let now = SystemClock::new().now();
        for queue in &queues {
            let held = |of: fn(&QueueStats) -> u64| print::count(queue.stats.as_ref().map(of));
            let kind = if queue.settings.fifo { "fifo " } else { "" };
            let paused = print::paused(&queue.settings, now).unwrap_or_default();
            table.add_row([
                queue.name.clone(),
                held(|stats| stats.ready),
                held(|stats| stats.delayed),
                held(|stats| stats.leased),
                held(|stats| stats.parked),
                held(|stats| stats.bytes),
                queue.waiting.to_string(),
                format!("{kind}{paused}"),
            ]);
        }
        print::line(&table.to_string())
    }
}
