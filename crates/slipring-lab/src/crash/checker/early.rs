//! Property 4: neither a delay nor the delay of a nack ends early; a nack that makes a message a
//! dead letter delays nothing. That a lease does not lapse
//! early is part of "one valid lease"; that nothing stays for ever, of "no loss".

use super::facts::Facts;
use super::{CLOCK_STEP_NS, Violation, ns};
use crate::crash::history::Kind;

/// The pass.
pub fn check(facts: &Facts) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (body, message) in &facts.messages {
        let queue = message.sends.first().map_or("", |send| &send.queue);
        let mut too_early = |what: &str, begin: u64, delay_ms: u64, end: u64| {
            // A kick ends the delay of what it finds delayed.
            if end + CLOCK_STEP_NS < begin + ns(delay_ms) && !facts.kicked(queue, body, begin, end)
            {
                let after_ms = end.saturating_sub(begin) / 1_000_000;
                let what = format!("{body} came {after_ms} ms after {what} of {delay_ms} ms");
                violations.push(Violation { property: "never early", what });
            }
        };
        if let (Some(send), Some(first)) = (message.sends.first(), message.hand_outs.first()) {
            too_early("a delay", send.span.begin, send.sending.delay_ms, first.span.end);
        }
        for nack in message.settlements.iter().filter(|s| s.kind == Kind::Ok) {
            let Some(delay_ms) = nack.nack_delay_ms else { continue };
            let given_back = message.hand_outs.iter().find(|h| h.receipt == nack.receipt);
            let next = message.hand_outs.iter().find(|h| h.is_after(nack));
            if let Some(next) = next
                && given_back.is_none_or(|given_back| given_back.queue == next.queue)
            {
                too_early("a nack", nack.span.begin, delay_ms, next.span.end);
            }
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use crate::crash::checker::scenario::Scenario;

    #[test]
    fn a_delayed_message_that_comes_at_once_is_found() {
        let mut scenario = Scenario::new();
        scenario.sent_delayed("standard", "a", 1000).pass(900).received("standard", "a", 1);
        assert_eq!(scenario.properties(), ["never early"]);
        let mut scenario = Scenario::new();
        scenario.sent_delayed("standard", "a", 1000).pass(1000).received("standard", "a", 1);
        assert!(scenario.properties().is_empty());
    }

    #[test]
    fn a_kick_explains_a_delay_that_ended_early_and_only_one_of_that_message() {
        for (kicked, found) in [(Some("a"), 0), (None, 0), (Some("b"), 1)] {
            let mut scenario = Scenario::new();
            scenario.sent_delayed("standard", "a", 1000).kicked("standard", kicked);
            scenario.received("standard", "a", 1);
            assert_eq!(scenario.properties().len(), found, "{kicked:?}");
        }
    }

    #[test]
    fn a_nacked_message_that_comes_before_its_time_is_found() {
        let mut scenario = Scenario::new();
        scenario.sent("standard", "a").received("standard", "a", 1).nacked("standard", "a", 1000);
        scenario.pass(500).received("standard", "a", 2);
        assert_eq!(scenario.properties(), ["never early"]);
    }

    #[test]
    fn a_receive_that_waited_already_when_a_message_was_nacked_is_looked_at() {
        for (after_ms, found) in [(500, 1), (1000, 0)] {
            let mut scenario = Scenario::new();
            scenario.sent("standard", "a").received("standard", "a", 1);
            scenario.nacked("standard", "a", 1000).pass(after_ms);
            scenario.received_since(after_ms + 1, "standard", "a", 2);
            assert_eq!(scenario.count("never early"), found, "{after_ms} ms");
        }
        // One that was answered late and whose lease was over when the message was nacked.
        let mut scenario = Scenario::new();
        scenario.sent("standard", "a").pass(2500).received("standard", "a", 2);
        scenario.nacked("standard", "a", 1000).received_since(2502, "standard", "a", 1);
        assert_eq!(scenario.count("never early"), 0);
    }

    #[test]
    fn a_nack_that_makes_a_dead_letter_delays_nothing() {
        let mut scenario = Scenario::new();
        scenario.sent("poison", "a").received("poison", "a", 1).nacked("poison", "a", 0);
        scenario.received("poison", "a", 2).nacked("poison", "a", 1000);
        scenario.pass(100).received("dead", "a", 1);
        assert!(scenario.properties().is_empty(), "{:?}", scenario.properties());
    }
}
