//! The shared suite over the PostgreSQL store, in one throw-away cluster with a database for each
//! place.

mod cluster;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use cluster::Cluster;
use slipring::{Error, Store};
use slipring_postgres::{PostgresOptions, PostgresStore};

struct Postgres(Cluster);

#[async_trait::async_trait]
impl slipring_conformance::Factory for Postgres {
    async fn open(&self, place: &Path) -> Result<Arc<dyn Store>, Error> {
        let address = self.0.database_of(place).await;
        let options = PostgresOptions { connections: 6, ..PostgresOptions::default() };
        Ok(PostgresStore::open(&address, options).await?)
    }
}

fn main() -> ExitCode {
    slipring_conformance::main(Postgres(Cluster::start()))
}
