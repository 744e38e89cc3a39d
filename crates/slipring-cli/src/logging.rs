//! Logs to stderr: for people by default, as JSON lines on demand. What the libraries under this
//! program have to say below `warn` stays out unless it is asked for by name.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::time::{Duration, UNIX_EPOCH};

use clap::ValueEnum;
use serde::Deserialize;
use serde_json::json;
use slipring::Timestamp;
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

/// What the targets of this program and its crates begin with.
const OURS: &str = "slipring";

/// The filter with its levels for everything turned into levels for this program, and `warn` for
/// the libraries under it.
fn ours(filter: &str) -> String {
    let level = |word: &str| match word.contains(['=', '[', ']']) {
        true => None,
        false => word.parse::<LevelFilter>().ok(),
    };
    // The last of several holds, as it does without this.
    let wide = filter.split(',').filter_map(level).next_back().filter(|l| *l > LevelFilter::WARN);
    let Some(wide) = wide else { return filter.to_owned() };
    let named = filter.split(',').filter(|word| level(word).is_none());
    // The level of this program comes first: a later word that names one of its targets overrides
    // it.
    let words = [format!("{},{OURS}={wide}", LevelFilter::WARN)];
    words.into_iter().chain(named.map(str::to_owned)).collect::<Vec<_>>().join(",")
}

/// Whether the arguments of a program, or else its environment, ask for a server's log in JSON;
/// for errors in those arguments themselves.
pub fn is_json_asked_for(arguments: impl Iterator<Item = OsString>) -> bool {
    let arguments: Vec<String> =
        arguments.skip(1).map(|text| text.to_string_lossy().into_owned()).collect();
    if arguments.first().is_none_or(|verb| verb != "serve") {
        return false;
    }
    let joined = |text: &String| text.strip_prefix("--log-format=").map(str::to_owned);
    let apart = |pair: &[String]| match pair {
        [flag, value] if flag == "--log-format" => Some(value.clone()),
        _ => None,
    };
    let given = arguments.iter().find_map(joined).or_else(|| arguments.windows(2).find_map(apart));
    let given = given.or_else(|| std::env::var("SLIPRING_LOG_FORMAT").ok());
    given.is_some_and(|format| format == LogFormat::Json.to_string())
}

/// An error as a line of the log in JSON, for one that ends the program: no filter keeps it out,
/// and it may come before there is a log.
pub fn error_in_json(error: &Failure, now: Timestamp) -> String {
    let at = UNIX_EPOCH + Duration::from_millis(now.as_millis());
    let timestamp = humantime::format_rfc3339_micros(at).to_string();
    let message = error.to_string();
    json!({ "timestamp": timestamp, "level": "ERROR", "message": message, "target": OURS })
        .to_string()
}

