//! A history turned around: what happened to each message, and when at the earliest and latest.

use std::collections::{BTreeMap, HashMap};

use super::{Violation, ns};
use crate::crash::history::{Event, Kind, Operation, Sending};

/// The time between invocation and answer; without an answer it never ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Invocation.
    pub begin: u64,
    /// Answer; `u64::MAX` when there was none.
    pub end: u64,
}

/// The send of a message.
#[derive(Debug, Clone)]
pub struct Send {
    /// To which queue.
    pub queue: String,
    /// When.
    pub span: Span,
    /// How it ended; a refused entry of a batch counts as `Fail`.
    pub kind: Kind,
    /// Place within its batch.
    pub place: usize,
    /// What was sent.
    pub sending: Sending,
}

/// One hand-out of a message.
#[derive(Debug, Clone)]
pub struct HandOut {
    /// From which queue.
    pub queue: String,
    /// When.
    pub span: Span,
    /// Which receive, as the index of its answer.
    pub receive: u64,
    /// Its receipt.
    pub receipt: String,
    /// The receive count, where the protocol says.
    pub count: Option<u32>,
    /// Until when the lease would last if nothing ended it: at the earliest.
    pub lapse: u64,
    /// Until when the lease was surely valid: the lapse, or the first thing that may have ended
    /// it before.
    pub valid_until: u64,
    /// Whether the lease ended with its connection before it could lapse.
    pub cut: bool,
}

/// An ack or nack.
#[derive(Debug, Clone)]
pub struct Settlement {
    /// When.
    pub span: Span,
    /// How it ended; an entry that was not done counts as `Fail`.
    pub kind: Kind,
    /// Of which hand-out.
    pub receipt: String,
    /// The delay of a nack in milliseconds; nothing for an ack.
    pub nack_delay_ms: Option<u64>,
    /// Whether an `ok` ack proves that the message is gone whatever its lease was.
    pub strict: bool,
}

/// All about one message.
#[derive(Debug, Clone, Default)]
pub struct Message {
    /// Its sends: one, or none when it was invented.
    pub sends: Vec<Send>,
    /// Its hand-outs, ordered by answer.
    pub hand_outs: Vec<HandOut>,
    /// Its acks and nacks, ordered by answer.
    pub settlements: Vec<Settlement>,
}

/// What the passes look at.
#[derive(Debug, Default)]
pub struct Facts {
    /// By body.
    pub messages: BTreeMap<String, Message>,
    /// Bodies by queue and deduplication id.
    pub same_id: HashMap<(String, String), Vec<String>>,
    /// Receives without an answer, by queue: each may have taken messages nobody saw.
    pub unseen: HashMap<String, Vec<Span>>,
    /// Lines that contradict each other.
    pub malformed: Vec<Violation>,
    operations: [u64; 4],
    kills: Vec<Span>,
    /// When each process left or lost its connection.
    ends: HashMap<u64, u64>,
}

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
    /// Hand-outs of a message after a nack.
    pub after_nack: u64,
    /// Hand-outs of a message after its holder's connection was cut.
    pub after_cut: u64,
    /// Hand-outs of a message after its lease lapsed.
    pub after_lapse: u64,
    /// Kills of the server.
    pub kills: u64,
}

impl Facts {
    /// Turns a history around.
    pub fn of(events: &[Event]) -> Facts {
        let mut facts = Facts::default();
        let mut open: HashMap<u64, &Event> = HashMap::new();
        let mut receives = Vec::new();
        for event in events {
            if event.kind == Kind::Invoke {
                if open.insert(event.process, event).is_some() {
                    facts.contradiction(event, "began an operation with another still open");
                }
                continue;
            }
            match open.remove(&event.process) {
                Some(begun) => {
                    facts.note(begun, Some(event), &mut receives);
                }
                None => facts.contradiction(event, "ended an operation it had not begun"),
            }
        }
        let mut unfinished: Vec<&Event> = open.into_values().collect();
        unfinished.sort_by_key(|event| event.index);
        for begun in unfinished {
            facts.note(begun, None, &mut receives);
        }
        facts.hand_out(&receives);
        facts
    }

    fn contradiction(&mut self, event: &Event, what: &str) {
        let what = format!("event {}: process {} {what}", event.index, event.process);
        self.malformed.push(Violation { property: "history", what });
    }

