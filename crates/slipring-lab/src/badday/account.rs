//! What the others sent and what came back to them: the loss checker of a bad day.
//!
//! A send that was answered must come, and again until its ack is answered: only when a connection
//! was cut with the ack on its way, nobody knows whether it had its effect. A send that was cut may
//! come or not. What comes must have been sent, and comes again only after its connection was cut
//! before its ack was answered.

use serde::{Deserialize, Serialize};

/// What is known of a message, as bits.
const SENT: u8 = 1;
const CAME: u8 = 2;
const ACKED: u8 = 4;
/// Its connection was cut while it was held.
const CUT: u8 = 8;
/// It was cut with its ack on the way, and has not come again.
const MAYBE_ACKED: u8 = 16;

/// Numbers from here on are the participant's, where it works in a queue of the others: they
/// receive and ack its messages, and nothing is asked of these.
pub const PARTICIPANT: u64 = 1 << 63;

/// The messages of one run, by dense numbers.
#[derive(Debug, Default)]
pub struct Account {
    marks: Vec<u8>,
    counts: Verdict,
}

/// What is wrong, and what was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Verdict {
    /// Sends that were answered, in messages.
    pub sent: u64,
    /// Sends that were cut and may have been taken.
    pub unsure: u64,
    /// Answered sends that never came, or did not come again before an ack was asked for.
    pub lost: u64,
    /// What came and had never been sent, or came damaged.
    pub invented: u64,
    /// What came again after its ack was answered, or without a cut connection.
    pub again_without_reason: u64,
    /// What came again after its connection was cut.
    pub again_after_cut: u64,
}

impl Account {
    /// Numbers for so many messages that are now tried to be sent; answers the first.
    pub fn begin(&mut self, count: usize) -> u64 {
        let first = self.marks.len();
        self.marks.resize(first + count, 0);
        first as u64
    }

    /// The send of so many messages from `first` on was answered.
    pub fn sent(&mut self, first: u64, count: usize) {
        for number in first..first + count as u64 {
            self.mark(number, SENT);
        }
    }

    /// A message came; answers whether it is none of the participant's.
    pub fn came(&mut self, number: u64) -> bool {
        if number >= PARTICIPANT {
            return false;
        }
        let Some(mark) = index(number).and_then(|at| self.marks.get_mut(at)) else {
            self.counts.invented += 1;
            return true;
        };
        match *mark & (CAME | ACKED | CUT) {
            CUT.. if *mark & ACKED == 0 => self.counts.again_after_cut += 1,
            0 => {}
            _ => self.counts.again_without_reason += 1,
        }
        *mark = (*mark | CAME) & !(CUT | MAYBE_ACKED);
        true
    }

    /// Something came that is no body of this lab.
    pub fn damaged(&mut self) {
        self.counts.invented += 1;
    }

    /// The acks of messages were answered.
    pub fn acked(&mut self, numbers: &[u64]) {
        numbers.iter().for_each(|number| self.mark(*number, ACKED));
    }

    /// The connection that held messages was cut before their acks were answered, and before or
    /// after these were asked for.
    pub fn cut(&mut self, numbers: &[u64], ack_asked: bool) {
        let bits = if ack_asked { CUT | MAYBE_ACKED } else { CUT };
        numbers.iter().for_each(|number| self.mark(*number, bits));
    }

    /// Answered sends that must come yet, for the first time or again.
    pub fn outstanding(&self) -> u64 {
        self.count(|mark| mark & SENT > 0 && mark & (ACKED | MAYBE_ACKED) == 0)
    }

    /// What is wrong when everything that may come has come.
    pub fn verdict(&self) -> Verdict {
        Verdict {
            sent: self.count(|mark| mark & SENT > 0),
            unsure: self.count(|mark| mark & SENT == 0),
            lost: self.outstanding(),
            ..self.counts
        }
    }

    fn mark(&mut self, number: u64, bit: u8) {
        if let Some(mark) = index(number).and_then(|at| self.marks.get_mut(at)) {
            *mark |= bit;
        }
    }

    fn count(&self, which: impl Fn(u8) -> bool) -> u64 {
        self.marks.iter().filter(|mark| which(**mark)).count() as u64
    }
}

fn index(number: u64) -> Option<usize> {
    usize::try_from(number).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_an_invented_and_a_repeated_message_are_seen() {
        let mut account = Account::default();
        assert_eq!(account.begin(5), 0);
        account.sent(0, 4);
        (0..3).for_each(|number| assert!(account.came(number)));
        assert_eq!(account.outstanding(), 4);
        account.acked(&[0, 2]);
        account.cut(&[1], true);
        assert_eq!(account.outstanding(), 1);
        // After its ack, after a cut, without a reason, never sent.
        [0, 1, 2, 9].into_iter().for_each(|number| assert!(account.came(number)));
        account.acked(&[1]);
        let verdict = account.verdict();
        assert_eq!((verdict.sent, verdict.unsure, verdict.lost), (4, 1, 1));
        assert_eq!((verdict.invented, verdict.again_without_reason), (1, 2));
        assert_eq!(verdict.again_after_cut, 1);
    }

    #[test]
    fn what_was_held_at_a_cut_must_come_again_but_for_an_ack_on_its_way() {
        for (ack_asked, lost) in [(false, 1), (true, 0)] {
            let mut account = Account::default();
            account.begin(1);
            account.sent(0, 1);
            account.came(0);
            account.cut(&[0], ack_asked);
            assert_eq!((account.outstanding(), account.verdict().lost), (lost, lost));
            // It has come again, so that no ack had its effect: now it needs another.
            account.came(0);
            assert_eq!(account.verdict().lost, 1);
            account.acked(&[0]);
            let verdict = account.verdict();
            assert_eq!((verdict.lost, verdict.again_after_cut), (0, 1));
        }
    }

    #[test]
    fn a_send_that_was_cut_may_come_or_not() {
        let mut account = Account::default();
        account.begin(2);
        assert!(account.came(1));
        let clean = Verdict { unsure: 2, ..Verdict::default() };
        assert_eq!(account.verdict(), clean);
    }

    #[test]
    fn what_the_participant_sent_counts_nowhere() {
        let mut account = Account::default();
        account.begin(1);
        account.sent(0, 1);
        assert!(!account.came(PARTICIPANT) && !account.came(u64::MAX));
        let verdict = account.verdict();
        assert_eq!((verdict.sent, verdict.lost, verdict.invented), (1, 1, 0));
    }
}
