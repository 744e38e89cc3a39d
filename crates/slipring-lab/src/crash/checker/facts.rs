//! A history turned around: what happened to each message, and when at the earliest and latest.

use std::collections::{BTreeMap, HashMap};

use super::{Violation, ns};
use crate::crash::history::{Delivery, Entry, Event, Kind, Operation, Sending};
use crate::crash::queues::LEFT_BEHIND_MS;

/// A killed database may have forgotten what it did without a flush for so long before; PostgreSQL
/// writes such changes after three times 200 ms at the latest.
const UNFLUSHED_MS: u64 = 1000;

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
    /// Place within the answer.
    pub place: usize,
    /// Its receipt.
    pub receipt: String,
    /// The receive count, where the protocol says.
    pub count: Option<u32>,
    /// Until when the lease would last if nothing ended it, as prolonged: at the earliest.
    pub lapse: u64,
    /// When it may have been forgotten by a database that was killed.
    pub forgotten: Option<u64>,
    /// Until when the lease was surely valid: the lapse, or the first thing that may have ended
    /// it before.
    pub valid_until: u64,
    /// Whether the lease ended with its connection before it could lapse.
    pub cut: bool,
}

/// What prolonged a lease.
#[derive(Debug, Clone)]
pub struct Extension {
    /// When.
    pub span: Span,
    /// Of which hand-out.
    pub receipt: String,
    /// How long the lease lasts from its beginning, in milliseconds.
    pub lease_ms: u64,
}

/// What may have brought back messages that were set aside.
#[derive(Debug, Clone)]
pub struct Kick {
    /// Of which queue.
    pub queue: String,
    /// Of which message; nothing means of any.
    pub body: Option<String>,
    /// When.
    pub span: Span,
}

/// An ack, a nack, or a bury.
#[derive(Debug, Clone)]
pub struct Settlement {
    /// When.
    pub span: Span,
    /// When it has had its effect if it ever has one: its answer, or some time after its client has
    /// lost it; `u64::MAX` when nobody knows.
    pub taken_by: u64,
    /// How it ended; an entry that was not done counts as `Fail`.
    pub kind: Kind,
    /// Of which hand-out.
    pub receipt: String,
    /// The delay of a nack in milliseconds; 0 for a bury, nothing for an ack.
    pub nack_delay_ms: Option<u64>,
    /// Whether it is a bury.
    pub buries: bool,
    /// Whether an `ok` ack proves that the message is gone whatever its lease was.
    pub strict: bool,
}

impl Settlement {
    /// An ack whose hand-out is not known yet.
    fn unnamed(span: Span, taken_by: u64, kind: Kind) -> Settlement {
        let (receipt, nack_delay_ms, buries, strict) = (String::new(), None, false, true);
        Settlement { span, taken_by, kind, receipt, nack_delay_ms, buries, strict }
    }
}

/// All about one message.
#[derive(Debug, Clone, Default)]
pub struct Message {
    /// Its sends: one, or none when it was invented.
    pub sends: Vec<Send>,
    /// Its hand-outs, ordered by answer.
    pub hand_outs: Vec<HandOut>,
    /// Its acks, nacks and buries, ordered by answer.
    pub settlements: Vec<Settlement>,
    /// What surely prolonged its leases.
    pub extensions: Vec<Extension>,
}

