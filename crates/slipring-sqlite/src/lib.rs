//! The SQLite store of Slipring: one durable file.
//!
//! [`SqliteStore::open`] gives a [`slipring::Store`]. How the file is laid out and why is in
//! `docs/stores/sqlite.md`; every statement stands in `queries/`, the schema in `schema.sql`.
//!
//! The files in reading order: `store` and `admin` (the two traits), `open` and `sound` (which
//! files are taken), `task`, `ring`, `driver`, `serving`, `flush` and `checkpoint` (how calls
//! reach the one writer, share transactions and last), `place`, `ceiling`, `write_lock`, `holders`
//! and `probe` (what the file, the system and other processes may do to it), `reclaim` and
//! `compact` (giving space back), `writer` and `picture` (what it keeps in memory), `lane` and
//! `lease` (the log), `append`, `claim`, `claim_any`, `settle`, `extend`, `passes`, `deadlines`,
//! `room` and `prune` (the verbs), `item`, `rows`, `failures`, `fifo` and `dedup` (messages outside
//! the log),
//! `catalog`, `bulk`, `chosen` and `clearing` (administration), `inbox`, `reader`, `inspect` and
//! `warm` (looking). `clock` is the one clock that all processes of a file have.

mod admin;
mod ahead;
mod append;
mod bulk;
mod catalog;
mod ceiling;
mod checkpoint;
mod chosen;
mod claim;
mod claim_any;
mod clearing;
mod clock;
mod compact;
mod company;
mod deadlines;
mod dedup;
mod disk;
mod driver;
mod extend;
mod failures;
mod fault;
mod feed;
mod fifo;
mod flush;
mod holders;
mod image;
mod inbox;
mod inspect;
mod item;
mod lane;
mod lease;
mod load_store;
mod loads;
mod migrate;
mod old_log;
mod on_disk;
mod open;
mod options;
mod passes;
mod picture;
mod place;
mod position;
mod probe;
mod prune;
mod reader;
mod reclaim;
mod ring;
mod room;
mod rows;
mod send_back;
mod serving;
mod sessions;
mod settle;
mod slots;
mod sound;
mod space;
mod statements;
mod store;
mod task;
mod warm;
mod write_lock;
mod writer;

pub use compact::{Compacted, compact};
pub use options::SqliteOptions;
pub use store::SqliteStore;
