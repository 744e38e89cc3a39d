//! `slipring compact`: a file is written anew without the space that it does not need.

use clap::Args;
use serde_json::json;
use slipring_server::audit::Act;
use slipring_sqlite::SqliteOptions;

use crate::audit::{self, AuditArgs};
use crate::failure::Failure;
use crate::logging::{self, LogFormat};
use crate::print;
use crate::store::{StoreParser, StoreSpec};

#[derive(Debug, Args)]
pub struct CompactArgs {
    /// The store: sqlite:PATH, which no other program may have open
    #[arg(long, value_name = "STORE", value_parser = StoreParser)]
    store: StoreSpec,
    #[command(flatten)]
    audit: AuditArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

const POSTGRES: &str = "a PostgreSQL store empties its tables as a whole, which gives their space \
                        back at once: there is nothing to compact";

impl CompactArgs {
    pub async fn run(self) -> Result<(), Failure> {
        let shown = self.store.to_string();
        let path = match self.store {
            StoreSpec::Sqlite(path) => path,
            StoreSpec::Postgres(_) if self.json => {
                return print::json(&json!({ "before_bytes": null, "after_bytes": null }));
            }
            StoreSpec::Postgres(_) => return print::line(POSTGRES),
            StoreSpec::Memory => {
                return Err(Failure::usage("--store memory: has no file; name one"));
            }
        };
        // What the store warns of would be lost otherwise.
        logging::start("warn", LogFormat::Human)?;
        let audit_file = self.audit.open()?;
        let deed = audit::begin(audit_file, Act::Compact, &shown);
        let compact = move || slipring_sqlite::compact(&path, &SqliteOptions::default());
        let done = tokio::task::spawn_blocking(compact).await.map_err(Failure::failed)??;
        deed.finished();
        let (before, after) = (done.before_bytes, done.after_bytes);
        if self.json {
            return print::json(&json!({ "before_bytes": before, "after_bytes": after }));
        }
        print::line(&format!("the file had {before} bytes and has {after} now"))
    }
}
