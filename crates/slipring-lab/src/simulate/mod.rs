//! `simulate`: a discrete-event simulator of workers, cores, latches, logs and combiners.

mod combining;
mod cores;
mod disks;
mod latches;
pub mod model;
pub mod models;
pub mod outcome;
mod program;
mod world;

pub use world::simulate;
