//! Appending parts on several connections at the same time.
//!
//! One thread reads, and waits when all connections are busy: memory holds two parts for each
//! connection at most, and what a connection makes of one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use indicatif::ProgressBar;
use slipring::{Error, ErrorKind, Load, LoadInfo, PartInfo, Retry};
use tokio::sync::{Mutex, mpsc, watch};
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
    /// The same, and it is not known whether the load is published.
    Unknown(Failure),
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
pub async fn publish(load: &Load, messages: u64) -> Result<LoadInfo, Broken> {
    published(|| load.publish(messages)).await
}

/// Calls the store as [`patiently`] does. What a try without an answer has done, the refusals of
/// later ones do not undo.
async fn published<T, F: Future<Output = Result<T, Error>>>(
    call: impl Fn() -> F,
) -> Result<T, Broken> {
    let may_be_done = AtomicBool::new(false);
    let noted = || async {
        call().await.inspect_err(|error| {
            if error.retry() == Retry::Unknown {
                may_be_done.store(true, Ordering::Relaxed);
            }
        })
    };
    patiently(noted).await.map_err(|error| match may_be_done.load(Ordering::Relaxed) {
        true => Broken::Unknown(error.into()),
        false => Broken::Failed(error.into()),
    })
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

/// What those who append share.
struct Shared {
    feed: Feed,
    parts: Mutex<mpsc::Receiver<(Chunk, u64)>>,
    /// Something failed: no further part is taken. All parts before the one that failed have been
    /// taken, so a bad line in one of them is still found.
    failed: watch::Sender<bool>,
    /// The reader failed: what it has read before is looked at, not appended.
    unread: Arc<AtomicBool>,
}

impl Feed {
    /// Appends all of a file; answers how many messages it has.
    pub async fn run(self, source: Source) -> Result<u64, Broken> {
        let connections = usize::from(self.connections);
        let (sender, parts) = mpsc::channel(connections);
        let unread = Arc::new(AtomicBool::new(false));
        let shared = Arc::new(Shared {
            feed: self,
            parts: Mutex::new(parts),
            failed: watch::Sender::new(false),
            unread: Arc::clone(&unread),
        });
        let mut tasks = JoinSet::new();
        for _ in 0..connections {
            let shared = Arc::clone(&shared);
            tasks.spawn(async move { shared.append_parts().await });
        }
        // Holds nothing of `shared`: it ends when all tasks that take parts have ended.
        let reading = tokio::task::spawn_blocking(move || {
            let read = read(source, &sender);
            unread.store(read.is_err(), Ordering::Release);
            read
        });
        let mut broken: Option<Broken> = None;
        while let Some(ended) = tasks.join_next().await {
            let ended = ended.unwrap_or_else(|error| Err(Broken::Failed(Failure::failed(error))));
            if let Err(another) = ended {
                shared.failed.send_replace(true);
                broken = Some(match broken {
                    None => another,
                    Some(first) => first.or_before(another),
                });
            }
        }
        match broken {
            // The reader is not waited for: stdin may be silent for ever.
            Some(broken) => Err(broken),
            None => reading.await.map_err(|error| Broken::Failed(Failure::failed(error)))?,
        }
    }
}

/// Reads parts until the input ends, or all receivers are gone; answers how many messages they
/// have.
fn read(mut source: Source, sender: &mpsc::Sender<(Chunk, u64)>) -> Result<u64, Broken> {
    let mut messages = 0;
    while let Some((chunk, bytes)) = source.next()? {
        messages += chunk.messages as u64;
        if sender.blocking_send((chunk, bytes)).is_err() {
            break;
        }
    }
    Ok(messages)
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
    /// Appends one part after the other until there is none any more, or something failed.
    async fn append_parts(&self) -> Result<(), Broken> {
        let mut failed = self.failed.subscribe();
        loop {
            let part = tokio::select! {
                biased;
                // The sender is there as long as `self`.
                _ = failed.wait_for(|failed| *failed) => return Ok(()),
                part = async { self.parts.lock().await.recv().await } => part,
            };
            let Some((chunk, bytes)) = part else { return Ok(()) };
            let done = match self.unread.load(Ordering::Acquire) {
                true => parse::messages(&chunk).map(drop),
                false => self.append(&chunk).await,
            };
            if done.is_err() {
                self.failed.send_replace(true);
                return done;
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What is told of a publication whose tries end with these errors, the last one first.
    async fn told_of(errors: Vec<Error>) -> Broken {
        let errors = Mutex::new(errors);
        published(|| async { Err::<(), _>(errors.lock().await.pop().unwrap()) }).await.unwrap_err()
    }

    #[tokio::test]
    async fn a_try_without_an_answer_is_not_forgotten_for_the_refusals_of_later_ones() {
        let lost = || Error::new(ErrorKind::StorageUnavailable, "cut").with_retry(Retry::Unknown);
        let refused = || Error::new(ErrorKind::StorageFull, "no room").with_retry(Retry::Later);
        assert!(matches!(told_of(vec![refused(), lost()]).await, Broken::Unknown(_)));
        assert!(matches!(told_of(vec![refused()]).await, Broken::Failed(_)));
    }
}
