//! The lab: load driver, workloads, targets and reports for Slipring and its peers, and the
//! crash test with its loss checker.
//!
//! `docs/lab.md` says how to run it and how to read what it prints.
#![allow(clippy::print_stdout)] // a command-line program: its output is what it is for

mod adapter;
mod badday;
mod benchmark;
mod body;
mod cases;
mod child;
pub mod cli;
mod crash;
mod drive;
mod driver;
mod findings;
mod folder;
mod guard;
mod guarded;
mod hostile;
mod interrupt;
mod ledger;
mod machine;
mod mariadb;
mod output;
mod peers;
mod process;
mod programs;
mod report;
mod rows;
mod run;
mod simulate;
mod slow_disk;
mod stats;
mod targets;
mod time;
mod waits;
mod wire;
mod workloads;
