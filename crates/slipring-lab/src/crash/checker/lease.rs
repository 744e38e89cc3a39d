//! Property 2: at most one valid lease. It also means that each duplicate is explained: by a
//! nack, a lapse, or the end of the holder's connection.

use super::facts::{Facts, HandOut, Message};
use super::{CLOCK_STEP_NS, Violation};
use crate::crash::history::Kind;
use crate::crash::queues;

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
/// its server was stopped with the answer on the way.
fn came_late(message: &Message, hand_out: &HandOut, answered: &HandOut) -> bool {
    is_older(message, hand_out, answered)
        && hand_out.span.begin < answered.span.end
        && hand_out.valid_until <= answered.span.end + CLOCK_STEP_NS
}

/// Which of two hand-outs that were asked for at the same time came first. A message never comes
/// back from a dead-letter queue; within a queue the counts tell. Where the protocol has none, the
/// older settles nothing while the other's lease lasts: later a beanstalkd client may delete the
/// job that is ready again, and an ack that is answered with success whether it had an effect or
/// not does not count at all.
fn is_older(message: &Message, hand_out: &HandOut, answered: &HandOut) -> bool {
    if hand_out.queue != answered.queue {
        let dead_letter = queues::rules(&hand_out.queue).and_then(|rules| rules.dead_letter);
        return dead_letter == Some(&answered.queue);
    }
    if let Some((own, other)) = hand_out.count.zip(answered.count) {
        return own < other;
    }
    let own = |receipt: &str| receipt == hand_out.receipt;
    let held_until = held_until(message, answered);
    let mut settled = message
        .settlements
        .iter()
        .filter(|s| s.kind == Kind::Ok && s.strict && s.span.end <= held_until);
    let mut extended = message.extensions.iter();
    !settled.any(|s| own(&s.receipt)) && !extended.any(|e| own(&e.receipt))
}

/// Until when a hand-out was surely held. A settlement that was refused ends nothing.
fn held_until(message: &Message, hand_out: &HandOut) -> u64 {
    if hand_out.cut || hand_out.forgotten.is_some() {
        return hand_out.valid_until;
    }
    let own = message.settlements.iter().filter(|s| s.receipt == hand_out.receipt);
    let ended = own.filter(|s| s.kind != Kind::Fail).map(|s| s.span.begin);
    ended.min().unwrap_or(u64::MAX).min(hand_out.lapse)
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
            scenario.pass(300).received_since(after_ms + 300, "standard", "a", 1);
            assert_eq!(scenario.properties().len(), found, "{after_ms} ms");
        }
        // The same count twice is of no hand-out that came before.
        let mut scenario = Scenario::new();
        scenario.sent("standard", "a").pass(2100).received("standard", "a", 2);
        scenario.pass(300).received_since(2400, "standard", "a", 2);
        assert!(scenario.properties().contains(&"one valid lease"));
    }

    #[test]
    fn an_answer_that_comes_when_the_message_is_a_dead_letter_is_no_second_lease() {
        for (after_ms, found) in [(2100, 0), (1500, 1)] {
            let mut scenario = Scenario::new();
            scenario.sent("poison", "a").received("poison", "a", 1).nacked("poison", "a", 0);
            scenario.pass(after_ms).received("dead", "a", 1);
            scenario.pass(300).received_since(after_ms + 300, "poison", "a", 2);
            assert_eq!(scenario.count("one valid lease"), found, "{after_ms} ms");
        }
    }

    #[test]
    fn a_late_answer_whose_ack_may_be_without_effect_is_no_second_lease() {
        // Another client reserves the message after the first lease has lapsed, or before.
        for (after_ms, found) in [(2100, 0), (1500, 1)] {
            let mut scenario = Scenario::new();
            scenario.sent("standard", "a").pass(after_ms).reserved("standard", "a");
            scenario.pass(300).received_since(after_ms + 300, "standard", "a", 1);
            scenario.acked("standard", "a");
            assert_eq!(scenario.count("one valid lease"), found, "{after_ms} ms");
        }
    }

    #[test]
    fn a_job_may_be_deleted_by_a_late_holder_when_it_is_ready_again() {
        // Given back by the holder before the late one deletes it, or not.
        for (nacked, found) in [(true, 0), (false, 1)] {
            let mut scenario = Scenario::new();
            scenario.sent("standard", "a").pass(2500).received("standard", "a", 2);
            let held = scenario.receipt();
            scenario.pass(500).reserved_among(3000, 0, "a");
            let late = scenario.receipt();
            if nacked {
                scenario.nacked_by("standard", "a", &held);
            }
            scenario.acked_by("standard", "a", &late);
            assert_eq!(scenario.count("one valid lease"), found, "given back: {nacked}");
        }
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
            assert_eq!(scenario.count("one valid lease"), found, "{answered_ms} ms");
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
            assert_eq!(
                scenario.count("one valid lease"),
                found,
                "{begun_ms} ms, settles: {settles}"
            );
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