/// What the passes look at.
#[derive(Debug, Default)]
pub struct Facts {
    /// By body.
    pub messages: BTreeMap<String, Message>,
    /// Bodies by queue and deduplication id.
    pub same_id: HashMap<(String, String), Vec<String>>,
    /// Receives without an answer, by queue: each may have taken messages nobody saw, until its
    /// end here at the latest.
    pub unseen: HashMap<String, Vec<Span>>,
    /// Receives that were rolled back, by queue. They held messages for a moment.
    pub withdrawn: HashMap<String, Vec<Span>>,
    /// All that did not surely fail.
    pub kicks: Vec<Kick>,
    /// Lines that contradict each other.
    pub malformed: Vec<Violation>,
    pub(super) operations: [u64; 4],
    pub(super) kicked: u64,
    pub(super) kills: Vec<Span>,
    pub(super) sessions_ended: u64,
    /// Kills of a database.
    forgets: Vec<Span>,
    /// When each process left or lost its connection.
    ends: HashMap<u64, u64>,
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
        // Of an unknown outcome, when nothing can take effect any more.
        let lost = ended.map_or(u64::MAX, |event| event.time + ns(LEFT_BEHIND_MS));
        let taken_by = end.min(lost);
        let settled = Settlement::unnamed(span, taken_by, kind);
        self.operations[kind as usize] += 1;
        if kind == Kind::Info {
            self.ends.entry(begun.process).or_insert(begun.time);
        }
        let answered = ended.filter(|_| kind == Kind::Ok);
        match &answered.unwrap_or(begun).operation {
            Operation::Send { queue, messages } => self.send(queue, messages, span, kind),
            Operation::Receive { queue, .. } => match answered {
                Some(answer) => receives.push((begun, answer)),
                None if kind == Kind::Info => {
                    let span = Span { begin: begun.time, end: taken_by };
                    self.unseen.entry(queue.clone()).or_default().push(span);
                }
                None => self.withdrawn.entry(queue.clone()).or_default().push(span),
            },
            Operation::Ack { strict, entries, .. } => {
                for entry in entries {
                    let kind = if kind == Kind::Ok && !entry.done { Kind::Fail } else { kind };
                    self.settle(entry, Settlement { kind, strict: *strict, ..settled.clone() });
                }
            }
            Operation::Nack { entry, delay_ms, .. } => {
                self.settle(entry, Settlement { nack_delay_ms: Some(*delay_ms), ..settled });
            }
            Operation::Bury { entry, .. } => {
                let buried = Settlement { nack_delay_ms: Some(0), buries: true, ..settled };
                self.settle(entry, buried);
            }
            Operation::Extend { entry, lease_ms, .. } if kind == Kind::Ok => {
                let (receipt, lease_ms) = (entry.receipt.clone(), *lease_ms);
                let extension = Extension { span, receipt, lease_ms };
                self.message(&entry.body).extensions.push(extension);
            }
            Operation::Kick { queue, body } if kind != Kind::Fail => {
                self.kicked += u64::from(kind == Kind::Ok);
                self.kicks.push(Kick { queue: queue.clone(), body: body.clone(), span });
            }
            // What failed, or perhaps prolonged a lease, says nothing.
            Operation::Extend { .. } | Operation::Kick { .. } => {}
            Operation::Leave => {
                self.ends.entry(begun.process).or_insert(begun.time);
            }
            Operation::Kill => self.kills.push(span),
            Operation::KillDatabase => {
                self.kills.push(span);
                self.forgets.push(span);
            }
            // Their transactions happened or not, and what they handed out stays handed out.
            Operation::EndSessions { count } => {
                self.sessions_ended += if answered.is_some() { *count } else { 0 };
            }
            Operation::Start => {}
        }
    }

    fn send(&mut self, queue: &str, messages: &[Sending], span: Span, kind: Kind) {
        for (place, sending) in messages.iter().enumerate() {
            let refused = kind == Kind::Ok && sending.id.is_none();
            let kind = if refused { Kind::Fail } else { kind };
            let (queue, sending) = (queue.to_owned(), sending.clone());
            let send = Send { queue, span, kind, place, sending };
            if let Some(id) = &send.sending.dedup {
                let same = self.same_id.entry((send.queue.clone(), id.clone()));
                same.or_default().push(send.sending.body.clone());
            }
            self.message(&send.sending.body.clone()).sends.push(send);
        }
    }

    /// Takes in a settlement of the hand-out that an entry names.
    fn settle(&mut self, entry: &Entry, settlement: Settlement) {
        let settlement = Settlement { receipt: entry.receipt.clone(), ..settlement };
        self.message(&entry.body).settlements.push(settlement);
    }

    /// Takes in the hand-outs, when all that may have ended their leases is known.
    fn hand_out(&mut self, receives: &[(&Event, &Event)]) {
        for (begun, answer) in receives {
            let Operation::Receive { queue, deliveries } = &answer.operation else { continue };
            for (place, delivery) in deliveries.iter().enumerate() {
                let end = delivery.answered_ns.unwrap_or(answer.time);
                let span = Span { begin: begun.time, end };
                let lapse = self.lapse(delivery, span);
                let cut = if delivery.session { self.cut(answer.process, span) } else { u64::MAX };
                let forgotten = self.forgotten(span);
                let message = self.messages.entry(delivery.body.clone()).or_default();
                let settled = message.settlements.iter().filter(|s| s.receipt == delivery.receipt);
                let settled = settled.map(|s| s.span.begin).filter(|begin| *begin >= span.end);
                let ended = settled.chain(forgotten).min().unwrap_or(u64::MAX);
                let valid_until = lapse.min(cut).min(ended);
                message.hand_outs.push(HandOut {
                    queue: queue.clone(),
                    span,
                    receive: answer.index,
                    place,
                    receipt: delivery.receipt.clone(),
                    count: delivery.count,
                    lapse,
                    forgotten,
                    valid_until,
                    cut: cut < lapse,
                });
            }
        }
        for message in self.messages.values_mut() {
            message.hand_outs.sort_by_key(|hand_out| hand_out.span.end);
        }
    }

    /// When the lease of a hand-out would lapse, at the earliest. What prolonged it is as little
    /// flushed as the hand-out itself.
    fn lapse(&self, delivery: &Delivery, span: Span) -> u64 {
        let message = self.messages.get(&delivery.body);
        let extensions = message.map_or(&[][..], |message| &message.extensions);
        let own = extensions.iter().filter(|e| e.receipt == delivery.receipt);
        let kept = own.filter(|e| self.forgotten(e.span).is_none());
        let prolonged = kept.map(|e| e.span.begin + ns(e.lease_ms)).max().unwrap_or(0);
        prolonged.max(span.begin + ns(delivery.lease_ms))
    }

    /// When a hand-out of `span` may have been forgotten by a killed database: hand-outs are not
    /// flushed (S1.4), so the last moments of them may be missing afterwards.
    fn forgotten(&self, span: Span) -> Option<u64> {
        let kill = self.forgets.iter().find(|kill| kill.end >= span.begin)?;
        (kill.begin <= span.end.saturating_add(ns(UNFLUSHED_MS))).then_some(kill.begin)
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

    /// Whether a kick may have brought a message back between two moments.
    pub fn kicked(&self, queue: &str, body: &str, from: u64, until: u64) -> bool {
        self.kicks.iter().any(|kick| {
            kick.queue == queue
                && kick.body.as_deref().is_none_or(|own| own == body)
                && kick.span.begin < until
                && kick.span.end > from
        })
    }

    /// How many receives of a queue whose outcome is unknown may have taken something between two
    /// moments.
    pub fn unseen_between(&self, queue: &str, from: u64, until: u64) -> usize {
        between(self.unseen.get(queue), from, until)
    }

    /// Whether no receive that nobody saw the messages of went on between two moments.
    pub fn undisturbed(&self, queue: &str, from: u64, until: u64) -> bool {
        let withdrawn = between(self.withdrawn.get(queue), from, until);
        self.unseen_between(queue, from, until) + withdrawn == 0
    }
}

fn between(spans: Option<&Vec<Span>>, from: u64, until: u64) -> usize {
    let spans = spans.into_iter().flatten();
    spans.filter(|span| span.begin < until && span.end > from).count()
}
