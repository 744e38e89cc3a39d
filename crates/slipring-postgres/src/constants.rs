//! The numbers of `functions/constants.txt`, for what Rust has to know of them.
#![allow(dead_code, reason = "most of them are for functions only")]

include!(concat!(env!("OUT_DIR"), "/constants.rs"));
