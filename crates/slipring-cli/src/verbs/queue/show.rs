//! `slipring queue show`: one queue's settings and what it holds.

use clap::Args;
use serde_json::Value;
use slipring::QueueStats;
use slipring_server::admin::model::QueueView;

use crate::failure::Failure;
use crate::print;
use crate::target::{TargetArgs, queue_path};

#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The queue
    queue: String,
    #[command(flatten)]
    target: TargetArgs,
}

impl ShowArgs {
    pub async fn run(self) -> Result<(), Failure> {
        let target = self.target.open().await?;
        let view = target.get(&queue_path(&self.queue, "")).await?;
        target.close().await;
        print_queue(&view, self.target.json)
    }
}

/// Prints a queue.
pub fn print_queue(view: &QueueView, json: bool) -> Result<(), Failure> {
    if json {
        return print::json(view);
    }
    let mut table = print::table(&["QUEUE", &view.name], 0..0);
    let held = |of: fn(&QueueStats) -> u64| view.stats.as_ref().map(of);
    for (name, count) in [
        ("ready", held(|stats| stats.ready)),
        ("delayed", held(|stats| stats.delayed)),
        ("leased", held(|stats| stats.leased)),
        ("parked", held(|stats| stats.parked)),
        ("bytes", held(|stats| stats.bytes)),
        ("waiting receives", Some(view.waiting)),
    ] {
        table.add_row([name.to_owned(), print::count(count)]);
    }
    if let Value::Object(settings) =
        serde_json::to_value(&view.settings).map_err(Failure::failed)?
    {
        for (name, value) in settings {
            table.add_row(setting(&name, &value));
        }
    }
    print::line(&table.to_string())
}

/// A setting in words.
fn setting(name: &str, value: &Value) -> [String; 2] {
    let shown = match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => print::short(text, 60),
        Value::Number(number) if name.ends_with("_ms") => {
            print::duration(number.as_u64().unwrap_or_default())
        }
        Value::Number(number) if name == "paused_until" => {
            print::moment(number.as_u64().unwrap_or_default())
        }
        Value::Object(fields) if fields.is_empty() => "none".to_owned(),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| match value {
                Value::String(text) => format!("{key}={text}"),
                other => format!("{key}={other}"),
            });
            print::short(&fields.collect::<Vec<_>>().join(" "), 60)
        }
        other => other.to_string(),
    };
    let name = name.strip_suffix("_ms").unwrap_or(name);
    [name.replace('_', " "), shown]
}
