//! The flags for a queue's settings. The word `none` takes a limit or a target away.

use std::time::Duration;

use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};

use crate::failure::Failure;
use crate::print::{millis, parse_duration};

#[derive(Debug, Clone, Copy, ValueEnum)]
enum DurabilityArg {
    Full,
    Relaxed,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ScopeArg {
    Queue,
    Group,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Settings")]
pub struct QueueSettingsArgs {
    /// How long a receiver may work on a message, such as 30s
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    visibility_timeout: Option<Duration>,
    /// Deliveries before a failing message is dead-lettered or parked, or none
    #[arg(long, value_name = "COUNT")]
    max_attempts: Option<String>,
    /// Where messages go whose attempts are used up, or none to park them in place
    #[arg(long, value_name = "QUEUE")]
    dead_letter: Option<String>,
    /// The wait after a failure: none, fixed:5s or exponential:1s:1h
    #[arg(long, value_name = "HOW", value_parser = backoff)]
    backoff: Option<Value>,
    /// How long a message may stay, such as 4d, or none
    #[arg(long, value_name = "TIME")]
    retention: Option<String>,
    /// The delay of messages sent without one
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    delay: Option<Duration>,
    /// What an acknowledged send has survived: loss of power, or kill -9
    #[arg(long, value_name = "WHAT")]
    durability: Option<DurabilityArg>,
    /// How long a deduplication id is remembered
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    dedup_window: Option<Duration>,
    /// Within what a deduplication id is unique
    #[arg(long, value_name = "WHAT")]
    dedup_scope: Option<ScopeArg>,
    /// Most messages the queue may hold, or none
    #[arg(long, value_name = "COUNT")]
    messages_max: Option<String>,
    /// Most bytes the queue may hold, or none
    #[arg(long, value_name = "BYTES")]
    bytes_max: Option<String>,
    /// Largest message
    #[arg(long, value_name = "BYTES")]
    message_bytes_max: Option<u64>,
    /// Most messages under lease at a time
    #[arg(long, value_name = "COUNT")]
    in_flight_max: Option<u64>,
}

impl QueueSettingsArgs {
    /// What was given, as the admin API takes it.
    ///
    /// # Errors
    /// A value that is neither a number or duration nor `none`.
    pub fn changes(&self) -> Result<Map<String, Value>, Failure> {
        let time = |time: Option<Duration>| time.map(|time| json!(millis(time)));
        let retention = or_none("--retention", &self.retention, |text| {
            parse_duration(text).map(|time| json!(millis(time)))
        })?;
        let dead_letter = or_none("--dead-letter", &self.dead_letter, |text| Ok(json!(text)))?;
        let changes = [
            ("visibility_timeout_ms", time(self.visibility_timeout)),
            ("max_attempts", or_none("--max-attempts", &self.max_attempts, count)?),
            ("dead_letter", dead_letter),
            ("backoff", self.backoff.clone()),
            ("retention_ms", retention),
            ("delay_ms", time(self.delay)),
            ("durability", self.durability.map(|word| named(&word))),
            ("dedup_window_ms", time(self.dedup_window)),
            ("dedup_scope", self.dedup_scope.map(|word| named(&word))),
            ("messages_max", or_none("--messages-max", &self.messages_max, count)?),
            ("bytes_max", or_none("--bytes-max", &self.bytes_max, count)?),
            ("message_bytes_max", self.message_bytes_max.map(Value::from)),
            ("in_flight_max", self.in_flight_max.map(Value::from)),
        ];
        let given = changes.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
        Ok(given.collect())
    }
}

fn named(word: &impl ValueEnum) -> Value {
    word.to_possible_value().map(|value| json!(value.get_name())).unwrap_or_default()
}

fn or_none(
    flag: &str,
    given: &Option<String>,
    read: impl Fn(&str) -> Result<Value, String>,
) -> Result<Option<Value>, Failure> {
    match given.as_deref() {
        None => Ok(None),
        Some("none") => Ok(Some(Value::Null)),
        Some(text) => {
            read(text).map(Some).map_err(|error| Failure::usage(format!("{flag} {text}: {error}")))
        }
    }
}

fn count(text: &str) -> Result<Value, String> {
    text.parse::<u64>().map(Value::from).map_err(|_| "use a number, or none".to_owned())
}

fn backoff(text: &str) -> Result<Value, String> {
    let parts: Vec<&str> = text.split(':').collect();
    let time = |text: &str| parse_duration(text).map(millis);
    match parts.as_slice() {
        ["none"] => Ok(json!({ "kind": "none" })),
        ["fixed", delay] => Ok(json!({ "kind": "fixed", "delay_ms": time(delay)? })),
        ["exponential", base, max] => Ok(json!({
            "kind": "exponential",
            "base_ms": time(base)?,
            "max_ms": time(max)?,
        })),
        _ => Err("use none, fixed:5s or exponential:1s:1h".to_owned()),
    }
}