/// Writes to stderr what ends the program. An error of the write is ignored.
pub fn last_words(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Starts logging with a filter that [`parse_filter()`] takes.
///
/// # Errors
/// Any other filter.
pub fn start(filter: &str, format: LogFormat) -> Result<(), Failure> {
    let levels = EnvFilter::try_new(ours(filter))
        .map_err(|error| Failure::usage(format!("log filter {filter:?}: {error}")))?;
    let builder: SubscriberBuilder = tracing_subscriber::fmt();
    let builder = builder
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        // A line that cannot be written is lost. To tell of it on the same stderr would panic.
        .log_internal_errors(false)
        .with_env_filter(levels);
    // A second call in one process would fail; the first one's setting stands.
    let _ = match format {
        LogFormat::Human => builder.with_target(false).try_init(),
        LogFormat::Json => {
            tell_faults();
            builder.json().flatten_event(true).try_init()
        }
    };
    Ok(())
}

/// Makes a fault of a thread a line of the log, which is read by programs, in place of some lines
/// of text. Where the log is off, it is told as it is without this.
fn tell_faults() {
    let told_before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |fault| {
        if !tracing::enabled!(tracing::Level::ERROR) {
            return told_before(fault);
        }
        let payload = fault.payload();
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let backtrace = Backtrace::capture();
        let captured = backtrace.status() == BacktraceStatus::Captured;
        tracing::error!(
            location = fault.location().map(tracing::field::display),
            backtrace = captured.then(|| tracing::field::display(&backtrace)),
            "a fault: {}",
            text.unwrap_or("it says nothing")
        );
    }));
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Sink(Arc<Mutex<Vec<u8>>>);

    impl Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// The messages that a filter lets through.
    fn logged(filter: &str) -> Vec<String> {
        let (sink, levels) = (Sink::default(), EnvFilter::new(ours(filter)));
        let writer = sink.clone();
        let builder = tracing_subscriber::fmt().with_writer(move || writer.clone()).json();
        let subscriber = builder.flatten_event(true).with_env_filter(levels).finish();
        tracing::subscriber::with_default(subscriber, || {
            tracing::debug!(target: "slipring_server::http", "ours, debug");
            tracing::info!(target: "slipring", "ours, info");
            tracing::warn!(target: "slipring_sqlite", "ours, warn");
            tracing::debug!(target: "hyper::proto", "theirs, debug");
            tracing::info!(target: "tokio_postgres::connection", "theirs, info");
            tracing::warn!(target: "rustls", "theirs, warn");
        });
        let text = String::from_utf8(sink.0.lock().unwrap().clone()).unwrap();
        let message = |line: &str| {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            line["message"].as_str().unwrap().to_owned()
        };
        text.lines().map(message).collect()
    }

    #[test]
    fn libraries_below_warn_are_heard_only_by_name() {
        let warnings = ["ours, warn", "theirs, warn"];
        assert_eq!(logged("warn"), warnings);
        let info = [&["ours, info"][..], &warnings].concat();
        assert_eq!(logged("info"), info);
        let debug = [&["ours, debug"][..], &info].concat();
        for filter in ["debug", "TRACE", "info,debug", "info,slipring_server=debug"] {
            assert_eq!(logged(filter), debug, "{filter}");
        }
        assert_eq!(logged("debug,slipring=info,rustls=off"), ["ours, info", "ours, warn"]);
        let asked = logged("debug,hyper=debug,tokio_postgres=info");
        assert!(asked.contains(&"theirs, debug".to_owned()), "{asked:?}");
        assert!(asked.contains(&"theirs, info".to_owned()), "{asked:?}");
        assert_eq!(logged("off"), Vec::<String>::new());
    }

    /// Set only for the child of the test below: the filter of its log.
    const FAULTY: &str = "SLIPRING_TEST_FAULTY";

    /// Not a test by itself: what that child does.
    #[test]
    #[allow(clippy::panic)]
    fn a_process_with_a_fault() {
        let Ok(filter) = std::env::var(FAULTY) else { return };
        start(&filter, LogFormat::Json).unwrap();
        let faulty = std::thread::spawn(|| panic!("something\nis wrong"));
        assert!(faulty.join().is_err());
    }

    #[test]
    fn a_fault_is_one_line_of_a_log_in_json_and_is_not_lost_where_there_is_none() {
        let stderr = |filter: &str| {
            let mut child = std::process::Command::new(std::env::current_exe().unwrap());
            child.args(["--exact", "logging::tests::a_process_with_a_fault", "--nocapture"]);
            child.env(FAULTY, filter).env_remove("RUST_BACKTRACE");
            String::from_utf8(child.output().unwrap().stderr).unwrap()
        };
        let line: serde_json::Value = serde_json::from_str(&stderr("error")).unwrap();
        assert_eq!(line["message"], "a fault: something\nis wrong");
        let location = line["location"].as_str().unwrap();
        assert!(location.contains("logging.rs:"), "{line}");
        assert!(line.get("backtrace").is_none(), "{line}");
        assert!(stderr("off").contains("something\nis wrong"));
    }

    #[test]
    fn an_error_that_ends_the_program_is_one_line_of_json() {
        let error = Failure::failed("port \"1\"\nis taken");
        let line = error_in_json(&error, Timestamp::from_millis(1_700_000_000_123));
        assert!(!line.contains('\n'), "{line}");
        let line: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(line["message"], "port \"1\"\nis taken");
        assert_eq!(line["timestamp"], "2023-11-14T22:13:20.123000Z");
        assert_eq!((&line["level"], &line["target"]), (&json!("ERROR"), &json!("slipring")));
    }
}
