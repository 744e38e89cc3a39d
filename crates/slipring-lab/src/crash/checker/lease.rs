//! Property 2: at most one valid lease. It also means that each duplicate is explained: by a
//! nack, a lapse, or the end of the holder's connection.

use super::facts::Facts;
use super::{CLOCK_STEP_NS, Violation};

/// The pass.
pub fn check(facts: &Facts) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (body, message) in &facts.messages {
        // Hand-outs are ordered by answer. The lease of one that was answered before was valid
        // from that answer at the latest; this one began by its own answer at the latest.
        let mut valid_until = 0;
        for hand_out in &message.hand_outs {
            if hand_out.span.end + CLOCK_STEP_NS < valid_until {
                let what = format!(
                    "{body} was handed out by {} ns, under a lease valid to {valid_until} ns",
                    hand_out.span.end
                );
                violations.push(Violation { property: "one valid lease", what });
            }
            valid_until = valid_until.max(hand_out.valid_until);
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use crate::crash::checker::scenario::Scenario;

    #[test]
    fn a_second_lease_within_the_first_is_found_even_over_a_kill() {
        for kill in [false, true] {
            let mut scenario = Scenario::new();
            scenario.sent("standard", "a").received("standard", "a", 1);
            if kill {
                scenario.killed();
            }
            scenario.pass(500).received("standard", "a", 2);
            assert_eq!(scenario.properties(), ["one valid lease"], "kill: {kill}");
        }
    }

    #[test]
    fn a_second_lease_within_a_prolonged_one_is_found() {
        for (after, found) in [(1900, 1), (2100, 0)] {
            let mut scenario = Scenario::new();
            scenario.sent("standard", "a").received("standard", "a", 1);
            scenario.pass(1500).extended("standard", "a", 2000);
            scenario.pass(after).received("standard", "a", 2);
            assert_eq!(scenario.properties().len(), found, "after {after} ms");
        }
    }

    #[test]
    fn a_lapse_a_nack_and_a_cut_connection_explain_a_second_delivery() {
        let mut scenario = Scenario::new();
        scenario.sent("standard", "a").received("standard", "a", 1);
        scenario.pass(2001).received("standard", "a", 2).nacked("standard", "a", 0);
        scenario.received("standard", "a", 3).acked("standard", "a");
        assert!(scenario.properties().is_empty());

        let mut scenario = Scenario::new();
        scenario.sent("tube", "b").reserved("tube", "b");
        scenario.killed().reserved("tube", "b");
        assert!(scenario.properties().is_empty());
        let mut scenario = Scenario::new();
        scenario.sent("tube", "b").reserved("tube", "b").reserved("tube", "b");
        assert_eq!(scenario.properties(), ["one valid lease"]);
    }
}
