//! `slipring load`: a file of messages that become ready at one moment or not at all.
//!
//! `source` reads the file in parts, `parse` makes messages of them, `feed` appends them on several
//! connections.

mod feed;
mod parse;
mod source;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use serde_json::json;
use slipring::clock::monotonic_ns;
use slipring::{Engine, Error, ErrorKind, Load, LoadId, LoadInfo, LoadState, Queue, Retry};

use crate::failure::Failure;
use crate::logging::{self, LogFormat};
use crate::print;
use crate::settings::FileSettings;
use crate::store::{StoreParser, StoreSpec};

use feed::{Broken, Feed};
use source::Source;

#[derive(Debug, Args)]
pub struct LoadArgs {
    /// The queue: a standard one without a delay
    queue: String,
    /// The file, or - for stdin
    #[arg(required_unless_present_any = ["list", "abandon"])]
    file: Option<PathBuf>,
    /// How many connections append at the same time
    #[arg(long, value_name = "D", default_value_t = 4)]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=64))]
    connections: u8,
    /// What a line is [default: csv for *.csv, lines for *.txt, else ndjson]
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Go on with a load that was broken off, with the same file
    #[arg(long, value_name = "ID")]
    resume: Option<u64>,
    /// Keep what was appended when a line is bad, to go on with --resume when it is mended
    #[arg(long)]
    keep: bool,
    /// Show the loads of the queue that are open, or were published in the last 24 hours
    #[arg(long, conflicts_with_all = ["file", "resume", "keep", "abandon"])]
    list: bool,
    /// End a load that was broken off, of which nothing is left
    #[arg(long, value_name = "ID", conflicts_with_all = ["file", "resume", "keep"])]
    abandon: Option<u64>,
    /// The store: sqlite:PATH or postgres://…; a server may run on it [default: that of the
    /// configuration file]
    #[arg(long, value_name = "STORE", env = "SLIPRING_STORE", hide_env_values = true)]
    #[arg(value_parser = StoreParser)]
    store: Option<StoreSpec>,
    /// Configuration file; default ./slipring.toml if there, else /etc/slipring/slipring.toml
    #[arg(long, value_name = "FILE", env = "SLIPRING_CONFIG")]
    config: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What the lines of a file are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A JSON object each: body or body_base64, priority, lease_ms, group, headers
    Ndjson,
    /// Records under a head that names columns: body, priority, lease_ms, group, header.NAME
    Csv,
    /// A body each
    Lines,
}

impl Format {
    fn of(path: &Path) -> Format {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("csv") => Format::Csv,
            Some("txt") => Format::Lines,
            _ => Format::Ndjson,
        }
    }
}

impl LoadArgs {
    pub async fn run(self) -> Result<(), Failure> {
        let engine = self.open().await?;
        let done = self.run_on(&engine).await;
        tokio::select! {
            () = engine.shutdown() => {}
            // A second signal ends the wait.
            _ = tokio::signal::ctrl_c() => {}
        }
        done
    }

    async fn open(&self) -> Result<Engine, Failure> {
        logging::start("warn", LogFormat::Human)?;
        let store = match &self.store {
            Some(store) => store.clone(),
            None => {
                let mut found = FileSettings::find(self.config.as_deref())?;
                let store = found.values.store(found.path.as_deref())?;
                store.ok_or_else(|| Failure::usage("name the store with --store STORE"))?
            }
        };
        match &store {
            StoreSpec::Memory => {
                let text = "--store memory: holds nothing after this call; name a file";
                return Err(Failure::usage(text));
            }
            StoreSpec::Sqlite(path) if !path.exists() => {
                return Err(Failure::failed(format!("--store {store}: no such file")));
            }
            StoreSpec::Sqlite(_) | StoreSpec::Postgres(_) => {}
        }
        store.open_for(false, usize::from(self.connections) + 2).await
    }

    async fn run_on(&self, engine: &Engine) -> Result<(), Failure> {
        let queue = engine.queue(&self.queue).await?;
        if self.list {
            return self.show(&queue.loads().await?);
        }
        if let Some(id) = self.abandon {
            let (load, _) = queue.load(LoadId(id)).await?;
            load.abandon().await?;
            return match self.json {
                true => print::json(&json!({ "load": id, "state": "abandoned" })),
                false => print::line(&format!("load {id} is over, nothing of it is left")),
            };
        }
        let Some(path) = &self.file else { return Err(Failure::usage("name a file")) };
        let since_ns = monotonic_ns();
        let info = self.load(engine, &queue, path).await?;
        let seconds = monotonic_ns().saturating_sub(since_ns) as f64 / 1e9;
        if self.json {
            return print::json(&json!({
                "load": info.id, "queue": self.queue, "state": info.state, "parts": info.parts,
                "messages": info.messages, "bytes": info.bytes, "seconds": seconds,
            }));
        }
        let LoadInfo { id, messages, .. } = info;
        let queue = &self.queue;
        print::line(&format!(
            "{messages} messages loaded into {queue} in {seconds:.1} s (load {id})"
        ))
    }

