//! The SQLite store of Slipring: one durable file.
//!
//! [`SqliteStore::open`] gives a [`slipring::Store`]. How the file is laid out and why is in
//! `docs/stores/sqlite.md`; every statement stands in `queries/`, the schema in `schema.sql`.
//!
//! The files in reading order: `store` and `admin` (the two traits), `task`, `ring`, `driver`,
//! `serving`, `flush` and `checkpoint` (how calls reach the one writer, share transactions and
//! last), `writer` and `picture` (what it keeps in memory), `lane` and `lease` (the log), `append`,
//! `claim`, `settle`, `extend`, `passes`, `room` and `prune` (the verbs), `item`, `rows`, `fifo`
//! and `dedup` (messages outside the log), `catalog`, `bulk` and `clearing` (administration),
//! `inbox`, `reader`, `inspect` and `warm` (looking).

mod admin;
mod append;
mod bulk;
mod catalog;
mod checkpoint;
mod claim;
mod clearing;
mod dedup;
mod driver;
mod extend;
mod fault;
mod feed;
mod fifo;
mod flush;
mod image;
mod inbox;
mod inspect;
mod item;
mod lane;
mod lease;
mod migrate;
mod open;
mod options;
mod passes;
mod picture;
mod position;
mod prune;
mod reader;
mod ring;
mod room;
mod rows;
mod serving;
mod settle;
mod statements;
mod store;
mod task;
mod warm;
mod writer;

pub use options::SqliteOptions;
pub use store::SqliteStore;
