//! What the clients were told before, during and after a failover, and what of it cannot be.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use slipring::{Error, Retry};

/// What a client knows of its call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It was answered with success.
    Done,
    /// It had surely no effect.
    Undone,
    /// The connection was lost when it may have been under way.
    Unknown,
}

impl Outcome {
    /// The outcome of a call of the store or the engine.
    pub fn of<T>(answer: &Result<T, Error>) -> Outcome {
        match answer {
            Ok(_) => Outcome::Done,
            Err(error) if error.retry() == Retry::Unknown => Outcome::Unknown,
            Err(_) => Outcome::Undone,
        }
    }
}

/// What is known of a message.
#[derive(Debug, Default, Clone)]
struct Fate {
    sent: Option<Outcome>,
    /// It was handed out at least once.
    came: bool,
    /// An ack of it is under way, or was and nobody knows.
    acking: bool,
    /// The moment at which its ack was answered.
    acked: Option<u64>,
}

#[derive(Debug, Default)]
struct Known {
    clock: u64,
    /// By sender and number.
    fates: BTreeMap<(String, u64), Fate>,
    /// How many sends had which outcome.
    sends: [usize; 3],
    /// How many messages came at least once.
    came: usize,
    acks: usize,
    faults: Vec<String>,
}

/// Everything that happened. A message is its sender's name, which is also its group, and a number
/// that grows: `e1:17`.
#[derive(Debug, Default)]
pub struct Ledger(Mutex<Known>);

fn parts(body: &str) -> (String, u64) {
    let parts = body.split_once(':');
    let known = parts.and_then(|(name, n)| Some((name.to_owned(), n.parse().ok()?)));
    known.unwrap_or_default()
}

impl Known {
    fn fate(&mut self, body: &str) -> &mut Fate {
        self.fates.entry(parts(body)).or_default()
    }

    fn came(&mut self, since: u64, body: &str) {
        let Some(fate) = self.fates.get_mut(&parts(body)) else {
            return self.faults.push(format!("{body}: never sent"));
        };
        if fate.acked.is_some_and(|acked| acked <= since) {
            self.faults.push(format!("{body}: came after its ack"));
        }
        self.came += usize::from(!fate.came);
        fate.came = true;
    }

    /// A message of a group comes after all before it, and is the last to be acked of them.
    fn order(&mut self, since: u64, body: &str, before: &[String]) {
        let (name, n) = parts(body);
        let of_group = (name.clone(), 0)..=(name.clone(), u64::MAX);
        for ((_, other), fate) in self.fates.range(of_group) {
            let beside = before.contains(&format!("{name}:{other}"));
            let open = fate.sent == Some(Outcome::Done) && !fate.acking && fate.acked.is_none();
            if *other < n && open && !beside {
                self.faults.push(format!("{body}: came before {other} of its group"));
            }
            if *other > n && fate.acked.is_some_and(|acked| acked <= since) {
                self.faults.push(format!("{body}: came after the ack of {other} of its group"));
            }
        }
    }
}

impl Ledger {
    /// A message is about to be sent.
    pub fn sending(&self, body: &str) {
        self.0.lock().fate(body);
    }

    /// The send has ended.
    pub fn sent(&self, body: &str, outcome: Outcome) {
        let mut known = self.0.lock();
        known.sends[outcome as usize] += 1;
        known.fate(body).sent = Some(outcome);
    }

    /// The moment at which a receive begins.
    pub fn moment(&self) -> u64 {
        self.0.lock().clock
    }

    /// A receive that began at a moment was handed these, in this order; `ordered` where groups
    /// keep theirs.
    pub fn received(&self, since: u64, bodies: &[String], ordered: bool) {
        let mut known = self.0.lock();
        for (at, body) in bodies.iter().enumerate() {
            known.came(since, body);
            if ordered {
                known.order(since, body, &bodies[..at]);
            }
        }
    }

    /// An ack is about to be asked for.
    pub fn acking(&self, body: &str) {
        self.0.lock().fate(body).acking = true;
    }