    /// Appends the file and publishes it.
    async fn load(&self, engine: &Engine, queue: &Queue, path: &Path) -> Result<LoadInfo, Failure> {
        let format = self.format.unwrap_or_else(|| Format::of(path));
        let limit = queue.info().settings.message_bytes_max;
        let capabilities = engine.capabilities();
        let source = Source::open(path, format, limit, &capabilities)?;
        let (load, known) = match self.resume {
            None => (queue.begin_load().await?, None),
            Some(id) => {
                let (load, info) = queue.load(LoadId(id)).await?;
                if info.state == LoadState::Published {
                    return Ok(info);
                }
                let known = feed::known_parts(&load).await?;
                (load, Some(known))
            }
        };
        let bar = progress(&source);
        let feed = Feed {
            load: load.clone(),
            known: Arc::new(known.unwrap_or_default()),
            connections: self.connections,
            bar: bar.clone(),
        };
        // Ctrl-C ends the process no more from here on: each wait has to listen.
        let mut stop = pin!(tokio::signal::ctrl_c());
        let interrupted = || Failure::failed("interrupted");
        let fed = tokio::select! {
            fed = feed.run(source) => fed,
            _ = &mut stop => Err(Broken::Failed(interrupted())),
        };
        let published = match fed {
            Ok(messages) => tokio::select! {
                published = feed::publish(&load, messages) => published,
                _ = &mut stop => Err(Broken::Unknown(interrupted())),
            },
            Err(broken) => Err(broken),
        };
        bar.finish_and_clear();
        match published {
            Ok(info) => Ok(info),
            Err(broken) => Err(self.broken_off(&load, broken).await),
        }
    }

    /// What is told of a load that did not come to its end.
    async fn broken_off(&self, load: &Load, broken: Broken) -> Failure {
        let id = load.id();
        let open = format!(
            "load {id} is open and none of its messages is in the queue: go on with --resume {id}, \
             or end it with --abandon {id}"
        );
        match broken {
            Broken::Line { line, why } if !self.keep => {
                let failure = Failure::failed(format!("line {line}: {why}"));
                let abandoned = tokio::select! {
                    abandoned = load.abandon() => abandoned,
                    _ = tokio::signal::ctrl_c() => Err(cut_off()),
                };
                match abandoned {
                    Ok(()) => failure.with("nothing was loaded"),
                    Err(error) if error.retry() == Retry::Unknown => failure.with(format!(
                        "nothing was loaded; it is not known whether load {id} was ended: --list \
                         tells, and --abandon {id} ends it ({error})"
                    )),
                    Err(error) => failure.with(format!("{open} ({error})")),
                }
            }
            Broken::Line { line, why } => Failure::failed(format!("line {line}: {why}")).with(open),
            Broken::Failed(failure) => failure.with(open),
            Broken::Unknown(failure) => failure.with(format!(
                "it is not known whether load {id} is published: --resume {id} says so, or goes on \
                 with it"
            )),
        }
    }

    fn show(&self, loads: &[LoadInfo]) -> Result<(), Failure> {
        if self.json {
            return print::json(&json!(loads));
        }
        let head = ["load", "state", "parts", "messages", "bytes", "begun", "touched"];
        let mut table = print::table(&head, 2..5);
        for load in loads {
            let state = match load.state {
                LoadState::Open => "open",
                LoadState::Published => "published",
            };
            table.add_row([
                load.id.to_string(),
                state.to_owned(),
                load.parts.to_string(),
                load.messages.to_string(),
                load.bytes.to_string(),
                print::moment(load.begun_at.as_millis()),
                print::moment(load.touched_at.as_millis()),
            ]);
        }
        print::line(&table.to_string())
    }
}

/// The error of a call whose answer is not waited for any more.
fn cut_off() -> Error {
    Error::new(ErrorKind::Closed, "interrupted").with_retry(Retry::Unknown)
}

/// A bar over the bytes of the file, or a count of what came from stdin.
fn progress(source: &Source) -> indicatif::ProgressBar {
    match source.bytes() {
        Some(bytes) if std::io::stderr().is_terminal() => print::progress_bytes("loaded", bytes),
        _ => print::progress("loaded", "bytes"),
    }
}
