//! The loss checker: what was sent, handed out and acked for good, and what of it cannot be.

use std::collections::BTreeMap;

use parking_lot::Mutex;

/// What is known of a message.
#[derive(Debug, Default, Clone)]
struct Fate {
    /// Its transaction has committed.
    sent: bool,
    /// Its transaction was rolled back.
    undone: bool,
    /// How many transactions that ack it are about to end.
    acking: u32,
    /// The moment at which its ack was known to be committed.
    acked: Option<u64>,
}

/// What all workers know together.
#[derive(Debug, Default)]
struct Known {
    clock: u64,
    fates: BTreeMap<(String, u64), Fate>,
    faults: Vec<String>,
}

/// Everything that happened, and what was wrong with it. A message is the sender's name, which is
/// also its group, and a number that grows.
#[derive(Debug, Default)]
pub struct Ledger(Mutex<Known>);

/// The name and the number of a body such as `w3:17`.
fn parts(body: &str) -> Option<(String, u64)> {
    let (name, number) = body.split_once(':')?;
    Some((name.to_owned(), number.parse().ok()?))
}

impl Known {
    fn fate(&mut self, body: &str) -> &mut Fate {
        self.fates.entry(parts(body).unwrap_or_default()).or_default()
    }

    fn fault(&mut self, what: &str, body: &str) {
        self.faults.push(format!("{body}: {what}"));
    }

    fn look(&mut self, since: u64, body: &str) {
        let fate = parts(body).and_then(|parts| self.fates.get(&parts).cloned());
        match fate {
            None => self.fault("handed out, but never sent", body),
            Some(fate) if fate.undone => self.fault("its send was rolled back", body),
            Some(fate) if fate.acked.is_some_and(|acked| acked <= since) => {
                self.fault("handed out after its ack", body);
            }
            Some(_) => {}
        }
    }

    fn order(&mut self, body: &str, before: &[String]) {
        let Some((name, number)) = parts(body) else { return };
        let earlier = self.fates.range((name.clone(), 0)..(name, number));
        let open = |((name, n), fate): (&(String, u64), &Fate)| {
            let body = format!("{name}:{n}");
            let gone = fate.undone || fate.acking > 0 || fate.acked.is_some();
            (!gone && !before.contains(&body)).then_some(body)
        };
        if let Some(earlier) = earlier.rev().take(200).find_map(open) {
            self.fault(&format!("handed out before {earlier} of its group"), body);
        }
    }
}

impl Ledger {
    /// A message is about to be sent.
    pub fn sending(&self, body: &str) {
        self.0.lock().fate(body);
    }

    /// The transaction that sent messages has ended.
    pub fn sent(&self, bodies: &[String], committed: bool) {
        let mut known = self.0.lock();
        for body in bodies {
            let fate = known.fate(body);
            (fate.sent, fate.undone) = (committed, !committed);
        }
    }

    /// The moment at which a receive begins.
    pub fn moment(&self) -> u64 {
        self.0.lock().clock
    }

    /// A receive that began at a moment was handed these, in this order; `ordered` where later
    /// messages of a group have to wait for earlier ones.
    pub fn received(&self, since: u64, bodies: &[String], ordered: bool) {
        let mut known = self.0.lock();
        for (n, body) in bodies.iter().enumerate() {
            known.look(since, body);
            if ordered {
                known.order(body, &bodies[..n]);
            }
        }
    }

    /// A transaction that acks these is about to commit.
    pub fn acking(&self, bodies: &[String]) {
        let mut known = self.0.lock();
        bodies.iter().for_each(|body| known.fate(body).acking += 1);
    }

    /// That transaction has ended.
    pub fn acked(&self, bodies: &[String], committed: bool) {
        let mut known = self.0.lock();
        for body in bodies {
            known.clock += 1;
            let now = known.clock;
            let fate = known.fate(body);
            fate.acking = fate.acking.saturating_sub(1);
            if committed && fate.acked.replace(now).is_some() {
                known.fault("acked twice", body);
            }
        }
    }

    /// Messages that are still to come, as far as is known.
    pub fn outstanding(&self) -> usize {
        let known = self.0.lock();
        known.fates.values().filter(|fate| fate.sent && fate.acked.is_none()).count()
    }

    /// How many were sent and acked for good.
    pub fn counts(&self) -> (usize, usize) {
        let known = self.0.lock();
        let count = |of: fn(&Fate) -> bool| known.fates.values().filter(|fate| of(fate)).count();
        (count(|fate| fate.sent), count(|fate| fate.acked.is_some()))
    }

    /// What was wrong, when all queues are empty.
    pub fn faults(&self) -> Vec<String> {
        let known = self.0.lock();
        let lost = known.fates.iter().filter(|(_, fate)| fate.sent && fate.acked.is_none());
        let lost = lost.map(|((name, n), _)| format!("{name}:{n}: lost"));
        known.faults.iter().cloned().chain(lost).collect()
    }
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// A ledger of two messages that were sent.
fn two() -> Ledger {
    let ledger = Ledger::default();
    words("a:1 a:2").iter().for_each(|body| ledger.sending(body));
    ledger.sent(&words("a:1 a:2"), true);
    ledger
}

#[test]
fn a_good_history_has_no_fault() {
    let ledger = two();
    ledger.received(ledger.moment(), &words("a:1 a:2"), true);
    ledger.acking(&words("a:1 a:2"));
    ledger.acked(&words("a:1 a:2"), true);
    assert_eq!(ledger.faults(), [""; 0]);
}

#[test]
fn a_lost_a_made_up_and_a_late_message_are_found() {
    let ledger = two();
    assert_eq!(ledger.faults(), ["a:1: lost", "a:2: lost"]);
    ledger.acked(&words("a:1 a:2"), true);
    ledger.received(ledger.moment(), &words("a:1 b:7"), false);
    let found = ["a:1: handed out after its ack", "b:7: handed out, but never sent"];
    assert_eq!(ledger.faults(), found);
    ledger.acked(&words("a:1"), true);
    ledger.sending("a:3");
    ledger.sent(&words("a:3"), false);
    ledger.received(ledger.moment(), &words("a:3"), false);
    assert_eq!(ledger.faults()[2..], ["a:1: acked twice", "a:3: its send was rolled back"]);
}

#[test]
fn a_message_before_an_earlier_one_of_its_group_is_found() {
    let ledger = two();
    ledger.received(0, &words("a:2"), true);
    assert_eq!(ledger.faults()[0], "a:2: handed out before a:1 of its group");
}
