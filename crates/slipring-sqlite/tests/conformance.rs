//! The shared suite over the SQLite store.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use slipring::{Error, Store};
use slipring_sqlite::{SqliteOptions, SqliteStore};

struct Sqlite;

#[async_trait::async_trait]
impl slipring_conformance::Factory for Sqlite {
    async fn open(&self, place: &Path) -> Result<Arc<dyn Store>, Error> {
        Ok(SqliteStore::open(place.join("slipring.db"), SqliteOptions::default())?)
    }
}

fn main() -> ExitCode {
    slipring_conformance::main(Sqlite)
}
