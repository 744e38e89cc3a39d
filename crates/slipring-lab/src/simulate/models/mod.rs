//! Models that the lab brings along.

pub mod published;
