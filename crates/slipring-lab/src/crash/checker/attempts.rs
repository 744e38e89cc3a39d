//! Property 6: the receive count grows by one with each hand-out of a queue.

use std::collections::BTreeMap;

use super::Violation;
use super::facts::{Facts, HandOut};

/// The pass.
pub fn check(facts: &Facts) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (body, message) in &facts.messages {
        let mut by_queue: BTreeMap<&str, Vec<&HandOut>> = BTreeMap::new();
        for hand_out in &message.hand_outs {
            by_queue.entry(&hand_out.queue).or_default().push(hand_out);
        }
        for (queue, hand_outs) in by_queue {
            let found = check_queue(facts, queue, message.since(), &hand_outs);
            let found = found.map(|what| format!("{body} from {queue}: {what}"));
            violations.extend(found.map(|what| Violation { property: "receive count", what }));
        }
    }
    violations
}

fn check_queue(facts: &Facts, queue: &str, since: u64, hand_outs: &[&HandOut]) -> Option<String> {
    let mut counted: Vec<(u32, &HandOut)> =
        hand_outs.iter().filter_map(|h| Some((h.count?, *h))).collect();
    counted.sort_by_key(|(count, _)| *count);
    let (highest, last) = *counted.last()?;
    for pair in counted.windows(2) {
        let [(before, earlier), (after, later)] = pair else { continue };
        if earlier.forgotten.or(later.forgotten).is_some() {
            continue;
        }
        if before == after {
            return Some(format!("count {before} was shown twice"));
        }
        if later.span.end < earlier.span.begin {
            return Some(format!("count {after} came before count {before}"));
        }
    }
    if counted.first().is_some_and(|(lowest, _)| *lowest == 0) {
        return Some("a delivery shows count 0".to_owned());
    }
    // A count that nobody saw belongs to a hand-out without a count, or to a lost answer.
    let missing = (highest as usize).saturating_sub(counted.len());
    let uncounted = hand_outs.len() - counted.len();
    let unseen = facts.unseen_between(queue, since, last.span.end);
    if missing > uncounted + unseen {
        return Some(format!(
            "count {highest} after {} deliveries and {unseen} lost answers",
            hand_outs.len()
        ));
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::crash::checker::scenario::Scenario;

    #[test]
    fn a_count_that_repeats_or_jumps_is_found() {
        for second in [1, 3] {
            let mut scenario = Scenario::new();
            scenario.sent("standard", "a").received("standard", "a", 1).nacked("standard", "a", 0);
            scenario.received("standard", "a", second);
            assert_eq!(scenario.properties(), ["receive count"], "count {second}");
        }
    }

    #[test]
    fn a_killed_database_may_have_forgotten_a_hand_out_of_the_last_moment() {
        for (passed_ms, found) in [(100, Vec::new()), (1500, vec!["receive count"])] {
            let mut scenario = Scenario::new();
            scenario.sent("standard", "a").received("standard", "a", 1);
            scenario.pass(passed_ms).killed_database();
            scenario.pass(2000).received("standard", "a", 1);
            assert_eq!(scenario.properties(), found, "{passed_ms} ms before");
        }
    }

    #[test]
    fn a_lost_answer_and_a_protocol_without_counts_explain_a_jump() {
        let mut scenario = Scenario::new();
        scenario.sent("standard", "a").cut_receive("standard");
        scenario.pass(3000).received("standard", "a", 2);
        assert!(scenario.properties().is_empty());
        let mut scenario = Scenario::new();
        scenario.sent("tube", "a").reserved("tube", "a").pass(3000).received("tube", "a", 2);
        assert!(scenario.properties().is_empty());
    }

    #[test]
    fn an_answer_that_was_lost_before_the_message_was_sent_explains_nothing() {
        for (passed_ms, found) in [(100, 0), (4000, 0), (6000, 1)] {
            let mut scenario = Scenario::new();
            scenario.cut_receive("standard").pass(passed_ms).sent("standard", "a");
            scenario.received("standard", "a", 2);
            assert_eq!(scenario.count("receive count"), found, "{passed_ms} ms");
        }
    }
}
