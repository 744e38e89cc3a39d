//! Which store a verb works on, and opening it.

use std::ffi::OsStr;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use clap::builder::TypedValueParser;
use clap::error::ErrorKind;
use clap::{Arg, Command};
use slipring::stores::MemoryStore;
use slipring::{Durability, Engine, EngineOptions, ObstacleAges, Obstacles, Store, SystemClock};
use slipring_postgres::{Address, PostgresOptions, PostgresStore, WhenToMigrate};
use slipring_sqlite::{SqliteOptions, SqliteStore};

use crate::failure::Failure;
use crate::secrets;

/// Where a password for PostgreSQL is looked for when the address has none.
const PASSWORD: &str = "PGPASSWORD";

/// A store as it is written on the command line: `sqlite:PATH`, `postgres://…` or `memory:`. It is
/// shown without its password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreSpec {
    /// One SQLite file.
    Sqlite(PathBuf),
    /// A PostgreSQL database.
    Postgres(Box<Address>),
    /// In memory: nothing survives the process.
    Memory,
}

const USE: &str = "use sqlite:PATH, postgres://USER@HOST:PORT/DATABASE or memory:";

impl FromStr for StoreSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<StoreSpec, String> {
        if Address::is_one(text) {
            return text.parse().map(|address| StoreSpec::Postgres(Box::new(address)));
        }
        match text.split_once(':') {
            // No file's name has such parts: it is an address with a password.
            Some(("sqlite", path)) if has_password(path) => {
                Err(format!("what follows sqlite: is no path; {USE}"))
            }
            Some(("sqlite", path)) if !path.is_empty() => Ok(StoreSpec::Sqlite(path.into())),
            Some(("memory", "")) => Ok(StoreSpec::Memory),
            // It may be an address with a password, misspelt in any way.
            Some((word, _)) if word.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
                Err(format!("a text that begins with {word}: is no store; {USE}"))
            }
            _ => Err(format!("the text is no store; {USE}")),
        }
    }
}

/// Whether a text has the parts `user:password@host`.
fn has_password(text: &str) -> bool {
    text.rsplit_once('@').is_some_and(|(before, _)| before.contains(':'))
        || text.contains("://") && secrets::hidden(text) != text
}

impl fmt::Display for StoreSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreSpec::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            StoreSpec::Postgres(address) => address.fmt(f),
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
            StoreSpec::Postgres(address) => format!("{address} (durability {durability})"),
            StoreSpec::Memory => "memory (nothing survives this process)".to_owned(),
        }
    }

    /// Opens the store and an engine over it. With `make` an empty database gets its schema; a
    /// file that is not there is always made.
    ///
    /// # Errors
    /// What the store says: written by a newer version, damaged, not reachable, no permission.
    pub async fn open(&self, make: bool) -> Result<Engine, Failure> {
        self.open_for(make, 0).await
    }

    /// As [`StoreSpec::open`], with so many connections to a database at least.
    ///
    /// # Errors
    /// As there.
    pub async fn open_for(&self, make: bool, connections: usize) -> Result<Engine, Failure> {
        let (store, options) = self.open_store(make, connections).await?;
        self.run(store, options).await
    }

    /// As [`StoreSpec::open`], and answers what held the store up before the engine began to work
    /// in the background.
    ///
    /// # Errors
    /// As there.
    pub async fn open_after_look(&self) -> Result<(Engine, Obstacles), Failure> {
        let (store, options) = self.open_store(false, 0).await?;
        let clock = store.clock().unwrap_or_else(|| Arc::new(SystemClock::new()));
        let obstacles = store.obstacles(&ObstacleAges::default(), clock.now()).await?;
        Ok((self.run(store, options).await?, obstacles))
    }

    async fn open_store(
        &self,
        make: bool,
        connections: usize,
    ) -> Result<(Arc<dyn Store>, EngineOptions), Failure> {
        let options = EngineOptions::default();
        let store: Arc<dyn Store> = match self {
            StoreSpec::Memory => {
                MemoryStore::with_randomness(Arc::clone(&options.randomness), &options.waits)
            }
            StoreSpec::Sqlite(path) => open_sqlite(path.clone(), &options).await?,
            StoreSpec::Postgres(address) => {
                let when = if make { WhenToMigrate::Empty } else { WhenToMigrate::Never };
                let mut postgres = PostgresOptions { migrate: when, ..postgres_options(&options) };
                postgres.connections = postgres.connections.max(connections);
                PostgresStore::open(&with_password(address), postgres).await?
            }
        };
        Ok((store, options))
    }

    async fn run(&self, store: Arc<dyn Store>, options: EngineOptions) -> Result<Engine, Failure> {
        let engine = Engine::open(store, options).await?;
        let queues = engine.queues().await?.len();
        tracing::info!(store = %self, queues, "store opened");
        Ok(engine)
    }
}

/// The address with the password that stands in the environment, if it has none of its own.
pub fn with_password(address: &Address) -> Address {
    address.clone().or_password(std::env::var(PASSWORD).ok())
}

fn postgres_options(options: &EngineOptions) -> PostgresOptions {
    PostgresOptions {
        waits: options.waits.clone(),
        randomness: Arc::clone(&options.randomness),
        ..PostgresOptions::default()
    }
}

/// Reads a store from the command line. What is wrong with it is told without repeating it, for a
/// password may be in it.
#[derive(Debug, Clone)]
pub struct StoreParser;

impl TypedValueParser for StoreParser {
    type Value = StoreSpec;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<StoreSpec, clap::Error> {
        let name = argument.map_or_else(|| "--store".to_owned(), |argument| argument.to_string());
        let parsed = value.to_str().ok_or_else(|| "it is no text".to_owned());
        parsed.and_then(str::parse).map_err(|why: String| {
            let text = format!("invalid value for '{name}': {why}\n");
            clap::Error::raw(ErrorKind::ValueValidation, text).with_cmd(command)
        })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_shown_as_it_is_written_but_for_its_password() {
        for (text, shown) in [
            ("sqlite:a/b.db", "sqlite:a/b.db"),
            ("memory:", "memory:"),
            ("postgres://me:secret@db/q", "postgres://me:***@db/q"),
        ] {
            assert_eq!(text.parse::<StoreSpec>().unwrap().to_string(), shown);
        }
    }

    #[test]
    fn what_is_no_store_is_refused_without_its_password() {
        for text in [
            "file.db",
            "sqlite:",
            "secret",
            "password=secret host=db",
            "postgress://me:secret@db/q",
            "postgres:/me:secret/q",
            "postgres:me:secret",
            "postgres://me:secret@/",
            "postgres://me:secret/q",
            "sqlite:postgres://me:secret@db/q",
            "sqlite://me:secret@db/q",
        ] {
            let error = text.parse::<StoreSpec>().unwrap_err();
            assert!(error.contains("use ") && !error.contains("secret"), "{error}");
        }
    }
}
