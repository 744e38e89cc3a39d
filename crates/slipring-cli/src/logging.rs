//! Logs to stderr: for people by default, as JSON lines on demand.

use std::io::IsTerminal;

use clap::ValueEnum;
use serde::Deserialize;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::SubscriberBuilder;

use crate::failure::Failure;

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// One readable line each.
    #[default]
    Human,
    /// One JSON object per line.
    Json,
}

impl std::fmt::Display for LogFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            LogFormat::Human => "human",
            LogFormat::Json => "json",
        })
    }
}

/// Reads a filter: a level (`warn`), or a list such as `info,slipring_server=debug`.
///
/// # Errors
/// A filter that cannot be read, or a word in it that is no level: as the name of a module it would
/// turn off the logs of all others.
pub fn parse_filter(text: &str) -> Result<String, String> {
    EnvFilter::try_new(text).map_err(|error| format!("{text:?}: {error}; {USE}"))?;
    // With a bracket it is about a span, which needs no level.
    let words = text.split(',').filter(|word| !word.contains(['=', '[', ']']));
    match words.into_iter().find(|word| word.parse::<LevelFilter>().is_err()) {
        None => Ok(text.to_owned()),
        Some(word) => Err(format!("{word:?} is no level; {USE}")),
    }
}

const USE: &str = "use off, error, warn, info, debug or trace, or a list such as \
                   info,slipring_server=debug";

/// Starts logging with a filter that [`parse_filter()`] takes.
///
/// # Errors
/// Any other filter.
pub fn start(filter: &str, format: LogFormat) -> Result<(), Failure> {
    let levels = EnvFilter::try_new(filter)
        .map_err(|error| Failure::usage(format!("log filter {filter:?}: {error}")))?;
    let builder: SubscriberBuilder = tracing_subscriber::fmt();
    let builder = builder
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_env_filter(levels);
    // A second call in one process would fail; the first one's setting stands.
    let _ = match format {
        LogFormat::Human => builder.with_target(false).try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
    Ok(())
}
