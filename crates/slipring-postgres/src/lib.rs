//! The PostgreSQL store of Slipring: one database, any number of servers.
//!
//! [`PostgresStore::open`] gives a [`slipring::Store`]. How the tables are laid out and why is in
//! `docs/stores/postgres.md`. What a verb decides is decided in the database, by the functions in
//! `functions/`, because users of SQL get the same rules; this crate calls them, one statement
//! for a combined call (`queries/`), and turns rows into the core's types.
//!
//! The files in reading order: `address`, `tls` and `options` (where the database is), `schema`
//! and `migrate` (bringing it up to date), `store` and `admin` (the two traits), `session` (one
//! statement, its retries and its time limit), `statement` (sending it), `classes` (what is waited
//! for), `seats` (who may use how many connections), `patience` (what a time limit means),
//! `held` and `pace` (how long a receive waits for a queue, and how much it takes), `straight`
//! (whether a pooler stands in between), `flush` (waiting for the disk), `fault` (what the caller
//! is told), `append`, `claim`, `settle`, `passes`, `retention`, `inspect` and `catalog` (the
//! verbs), `pack`, `message` and `rows` (what is in a row), `changes` (what others did).

mod address;
mod admin;
mod append;
mod aside;
mod barrier;
mod catalog;
mod changes;
mod claim;
mod classes;
mod constants;
mod escape;
mod fault;
mod flush;
mod held;
mod hosts;
mod inspect;
mod loads;
mod message;
mod migrate;
mod obstacles;
mod options;
mod pace;
mod pack;
mod passes;
mod patience;
mod queries;
mod retention;
mod rows;
mod schema;
mod seats;
mod session;
mod settle;
mod statement;
mod store;
mod straight;
mod tls;

pub use address::Address;
pub use migrate::{Imported, Migration, import, migrate};
pub use options::{PostgresOptions, WhenToMigrate};
pub use store::PostgresStore;

/// What the build script is made of, for its tests.
#[cfg(test)]
#[path = "../build"]
mod build {
    mod constants;
    mod order;
}
