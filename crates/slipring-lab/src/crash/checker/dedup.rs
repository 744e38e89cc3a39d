//! Property 5: of sends with one deduplication id within the window, one message is stored.

use std::collections::BTreeMap;

use super::facts::{Facts, Message, Send};
use super::{Violation, ns};
use crate::crash::history::Kind;
use crate::crash::queues::DEDUP_WINDOW_MS;

/// The pass.
pub fn check(facts: &Facts) -> Vec<Violation> {
    let mut same: BTreeMap<(&str, &str), Vec<(&Send, &Message)>> = BTreeMap::new();
    for message in facts.messages.values() {
        let Some(send) = message.sends.first() else { continue };
        if let Some(dedup) = &send.sending.dedup {
            same.entry((&send.queue, dedup)).or_default().push((send, message));
        }
    }
    let mut violations = Vec::new();
    for ((queue, dedup), sends) in same {
        let first = sends.iter().map(|(send, _)| send.span.begin).min().unwrap_or(0);
        let within = sends.iter().filter(|(send, _)| send.span.end < first + ns(DEDUP_WINDOW_MS));
        let mut ids: Vec<&str> = Vec::new();
        let mut stored = 0;
        for (send, message) in within {
            stored += usize::from(!message.hand_outs.is_empty());
            if let (Kind::Ok, Some(id)) = (send.kind, &send.sending.id) {
                ids.push(id);
            }
        }
        let mut found = |what: &str| {
            let what = format!("{what} for id {dedup} in {queue}");
            violations.push(Violation { property: "deduplication", what });
        };
        if stored > 1 {
            found("more than one message came");
        }
        ids.sort_unstable();
        ids.dedup();
        if ids.len() > 1 {
            found("more than one message id was answered");
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use crate::crash::checker::scenario::Scenario;

    #[test]
    fn two_messages_of_one_id_are_found() {
        let mut scenario = Scenario::new();
        scenario.sent_once("once.fifo", "d", "a", "1").sent_once("once.fifo", "d", "b", "1");
        scenario.received("once.fifo", "a", 1).acked("once.fifo", "a");
        assert!(scenario.properties().is_empty());
        scenario.received("once.fifo", "b", 1);
        assert_eq!(scenario.properties(), ["deduplication"]);
    }

    #[test]
    fn two_answers_for_one_id_are_found() {
        let mut scenario = Scenario::new();
        scenario.sent_once("once.fifo", "d", "a", "1").sent_once("once.fifo", "d", "b", "2");
        scenario.received("once.fifo", "a", 1);
        assert_eq!(scenario.properties(), ["deduplication"]);
    }

    #[test]
    fn neither_of_two_messages_coming_is_a_loss() {
        let mut scenario = Scenario::new();
        scenario.sent_once("once.fifo", "d", "a", "1").sent_once("once.fifo", "d", "b", "1");
        assert_eq!(scenario.properties(), ["no loss", "no loss"]);
    }
}
