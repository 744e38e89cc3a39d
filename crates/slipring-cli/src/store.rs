//! Which store a verb works on, and opening it.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use slipring::stores::MemoryStore;
use slipring::{Durability, Engine, EngineOptions, Store};
use slipring_sqlite::{SqliteOptions, SqliteStore};

use crate::failure::Failure;

/// A store as it is written on the command line: `sqlite:PATH` or `memory:`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreSpec {
    /// One SQLite file.
    Sqlite(PathBuf),
    /// In memory: nothing survives the process.
    Memory,
}

impl FromStr for StoreSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<StoreSpec, String> {
        match text.split_once(':') {
            Some(("sqlite", path)) if !path.is_empty() => Ok(StoreSpec::Sqlite(path.into())),
            Some(("memory", "")) => Ok(StoreSpec::Memory),
            _ => Err(format!("{text:?} is no store; use sqlite:PATH or memory:")),
        }
    }
}

impl fmt::Display for StoreSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreSpec::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            StoreSpec::Memory => f.write_str("memory:"),
        }
    }
}

impl StoreSpec {
    /// The store in words, for the line that tells where messages are kept.
    pub fn in_words(&self, durability: Durability) -> String {
        let durability = match durability {
            Durability::Full => "full",
            Durability::Relaxed => "relaxed",
        };
        match self {
            StoreSpec::Sqlite(path) => format!("{} (durability {durability})", path.display()),
            StoreSpec::Memory => "memory (nothing survives this process)".to_owned(),
        }
    }

    /// Opens the store and an engine over it.
    ///
    /// # Errors
    /// What the store says: a file from a newer version, a damaged file, no permission.
    pub async fn open(&self) -> Result<Engine, Failure> {
        let options = EngineOptions::default();
        let store: Arc<dyn Store> = match self {
            StoreSpec::Memory => {
                MemoryStore::with_randomness(Arc::clone(&options.randomness), &options.waits)
            }
            StoreSpec::Sqlite(path) => open_sqlite(path.clone(), &options).await?,
        };
        let engine = Engine::open(store, options).await?;
        let queues = engine.queues().await?.len();
        tracing::info!(store = %self, queues, "store opened");
        Ok(engine)
    }
}

async fn open_sqlite(path: PathBuf, options: &EngineOptions) -> Result<Arc<dyn Store>, Failure> {
    let sqlite = SqliteOptions {
        waits: options.waits.clone(),
        randomness: Arc::clone(&options.randomness),
        ..SqliteOptions::default()
    };
    tracing::debug!(path = %path.display(), "opening the store");
    // Recovery and migration block.
    let opened = tokio::task::spawn_blocking(move || SqliteStore::open(path, sqlite)).await;
    Ok(opened.map_err(Failure::failed)??)
}
