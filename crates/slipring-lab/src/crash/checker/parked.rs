//! Property 8: what was set aside (buried) stays until it is kicked, and comes again then. The
//! drain kicks everything, so in the end nothing may be left aside.

use super::Violation;
use super::facts::{Facts, Message, Settlement};
use crate::crash::history::Kind;

/// The pass.
pub fn check(facts: &Facts) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (body, message) in &facts.messages {
        let buries = message.settlements.iter().filter(|s| s.buries && s.kind == Kind::Ok);
        for what in buries.filter_map(|bury| check_one(facts, body, message, bury)) {
            violations.push(Violation { property: "parked", what: format!("{body} {what}") });
        }
    }
    violations
}

fn check_one(facts: &Facts, body: &str, message: &Message, bury: &Settlement) -> Option<String> {
    let next = message.hand_outs.iter().find(|h| h.is_after(bury));
    if let Some(next) = next {
        let kicked = facts.kicked(&next.queue, body, bury.span.begin, next.span.end);
        let what = format!("was buried by {} ns and came without a kick", bury.span.end);
        return (!kicked).then_some(what);
    }
    // A receive that was under way, or an ack, may have been after the bury and a kick.
    let later =
        message.hand_outs.iter().any(|h| h.receipt != bury.receipt && h.span.end > bury.span.begin);
    let acked = message
        .settlements
        .iter()
        .any(|s| s.nack_delay_ms.is_none() && s.kind != Kind::Fail && s.span.end > bury.span.begin);
    let what = format!("was buried by {} ns and never came again", bury.span.end);
    (!later && !acked).then_some(what)
}

#[cfg(test)]
mod tests {
    use crate::crash::checker::scenario::Scenario;

    fn buried() -> Scenario {
        let mut scenario = Scenario::new();
        scenario.sent("tube", "a").reserved("tube", "a").buried("tube", "a");
        scenario
    }

    #[test]
    fn a_buried_message_that_comes_without_a_kick_or_never_is_found() {
        assert_eq!(buried().properties(), ["no loss", "parked"]);
        let mut scenario = buried();
        scenario.killed().reserved("tube", "a");
        assert_eq!(scenario.properties(), ["parked"]);
        let mut scenario = buried();
        scenario.kicked("standard", None).kicked("tube", Some("b")).reserved("tube", "a");
        assert_eq!(scenario.properties(), ["parked"]);
    }

    #[test]
    fn a_kick_brings_a_buried_message_back() {
        for kicked in [Some("a"), None] {
            let mut scenario = buried();
            scenario.killed().kicked("tube", kicked).reserved("tube", "a").acked("tube", "a");
            assert!(scenario.properties().is_empty());
        }
    }

    #[test]
    fn a_receive_that_waited_already_and_got_a_buried_message_is_found() {
        let mut scenario = buried();
        scenario.pass(100).received_since(101, "tube", "a", 2);
        assert_eq!(scenario.count("parked"), 1);
        let mut scenario = buried();
        scenario.kicked("tube", Some("a")).received_since(5, "tube", "a", 2);
        assert_eq!(scenario.count("parked"), 0);
    }
}
