//! `slipring queue ls`: the queues with what they hold.

use clap::Args;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use slipring::{Clock, QueueSettings, QueueStats, SystemClock, Timestamp};
use slipring_server::admin::model::{QueuePage, QueueView};

use crate::failure::Failure;
use crate::print;
use crate::target::{Target, TargetArgs};

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
        let queues = all(&target, &self.prefix).await?;
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
            let paused = paused(&queue.settings, now);
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

/// Whether the queue hands out nothing, and for how long.
fn paused(settings: &QueueSettings, now: Timestamp) -> String {
    match settings.paused_until {
        _ if settings.paused => "paused".to_owned(),
        Some(until) if now < until => format!("paused until {}", print::moment(until.as_millis())),
        _ => String::new(),
    }
}

async fn all(target: &Target, prefix: &str) -> Result<Vec<QueueView>, Failure> {
    let mut queues = Vec::new();
    let mut after = String::new();
    loop {
        let quoted = |text| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        let path = format!("/v1/queues?prefix={}&after={}", quoted(prefix), quoted(&after));
        let page: QueuePage = target.get(&path).await?;
        queues.extend(page.queues);
        match page.next {
            Some(next) => after = next,
            None => return Ok(queues),
        }
    }
}
