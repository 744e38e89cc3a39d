//! The second case: one log latch under a parallel insert.

mod combining_log;
mod cores;
pub mod extents;
mod fifo_latch;
mod log;
