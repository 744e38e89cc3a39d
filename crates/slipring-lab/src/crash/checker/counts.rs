//! How much a history holds.

use super::facts::Facts;
use crate::crash::history::Kind;

/// How much a history holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Operations by outcome: done, refused, unknown.
    pub operations: [u64; 3],
    /// Messages whose send was acknowledged.
    pub sent: u64,
    /// Messages whose send has an unknown outcome.
    pub sent_unknown: u64,
    /// Hand-outs.
    pub hand_outs: u64,
    /// Acks that were answered with success.
    pub acked: u64,
    /// Leases that were prolonged.
    pub extended: u64,
    /// Messages that were set aside.
    pub buried: u64,
    /// Kicks that were answered with success.
    pub kicked: u64,
    /// Hand-outs of a message after a nack or a bury.
    pub after_nack: u64,
    /// Hand-outs of a message after its holder's connection was cut.
    pub after_cut: u64,
    /// Hand-outs of a message after its lease lapsed.
    pub after_lapse: u64,
    /// Kills of a server or the database.
    pub kills: u64,
    /// Sessions of the database that were ended.
    pub sessions_ended: u64,
}

impl Facts {
    /// How much the history holds.
    pub fn counts(&self) -> Counts {
        let [_, done, refused, unknown] = self.operations;
        let kills = self.kills.len() as u64;
        let operations = [done, refused, unknown];
        let (kicked, sessions_ended) = (self.kicked, self.sessions_ended);
        let mut counts = Counts { operations, kills, kicked, sessions_ended, ..Counts::default() };
        for message in self.messages.values() {
            let sends = |kind| message.sends.iter().filter(|send| send.kind == kind).count() as u64;
            counts.sent += sends(Kind::Ok);
            counts.sent_unknown += sends(Kind::Info);
            counts.hand_outs += message.hand_outs.len() as u64;
            counts.extended += message.extensions.len() as u64;
            let buries = message.settlements.iter().filter(|s| s.buries && s.kind == Kind::Ok);
            counts.buried += buries.count() as u64;
            let acks = message.settlements.iter().filter(|s| s.nack_delay_ms.is_none());
            counts.acked += acks.filter(|s| s.kind == Kind::Ok).count() as u64;
            for pair in message.hand_outs.windows(2) {
                let [before, _] = pair else { continue };
                let nacked = message.settlements.iter().any(|s| {
                    s.receipt == before.receipt && s.nack_delay_ms.is_some() && s.kind != Kind::Fail
                });
                match (nacked, before.cut) {
                    (true, _) => counts.after_nack += 1,
                    (false, true) => counts.after_cut += 1,
                    (false, false) => counts.after_lapse += 1,
                }
            }
        }
        counts
    }
}
