//! The executable meaning of `docs/semantics.md`: a store is correct when this suite passes over
//! it.
//!
//! A store implements [`Factory`] in its tests and hands it to [`main`]. The whole of a store's
//! `tests/conformance.rs`, with `harness = false` for that test in its `Cargo.toml`:
//!
//! ```no_run
//! use std::{path::Path, process::ExitCode, sync::Arc};
//! use slipring::{Error, Store, stores::MemoryStore};
//!
//! struct Memory;
//!
//! #[async_trait::async_trait]
//! impl slipring_conformance::Factory for Memory {
//!     async fn open(&self, _place: &Path) -> Result<Arc<dyn Store>, Error> {
//!         Ok(MemoryStore::shared())
//!     }
//! }
//!
//! fn main() -> ExitCode {
//!     slipring_conformance::main(Memory)
//! }
//! ```
//!
//! Every case is a test of its own, named `subject::sentence`, and takes the usual arguments of a
//! test program (a filter, `--exact`, `--list`, `--test-threads`). A case that needs a capability
//! which the store lacks shows as ignored, with the capability named.
//!
//! - [`cases`]: one file per subject, each case tied to clauses.
//! - [`model`]: random operations compared with a naive model. `SLIPRING_MODEL_CASES` sets how
//!   many sequences each model runs, `SLIPRING_MODEL_SEED` repeats a printed seed.
//! - [`concurrency`]: many tasks at once, checked for loss, invention and double leases.
//! - [`engine_cases`]: the engine over the store.
//! - [`fault`]: a store wrapper that fails, hangs or loses answers on demand.
//! - [`verbs`]: short verbs for a store's own tests.
//!
//! Cases give the time themselves and never sleep.

// A failed assertion is what a case is for, and the helpers of cases fail the case.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod bench;
pub mod case;
pub mod cases;
pub mod concurrency;
pub mod engine_cases;
pub mod fault;
pub mod model;
pub mod verbs;

mod run;

pub use bench::{Bench, Factory, QueueBench};
pub use case::{Case, Need};
pub use run::{all, main};
