//! `slipring redrive`: dead-lettered messages go back, or to another queue.

use std::io::BufRead;

use clap::Args;
use serde_json::json;
use slipring::admin::CHOSEN_MAX;
use slipring_server::admin::model::{MovedView, Redrive};

use crate::failure::Failure;
use crate::print;
use crate::target::{Target, TargetArgs, queue_path, refusal};

/// In place of a number: stdin has the numbers.
const STDIN: &str = "-";

#[derive(Debug, Args)]
pub struct RedriveArgs {
    /// The queue that holds the messages now, such as a dead-letter queue
    queue: String,
    /// Where they go [default: each to the queue it was dead-lettered from]
    #[arg(long, value_name = "QUEUE")]
    to: Option<String>,
    /// At most so many [default: all that are there now]
    #[arg(long, value_name = "COUNT")]
    max: Option<u64>,
    /// Only this message, by its number; may be repeated. `-` reads numbers from stdin, one a line
    #[arg(long = "id", value_name = "ID", conflicts_with = "max", value_delimiter = ',')]
    ids: Vec<String>,
    #[command(flatten)]
    target: TargetArgs,
}

impl RedriveArgs {
    pub async fn run(self) -> Result<(), Failure> {
        if !self.ids.is_empty() {
            return self.move_chosen().await;
        }
        let target = self.target.open().await?;
        let bar = print::progress("moved", "messages");
        let body = Redrive { target: self.to, limit: self.max, ids: None };
        let path = queue_path(&self.queue, "/redrive");
        let moved = target.follow(&path, &body, |line| match line.left {
            Some(left) => print::progress_left(&bar, line.messages, left),
            None => bar.set_position(line.messages),
        });
        let moved = moved.await;
        drop(bar);
        let moved = moved?;
        target.close().await;
        if self.target.json {
            return print::json(&json!({ "moved": moved.messages, "left": moved.left }));
        }
        let mut text = format!("{} messages moved from {}", moved.messages, self.queue);
        if let Some(left) = moved.left.filter(|left| *left > 0) {
            text.push_str(&format!(", {left} left"));
        }
        print::line(&text)
    }

    async fn move_chosen(self) -> Result<(), Failure> {
        let ids = numbers(&self.ids)?;
        let target = self.target.open().await?;
        let mut results = Vec::with_capacity(ids.len());
        for part in ids.chunks(CHOSEN_MAX) {
            match self.move_part(&target, part).await {
                Ok(part) => results.extend(part),
                Err(failure) => {
                    let moved = moved(&results);
                    return Err(failure.with(format!("{moved} messages were moved before it")));
                }
            }
        }
        target.close().await;
        let moved = moved(&results);
        if self.target.json {
            print::json(&json!({ "moved": moved, "results": results }))?;
        } else {
            print::line(&format!("{moved} messages moved from {}", self.queue))?;
        }
        let mut refused = results.iter().filter_map(|result| result.error.as_ref());
        let count = refused.clone().count();
        refused.next().map_or(Ok(()), |error| {
            Err(Failure::failed(format!(
                "{count} of {} messages were not moved, the first because: {}",
                results.len(),
                refusal(error)
            )))
        })
    }

    async fn move_part(&self, target: &Target, ids: &[u64]) -> Result<Vec<MovedView>, Failure> {
        let body = Redrive { target: self.to.clone(), limit: None, ids: Some(ids.to_vec()) };
        let moved = target.follow(&queue_path(&self.queue, "/redrive"), &body, |_| {}).await?;
        Ok(moved.results.unwrap_or_default())
    }
}

fn moved(results: &[MovedView]) -> usize {
    results.iter().filter(|result| result.error.is_none()).count()
}

/// The numbers that were named, those of stdin in the place of `-`.
fn numbers(named: &[String]) -> Result<Vec<u64>, Failure> {
    let mut ids = Vec::with_capacity(named.len());
    for text in named {
        if text != STDIN {
            ids.push(number(text)?);
            continue;
        }
        for line in std::io::stdin().lock().lines() {
            let line = line.map_err(|error| Failure::failed(format!("stdin: {error}")))?;
            if !line.trim().is_empty() {
                ids.push(number(line.trim())?);
            }
        }
    }
    if ids.is_empty() {
        return Err(Failure::usage("--id -: stdin names no message"));
    }
    Ok(ids)
}

fn number(text: &str) -> Result<u64, Failure> {
    text.parse().map_err(|_| Failure::usage(format!("--id: {text:?} is no message's number")))
}
