//! Property 1: after an acknowledged ack a message never comes again, whatever crashes.

use super::Violation;
use super::facts::{Facts, Message, Settlement};
use crate::crash::history::Kind;
use crate::crash::queues;

/// The pass.
pub fn check(facts: &Facts) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (body, message) in &facts.messages {
        let acks = message.settlements.iter().filter(|s| {
            s.nack_delay_ms.is_none() && s.kind == Kind::Ok && proves(facts, message, s)
        });
        let Some(ack) = acks.min_by_key(|ack| ack.span.end) else { continue };
        if let Some(later) = message.hand_outs.iter().find(|h| h.is_after(ack)) {
            let what = format!(
                "{body} was acked by {} ns and handed out by {} ns",
                ack.span.end, later.span.end
            );
            violations.push(Violation { property: "gone is gone", what });
        }
    }
    violations
}

/// Whether an answered ack proves that the message is gone. SQS answers the delete of a stale
/// receipt with success and without effect; stale it can only be when somebody else got the
/// message before, or when it lapsed with its attempts used up and went to the dead-letter queue.
fn proves(facts: &Facts, message: &Message, ack: &Settlement) -> bool {
    if ack.strict {
        return true;
    }
    let Some(own) = message.hand_outs.iter().find(|h| h.receipt == ack.receipt) else {
        return false;
    };
    if own.forgotten.is_some_and(|at| ack.span.end > at) {
        return false;
    }
    if ack.span.end <= own.lapse {
        return true;
    }
    let rules = queues::rules(&own.queue);
    if rules.is_some_and(|r| r.dead_letter.is_some() && own.count >= Some(r.receives_max)) {
        return false;
    }
    // There an ack needs the valid lease (S3.4).
    if rules.is_some_and(|rules| rules.fifo) {
        return false;
    }
    let seen = message.hand_outs.iter().any(|other| {
        other.receipt != ack.receipt
            && other.span.end > own.span.begin
            && other.span.begin < ack.span.end
    });
    !seen && facts.undisturbed(&own.queue, own.span.begin, ack.span.end)
}

#[cfg(test)]
mod tests {
    use crate::crash::checker::scenario::Scenario;

    #[test]
    fn a_message_that_comes_after_its_ack_was_answered_is_found() {
        let mut scenario = Scenario::new();
        scenario.sent("standard", "a").received("standard", "a", 1).acked("standard", "a");
        assert!(scenario.properties().is_empty());
        scenario.killed().pass(5000).received("standard", "a", 2);
        assert_eq!(scenario.properties(), ["gone is gone"]);
    }

    #[test]
    fn a_receive_that_waited_already_and_got_an_acked_message_is_found() {
        let mut scenario = Scenario::new();
        scenario.sent("standard", "a").received("standard", "a", 1).acked("standard", "a");
        scenario.pass(500).received_since(501, "standard", "a", 2);
        assert_eq!(scenario.count("gone is gone"), 1);
    }

    #[test]
    fn an_answer_that_was_lost_long_before_makes_no_ack_doubtful() {
        for (passed_ms, found) in [(0, 0), (4000, 0), (6000, 1)] {
            let mut scenario = Scenario::new();
            scenario.cut_receive("standard").pass(passed_ms).sent("standard", "a");
            scenario.received("standard", "a", 1).pass(2100).acked("standard", "a");
            scenario.pass(100).received("standard", "a", 2);
            assert_eq!(scenario.count("gone is gone"), found, "{passed_ms} ms");
        }
    }

    #[test]
    fn a_delete_after_a_lapse_in_a_fifo_queue_proves_nothing() {
        for (queue, found) in [("ordered.fifo", 0), ("standard", 1)] {
            let mut scenario = Scenario::new();
            scenario.sent(queue, "a").received(queue, "a", 1).pass(2100).acked(queue, "a");
            scenario.pass(100).received(queue, "a", 2);
            assert_eq!(scenario.count("gone is gone"), found, "{queue}");
        }
    }

    #[test]
    fn an_ack_without_an_answer_proves_nothing() {
        let mut scenario = Scenario::new();
        scenario.sent("standard", "a").received("standard", "a", 1).cut_ack("standard", "a");
        scenario.killed().pass(5000).received("standard", "a", 2);
        assert!(scenario.properties().is_empty());
    }

    #[test]
    fn a_stale_delete_that_was_let_pass_proves_nothing() {
        let mut scenario = Scenario::new();
        scenario.sent("standard", "a").received("standard", "a", 1);
        let stale = scenario.receipt();
        scenario.pass(3000).received("standard", "a", 2).acked_by("standard", "a", &stale);
        scenario.pass(3000).received("standard", "a", 3);
        assert!(scenario.properties().is_empty());
    }

    #[test]
    fn a_delete_after_the_last_attempt_lapsed_proves_nothing() {
        for (last_count, found) in [(2, vec![]), (1, vec!["gone is gone"])] {
            let mut scenario = Scenario::new();
            scenario.sent("poison", "a");
            for count in 1..=last_count {
                scenario.received("poison", "a", count).pass(2100);
            }
            scenario.acked("poison", "a");
            let (queue, count) = if last_count == 2 { ("dead", 1) } else { ("poison", 2) };
            scenario.pass(100).received(queue, "a", count);
            assert_eq!(scenario.properties(), found, "{last_count} attempts");
        }
    }
}
