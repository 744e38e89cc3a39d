//! The PostgreSQL database that a verb of the operator works on.

use std::path::PathBuf;

use clap::Args;
use slipring_postgres::{Address, PostgresOptions};

use crate::failure::Failure;
use crate::logging::{self, LogFormat};
use crate::settings::FileSettings;
use crate::store::{StoreParser, StoreSpec, with_password};

/// Names the database as `serve` does, so that the same words reach the same place.
#[derive(Debug, Args)]
pub struct DatabaseArgs {
    /// The database, postgres://USER@HOST/DATABASE; its password may stand in PGPASSWORD
    #[arg(long, value_name = "STORE", env = "SLIPRING_STORE", hide_env_values = true)]
    #[arg(value_parser = StoreParser)]
    store: Option<StoreSpec>,
    /// Configuration file; default ./slipring.toml if there, else /etc/slipring/slipring.toml
    #[arg(long, value_name = "FILE", env = "SLIPRING_CONFIG")]
    config: Option<PathBuf>,
}

impl DatabaseArgs {
    /// The address, and what to connect with.
    ///
    /// # Errors
    /// No store, another kind of store, a configuration that cannot be used.
    pub fn find(self) -> Result<(Address, PostgresOptions), Failure> {
        logging::start("warn", LogFormat::Human)?;
        let store = match self.store {
            Some(store) => Some(store),
            None => {
                let mut found = FileSettings::find(self.config.as_deref())?;
                found.values.store(found.path.as_deref())?
            }
        };
        match store {
            Some(StoreSpec::Postgres(address)) => {
                Ok((with_password(&address), PostgresOptions::default()))
            }
            Some(other) => Err(Failure::usage(format!(
                "{other} is no PostgreSQL database; name one with --store postgres://…"
            ))),
            None => Err(Failure::usage("name the database with --store postgres://…")),
        }
    }
}
