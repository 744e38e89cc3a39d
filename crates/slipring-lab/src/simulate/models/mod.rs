//! Models that the lab brings along.

pub mod here;
pub mod published;
pub mod waiters;