    /// Takes in one operation with its outcome.
    fn note<'e>(
        &mut self,
        begun: &'e Event,
        ended: Option<&'e Event>,
        receives: &mut Vec<(&'e Event, &'e Event)>,
    ) {
        let kind = ended.map_or(Kind::Info, |event| event.kind);
        // An unknown outcome may still take effect after the client has given up.
        let end = ended.filter(|_| kind != Kind::Info).map_or(u64::MAX, |event| event.time);
        let span = Span { begin: begun.time, end };
        self.operations[kind as usize] += 1;
        if kind == Kind::Info {
            self.ends.entry(begun.process).or_insert(begun.time);
        }
        let answered = ended.filter(|_| kind == Kind::Ok);
        match &answered.unwrap_or(begun).operation {
            Operation::Send { queue, messages } => {
                for (place, sending) in messages.iter().enumerate() {
                    let refused = kind == Kind::Ok && sending.id.is_none();
                    let kind = if refused { Kind::Fail } else { kind };
                    let (queue, sending) = (queue.clone(), sending.clone());
                    let send = Send { queue, span, kind, place, sending };
                    if let Some(id) = &send.sending.dedup {
                        let same = self.same_id.entry((send.queue.clone(), id.clone()));
                        same.or_default().push(send.sending.body.clone());
                    }
                    self.message(&send.sending.body.clone()).sends.push(send);
                }
            }
            Operation::Receive { queue, .. } => match answered {
                Some(answer) => receives.push((begun, answer)),
                None if kind == Kind::Info => {
                    self.unseen.entry(queue.clone()).or_default().push(span);
                }
                None => {}
            },
            Operation::Ack { strict, entries, .. } => {
                for entry in entries {
                    let kind = if kind == Kind::Ok && !entry.done { Kind::Fail } else { kind };
                    let receipt = entry.receipt.clone();
                    let settlement =
                        Settlement { span, kind, receipt, nack_delay_ms: None, strict: *strict };
                    self.message(&entry.body).settlements.push(settlement);
                }
            }
            Operation::Nack { entry, delay_ms, .. } => {
                let receipt = entry.receipt.clone();
                let nack_delay_ms = Some(*delay_ms);
                let settlement = Settlement { span, kind, receipt, nack_delay_ms, strict: true };
                self.message(&entry.body).settlements.push(settlement);
            }
            Operation::Leave => {
                self.ends.entry(begun.process).or_insert(begun.time);
            }
            Operation::Kill => self.kills.push(span),
            Operation::Start => {}
        }
    }

    /// Takes in the hand-outs, when all that may have ended their leases is known.
    fn hand_out(&mut self, receives: &[(&Event, &Event)]) {
        for (begun, answer) in receives {
            let Operation::Receive { queue, deliveries } = &answer.operation else { continue };
            let span = Span { begin: begun.time, end: answer.time };
            for delivery in deliveries {
                let lapse = span.begin + ns(delivery.lease_ms);
                let cut = if delivery.session { self.cut(answer.process, span) } else { u64::MAX };
                let message = self.messages.entry(delivery.body.clone()).or_default();
                let settled = message.settlements.iter().filter(|s| s.receipt == delivery.receipt);
                let settled =
                    settled.filter(|s| s.span.begin >= span.end).map(|s| s.span.begin).min();
                let valid_until = lapse.min(cut).min(settled.unwrap_or(u64::MAX));
                message.hand_outs.push(HandOut {
                    queue: queue.clone(),
                    span,
                    receive: answer.index,
                    receipt: delivery.receipt.clone(),
                    count: delivery.count,
                    lapse,
                    valid_until,
                    cut: cut < lapse,
                });
            }
        }
    }

    /// When the connection of a process that received in `span` ended, at the earliest.
    fn cut(&self, process: u64, span: Span) -> u64 {
        let kill = self.kills.iter().find(|kill| kill.end >= span.begin).map(|kill| kill.begin);
        let own = self.ends.get(&process).copied();
        kill.into_iter().chain(own).min().unwrap_or(u64::MAX)
    }

    fn message(&mut self, body: &str) -> &mut Message {
        self.messages.entry(body.to_owned()).or_default()
    }

    /// How many receives of a queue, begun before `end`, have an unknown outcome.
    pub fn unseen_before(&self, queue: &str, end: u64) -> usize {
        let spans = self.unseen.get(queue).map_or(&[][..], Vec::as_slice);
        spans.iter().filter(|span| span.begin < end).count()
    }

    /// How much the history holds.
    pub fn counts(&self) -> Counts {
        let [_, done, refused, unknown] = self.operations;
        let kills = self.kills.len() as u64;
        let mut counts =
            Counts { operations: [done, refused, unknown], kills, ..Counts::default() };
        for message in self.messages.values() {
            let sends = |kind| message.sends.iter().filter(|send| send.kind == kind).count() as u64;
            counts.sent += sends(Kind::Ok);
            counts.sent_unknown += sends(Kind::Info);
            counts.hand_outs += message.hand_outs.len() as u64;
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
