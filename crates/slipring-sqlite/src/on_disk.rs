//! Which messages are on disk: what is not waits before it is handed out (S2.4), for the flush that
//! covers it.

use std::collections::VecDeque;

/// What a call waits for after the commit, before it is answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Needs {
    #[default]
    Nothing,
    /// The flush of an earlier transaction: what [`crate::flush::Log::wrote`] said of it.
    Earlier(u64),
    /// The flush of its own transaction.
    Own,
}

/// How far the messages are on disk, by their stamps, which grow from one transaction to the next.
#[derive(Debug, Default)]
pub(crate) struct OnDisk {
    /// Messages up to this stamp are on disk.
    stamp: u64,
    /// Transactions that are not known to be, oldest first: what [`crate::flush::Log::wrote`] said
    /// of each, and the last stamp that was given before its end.
    waiting: VecDeque<(u64, u64)>,
}

impl OnDisk {
    /// Takes note of a transaction that is to be flushed.
    pub(crate) fn wrote(&mut self, written: u64, last_stamp: u64) {
        self.waiting.push_back((written, last_stamp));
    }

    /// All up to a transaction was flushed.
    pub(crate) fn flushed(&mut self, written: u64) {
        let over = self.waiting.partition_point(|(number, _)| *number <= written);
        if let Some((_, stamp)) = self.waiting.drain(..over).next_back() {
            self.stamp = stamp;
        }
    }

    /// Nothing is known any more: messages may have come that have older stamps.
    pub(crate) fn forget(&mut self) {
        *self = OnDisk::default();
    }

    /// What a message with this stamp waits for.
    pub(crate) fn needs(&self, stamp: u64) -> Needs {
        if stamp <= self.stamp {
            return Needs::Nothing;
        }
        let covers = self.waiting.partition_point(|(_, last_stamp)| *last_stamp < stamp);
        self.waiting.get(covers).map_or(Needs::Own, |(written, _)| Needs::Earlier(*written))
    }
}

#[cfg(test)]
mod tests;
