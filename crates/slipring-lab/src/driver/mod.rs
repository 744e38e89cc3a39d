//! Drivers: processes that load one target each, in whatever language the target's library is
//! written, and the protocol between them and the lab.

pub mod process;
pub mod protocol;
pub mod serve;

pub use process::{Driver, Step};
