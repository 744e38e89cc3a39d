//! The cases, one file per subject.

use crate::case::Case;

mod ack;
mod batch;
mod claim;
mod company;
mod dead_letter;
mod dedup;
mod delay;
mod failures;
mod faults;
mod fifo;
mod fifo_line;
mod heads;
mod lease;
mod limits;
mod load;
mod move_chosen;
mod move_messages;
mod order;
mod park_kick;
mod passes;
mod pause;
mod peek_stats;
mod poison;
mod purge_cancel;
mod queues;
mod receipt;
mod reopen;
mod retention;
mod retry;
mod send;
mod sharing;
mod take_up;

/// Every case, by subject.
pub fn all() -> impl Iterator<Item = &'static Case> {
    let subjects = [
        send::CASES,
        batch::CASES,
        claim::CASES,
        order::CASES,
        fifo::CASES,
        fifo_line::CASES,
        ack::CASES,
        lease::CASES,
        take_up::CASES,
        retry::CASES,
        poison::CASES,
        company::CASES,
        dead_letter::CASES,
        move_chosen::CASES,
        move_messages::CASES,
        park_kick::CASES,
        delay::CASES,
        dedup::CASES,
        limits::CASES,
        load::CASES,
        pause::CASES,
        passes::CASES,
        purge_cancel::CASES,
        retention::CASES,
        peek_stats::CASES,
        heads::CASES,
        receipt::CASES,
        queues::CASES,
        failures::CASES,
        faults::CASES,
        reopen::CASES,
        sharing::CASES,
    ];
    subjects.into_iter().flatten()
}
