//! The committed schema is what the migrations and functions make.
//!
//! `SLIPRING_SCHEMA=write cargo test -p slipring-postgres --test schema` writes it anew, which is
//! for after a new migration or function.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

use std::path::Path;

use slipring_testbed::{Cluster, catalogue};

const HEAD: &str = "\
-- The schema that migrations and functions make, as the catalogue tells it: tables, sequences and
-- constraints, indexes, signatures of functions. Written by the test `schema`; not to be run.
";

#[tokio::test]
async fn the_committed_schema_is_what_the_migrations_make() {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let client = cluster.client(&database).await;
    let mut made = HEAD.to_owned();
    for line in catalogue(&client).await {
        made.push_str(if line.starts_with("TABLE") { "\n" } else { "" });
        made.push_str(&line);
        made.push('\n');
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema.sql");
    if std::env::var("SLIPRING_SCHEMA").is_ok_and(|what| what == "write") {
        std::fs::write(&path, &made).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == made,
        "schema.sql is out of date; run `SLIPRING_SCHEMA=write cargo test -p slipring-postgres \
         --test schema`\n{made}"
    );
}
