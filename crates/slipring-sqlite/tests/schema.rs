//! The committed schema is what the migrations make.
//!
//! `SLIPRING_SCHEMA=write cargo test -p slipring-sqlite --test schema` writes it anew, which is
//! for after a new migration.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

mod support;

use std::path::Path;

const HEAD: &str = "-- The schema that the migrations make; written by the test `schema`.\n";

fn dump(folder: &Path) -> String {
    let connection = support::look(folder);
    let sql = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid";
    let mut statement = connection.prepare(sql).unwrap();
    let parts = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
    let parts: Vec<String> = parts.map(|part| format!("{};\n", part.unwrap())).collect();
    format!("{HEAD}\n{}", parts.join("\n"))
}

#[tokio::test]
async fn the_committed_schema_is_what_the_migrations_make() {
    let folder = tempfile::tempdir().unwrap();
    drop(support::open(folder.path()));
    let made = dump(folder.path());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema.sql");
    if std::env::var("SLIPRING_SCHEMA").is_ok_and(|what| what == "write") {
        std::fs::write(&path, &made).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == made,
        "schema.sql is out of date; run `SLIPRING_SCHEMA=write cargo test -p slipring-sqlite \
         --test schema`\n{made}"
    );
}
