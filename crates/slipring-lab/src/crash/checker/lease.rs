//! Property 2: at most one valid lease. It also means that each duplicate is explained: by a
//! nack, a lapse, or the end of the holder's connection.

use super::facts::{Facts, HandOut, Message};
use super::{CLOCK_STEP_NS, Violation};
use crate::crash::history::Kind;

/// The pass.
pub fn check(facts: &Facts) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (body, message) in &facts.messages {
        // Hand-outs are ordered by answer. The lease of one that was answered before was valid
        // from that answer at the latest; this one began by its own answer at the latest.
        let mut holder: Option<&HandOut> = None;
        for hand_out in &message.hand_outs {
            if let Some(holder) = holder
                && hand_out.span.end + CLOCK_STEP_NS < holder.valid_until
                && !came_late(message, hand_out, holder)
            {
                let what = format!(
                    "{body} was handed out by {} ns, under a lease valid to {} ns",
                    hand_out.span.end, holder.valid_until
                );
                violations.push(Violation { property: "one valid lease", what });
            }
            if holder.is_none_or(|holder| holder.valid_until < hand_out.valid_until) {
                holder = Some(hand_out);
            }
        }
    }
    violations
}

/// Whether a hand-out is older than one that was answered before it, and was over when that began:
/// its server was stopped with the answer on the way. The counts tell which of two that were asked
/// for at the same time came first; where the protocol has none, that the older settles nothing.
fn came_late(message: &Message, hand_out: &HandOut, answered: &HandOut) -> bool {
    let older = match hand_out.count.zip(answered.count) {
        Some((own, other)) => own < other,
        None => {
            let own = |receipt: &str| receipt == hand_out.receipt;
            let mut settled = message.settlements.iter().filter(|s| s.kind == Kind::Ok);
            let mut extended = message.extensions.iter();
            !settled.any(|s| own(&s.receipt)) && !extended.any(|e| own(&e.receipt))
        }
    };
    older
        && hand_out.span.begin < answered.span.end
        && hand_out.valid_until <= answered.span.end + CLOCK_STEP_NS
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
    fn an_answer_that_comes_when_its_lease_is_over_is_no_second_lease() {
        // Received by somebody else so long after the first receive had begun.
        for (after_ms, found) in [(2100, 0), (1500, 1)] {
            let mut scenario = Scenario::new();
            scenario.sent("standard", "a").pass(after_ms).received("standard", "a", 2);
            scenario.pass(300).received_since(after_ms + 300, "a", 1);
            assert_eq!(scenario.properties().len(), found, "{after_ms} ms");
        }
        // The same count twice is of no hand-out that came before.
        let mut scenario = Scenario::new();
        scenario.sent("standard", "a").pass(2100).received("standard", "a", 2);
        scenario.pass(300).received_since(2400, "a", 2);
        assert!(scenario.properties().contains(&"one valid lease"));
    }

    #[test]
    fn what_an_operation_answered_first_is_older_than_its_end() {
        // Reserved 3,000 ms ago and lapsed, then received by somebody else, while the operation
        // waited for more; or reserved when that somebody had it, as its ack shows.
        for (answered_ms, found) in [(3000, 0), (100, 1)] {
            let mut scenario = Scenario::new();
            scenario.sent("standard", "a").pass(2500).received("standard", "a", 2);
            scenario.pass(500).reserved_among(3000, answered_ms, "a");
            if found > 0 {
                scenario.acked("standard", "a");
            }
            let violations = scenario.properties();
            let found_here = violations.iter().filter(|what| **what == "one valid lease");
            assert_eq!(found_here.count(), found, "{answered_ms} ms");
        }
    }

    #[test]
    fn a_reserve_whose_answer_comes_late_settles_nothing() {
        // Begun so long before somebody else was answered: its lease is over then, or is not.
        for (begun_ms, settles, found) in [(3000, false, 0), (3000, true, 1), (1500, false, 1)] {
            let mut scenario = Scenario::new();
            scenario.sent("standard", "a").pass(2500).received("standard", "a", 2);
            scenario.pass(500).reserved_among(begun_ms, 0, "a");
            if settles {
                scenario.acked("standard", "a");
            }
            let violations = scenario.properties();
            let found_here = violations.iter().filter(|what| **what == "one valid lease");
            assert_eq!(found_here.count(), found, "{begun_ms} ms, settles: {settles}");
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
