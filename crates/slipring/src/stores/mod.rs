//! Stores that need nothing outside this crate. Stores on databases are crates of their own.

pub mod memory;

pub use memory::MemoryStore;
