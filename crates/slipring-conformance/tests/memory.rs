//! The suite over the in-memory reference store.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use slipring::stores::MemoryStore;
use slipring::{Error, Store};

struct Memory;

#[async_trait::async_trait]
impl slipring_conformance::Factory for Memory {
    async fn open(&self, _place: &Path) -> Result<Arc<dyn Store>, Error> {
        Ok(MemoryStore::shared())
    }
}

fn main() -> ExitCode {
    slipring_conformance::main(Memory)
}
