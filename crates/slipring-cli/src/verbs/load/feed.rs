//! Appending parts on several connections at the same time.
//!
//! One thread reads, and waits when all connections are busy: memory holds two parts for each
//! connection at most, and what a connection makes of one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use indicatif::ProgressBar;
use slipring::{Error, ErrorKind, Load, LoadInfo, PartInfo};
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinSet;

use crate::failure::Failure;

use super::parse;
use super::source::{Chunk, Source};

/// How often a call is tried again while the store does not answer.
const TRIES_MAX: u32 = 6;
/// How long the first wait before that is; each is twice as long as the one before.
const FIRST_WAIT: Duration = Duration::from_millis(100);
/// Parts of a load that are looked at in one call.
const PARTS_AT_ONCE: u32 = 1000;

/// Why a load did not come to its end.
#[derive(Debug)]
pub enum Broken {
    /// A line of the file is bad.
    Line {
        /// Its number, from 1.
        line: u64,
        /// What is wrong with it.
        why: String,
    },
    /// Something else.
    Failed(Failure),
}

/// What is needed to append a file.
pub struct Feed {
    /// The load.
    pub load: Load,
    /// Its parts that are there already.
    pub known: Arc<BTreeMap<u32, PartInfo>>,
    /// How many append at the same time.
    pub connections: u8,
    /// Shows how far it is.
    pub bar: ProgressBar,
}

/// The parts that a load has.
pub async fn known_parts(load: &Load) -> Result<BTreeMap<u32, PartInfo>, Failure> {
    let (mut known, mut from) = (BTreeMap::new(), 0);
    loop {
        let parts = load.parts(from, PARTS_AT_ONCE).await?;
        let last = parts.last().map(|part| part.part);
        known.extend(parts.into_iter().map(|part| (part.part, part)));
        match last.and_then(|last| last.checked_add(1)) {
            Some(next) => from = next,
            None => return Ok(known),
        }
    }
}

/// Publishes a load of so many messages. It may be tried again, for a load is published once.
pub async fn publish(load: &Load, messages: u64) -> Result<LoadInfo, Failure> {
    Ok(patiently(|| load.publish(messages)).await?)
}

/// Calls the store, again while it cannot be reached.
async fn patiently<T, F: Future<Output = Result<T, Error>>>(
    call: impl Fn() -> F,
) -> Result<T, Error> {
    let mut wait = FIRST_WAIT;
    for _ in 1..TRIES_MAX {
        match call().await {
            Err(error) if error.kind() == ErrorKind::StorageUnavailable => {
                tokio::time::sleep(wait).await;
                wait *= 2;
            }
            answer => return answer,
        }
    }
    call().await
}

/// What the reader and those who append share.
struct Shared {
    feed: Feed,
    parts: Mutex<mpsc::Receiver<(Chunk, u64)>>,
    stop: AtomicBool,
    messages: AtomicU64,
}

impl Feed {
    /// Appends all of a file; answers how many messages it has.
    pub async fn run(self, mut source: Source) -> Result<u64, Broken> {
        let connections = usize::from(self.connections);
        let (sender, parts) = mpsc::channel(connections);
        let shared = Arc::new(Shared {
            feed: self,
            parts: Mutex::new(parts),
            stop: AtomicBool::new(false),
            messages: AtomicU64::new(0),
        });
        let mut tasks = JoinSet::new();
        for _ in 0..connections {
            let shared = Arc::clone(&shared);
            tasks.spawn(async move { shared.append_parts().await });
        }
        let reading = Arc::clone(&shared);
        tasks.spawn_blocking(move || {
            while !reading.stop.load(Ordering::Acquire)
                && let Some((chunk, bytes)) = source.next()?
            {
                let messages = chunk.messages as u64;
                if sender.blocking_send((chunk, bytes)).is_err() {
                    break;
                }
                reading.messages.fetch_add(messages, Ordering::Relaxed);
            }
            Ok(())
        });
        let interrupted = tokio::signal::ctrl_c();
        tokio::pin!(interrupted);
        let mut broken: Option<Broken> = None;
        loop {
            let ended = tokio::select! {
                ended = tasks.join_next() => ended,
                _ = &mut interrupted => {
                    shared.stop.store(true, Ordering::Release);
                    // A reader of stdin may wait for ever.
                    tasks.abort_all();
                    return Err(Broken::Failed(Failure::failed("interrupted")));
                }
            };
            let Some(ended) = ended else { break };
            let ended = ended.unwrap_or_else(|error| Err(Broken::Failed(Failure::failed(error))));
            if let Err(another) = ended {
                shared.stop.store(true, Ordering::Release);
                // The reader may wait for room; what it has read before is looked at all the same.
                broken = Some(match broken {
                    None => another,
                    Some(first) => first.or_before(another),
                });
            }
        }
        match broken {
            Some(broken) => Err(broken),
            None => Ok(shared.messages.load(Ordering::Relaxed)),
        }
    }
}

impl Broken {
    /// Of two the one to tell of: the first bad line, before all else.
    fn or_before(self, other: Broken) -> Broken {
        match (self, other) {
            (Broken::Line { line, why }, Broken::Line { line: other, .. }) if line <= other => {
                Broken::Line { line, why }
            }
            (_, bad @ Broken::Line { .. }) | (bad @ Broken::Line { .. }, _) => bad,
            (first, _) => first,
        }
    }
}

impl Shared {
    /// Appends one part after the other until there is none any more, or one is bad. After a bad
    /// one the others only look for one that is bad and comes before it.
    async fn append_parts(&self) -> Result<(), Broken> {
        loop {
            let Some((chunk, bytes)) = self.parts.lock().await.recv().await else { return Ok(()) };
            if self.stop.load(Ordering::Acquire) {
                parse::messages(&chunk)?;
                continue;
            }
            self.append(&chunk).await?;
            self.feed.bar.inc(bytes);
        }
    }

    async fn append(&self, chunk: &Chunk) -> Result<(), Broken> {
        let checksum = chunk.checksum();
        if let Some(known) = self.feed.known.get(&chunk.part) {
            let same = known.checksum == checksum && known.messages == chunk.messages as u64;
            return if same { Ok(()) } else { Err(changed(chunk)) };
        }
        let messages = parse::messages(chunk)?;
        let append = || self.feed.load.append(chunk.part, checksum, messages.clone());
        match patiently(append).await {
            Ok(_) => Ok(()),
            Err(error) => Err(refused(chunk, error)),
        }
    }
}

/// The error for a part of the file that is not what it was when the load was begun.
fn changed(chunk: &Chunk) -> Broken {
    Broken::Failed(Failure::failed(format!(
        "lines {} to {} are not those that were appended before: the file has changed",
        chunk.line_of(0),
        chunk.last_line()
    )))
}

/// The error of a part that was refused: that of a line where it is about one.
fn refused(chunk: &Chunk, error: Error) -> Broken {
    let index = error.context().iter().find(|(key, _)| *key == "index");
    let index = index.and_then(|(_, text)| text.parse::<usize>().ok());
    match index {
        Some(index) => Broken::Line { line: chunk.line_of(index), why: error.message().to_owned() },
        None => Broken::Failed(error.into()),
    }
}