    /// The ack has ended.
    pub fn acked(&self, body: &str, outcome: Outcome) {
        let mut known = self.0.lock();
        known.clock += 1;
        let now = known.clock;
        let fate = known.fate(body);
        fate.acking = outcome == Outcome::Unknown;
        if outcome == Outcome::Done {
            fate.acked = Some(now);
            known.acks += 1;
        }
    }

    /// About how many messages were sent and have not come yet.
    pub fn backlog(&self) -> usize {
        let known = self.0.lock();
        known.sends[Outcome::Done as usize].saturating_sub(known.came)
    }

    /// How many sends had this outcome.
    pub fn sends(&self, outcome: Outcome) -> usize {
        self.0.lock().sends[outcome as usize]
    }

    /// How many acks were answered.
    pub fn acks(&self) -> usize {
        self.0.lock().acks
    }

    /// The messages of senders whose name begins so that came at least once.
    pub fn came_of(&self, senders: &str) -> Vec<String> {
        let known = self.0.lock();
        let came = known.fates.iter().filter(|((name, _), f)| f.came && name.starts_with(senders));
        came.map(|((name, n), _)| format!("{name}:{n}")).collect()
    }

    /// What was wrong, once the queues are empty.
    pub fn faults(&self) -> Vec<String> {
        let known = self.0.lock();
        let wrong = known.fates.iter().filter_map(|((name, n), fate)| match fate.sent {
            Some(Outcome::Done) if !fate.came => Some(format!("{name}:{n}: lost")),
            Some(Outcome::Undone) if fate.came => Some(format!("{name}:{n}: refused, and came")),
            _ => None,
        });
        known.faults.iter().cloned().chain(wrong).collect()
    }
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// A ledger of messages whose sends were answered.
fn sent(bodies: &str) -> Ledger {
    let ledger = Ledger::default();
    for body in words(bodies) {
        ledger.sending(&body);
        ledger.sent(&body, Outcome::Done);
    }
    ledger
}

fn ack(ledger: &Ledger, body: &str, outcome: Outcome) {
    ledger.acking(body);
    ledger.acked(body, outcome);
}

#[test]
fn what_is_promised_is_no_fault() {
    let ledger = sent("a:1 a:2");
    ledger.sending("a:3");
    ledger.sent("a:3", Outcome::Unknown);
    // The answer of the first ack is lost: whether it comes again is open.
    ledger.received(ledger.moment(), &words("a:1"), true);
    ack(&ledger, "a:1", Outcome::Unknown);
    ledger.received(ledger.moment(), &words("a:2"), true);
    ledger.received(ledger.moment(), &words("a:1 a:2"), true);
    let earlier = ledger.moment();
    ack(&ledger, "a:1", Outcome::Done);
    ledger.received(earlier, &words("a:1"), true);
    ack(&ledger, "a:2", Outcome::Done);
    ledger.received(ledger.moment(), &words("a:3"), true);
    assert_eq!(ledger.faults(), [""; 0]);
}

#[test]
fn what_is_lost_made_up_refused_or_came_after_its_ack_is_found() {
    let ledger = sent("a:1 a:2");
    ledger.received(ledger.moment(), &words("a:1 b:7"), false);
    ack(&ledger, "a:1", Outcome::Done);
    ledger.received(ledger.moment(), &words("a:1"), false);
    ledger.sending("a:3");
    ledger.sent("a:3", Outcome::Undone);
    ledger.received(ledger.moment(), &words("a:3"), false);
    let found =
        ["b:7: never sent", "a:1: came after its ack", "a:2: lost", "a:3: refused, and came"];
    assert_eq!(ledger.faults(), found);
}

#[test]
fn what_comes_out_of_the_order_of_its_group_is_found() {
    let ledger = sent("a:1 a:2 a:3");
    ledger.received(ledger.moment(), &words("a:2"), true);
    assert_eq!(ledger.faults()[..1], ["a:2: came before 1 of its group"]);
    ack(&ledger, "a:1", Outcome::Unknown);
    ack(&ledger, "a:2", Outcome::Done);
    ledger.received(ledger.moment(), &words("a:1"), true);
    assert_eq!(ledger.faults()[1..2], ["a:1: came after the ack of 2 of its group"]);
}
