//! Property 7: a message goes to the dead-letter queue exactly when its attempts are used up, and
//! is never in both queues.

use super::Violation;
use super::facts::{Facts, HandOut};
use crate::crash::queues;

/// The pass.
pub fn check(facts: &Facts) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (body, message) in &facts.messages {
        let Some(rules) = message.sends.first().and_then(|send| queues::rules(&send.queue)) else {
            continue;
        };
        let (own, elsewhere): (Vec<&HandOut>, Vec<&HandOut>) =
            message.hand_outs.iter().partition(|h| h.queue == rules.name);
        let mut found = |what: String| {
            let what = format!("{body} of {}: {what}", rules.name);
            violations.push(Violation { property: "dead letter", what });
        };
        if let Some(stray) = elsewhere.iter().find(|h| Some(&*h.queue) != rules.dead_letter) {
            found(format!("came out of {}", stray.queue));
            continue;
        }
        let over = own.iter().filter_map(|h| h.count).find(|count| *count > rules.receives_max);
        let known = own.iter().filter(|h| h.forgotten.is_none()).count();
        if over.is_some() || known > rules.receives_max as usize {
            found(format!("{} deliveries, {} are allowed", own.len(), rules.receives_max));
        }
        if elsewhere.is_empty() && known >= rules.receives_max as usize && !message.may_be_acked() {
            found("used up its deliveries, and never came as a dead letter".to_owned());
        }
        let Some(dead) = elsewhere.iter().find(|h| h.forgotten.is_none()) else { continue };
        if let Some(after) = own.iter().find(|h| h.span.begin > dead.span.end) {
            found(format!("came out of both queues, last at {} ns", after.span.begin));
        }
        let unseen = facts.unseen_between(rules.name, message.since(), dead.span.end);
        let highest = own.iter().filter_map(|h| h.count).max().unwrap_or(0);
        if own.len().max(highest as usize) + unseen < rules.receives_max as usize {
            found(format!("dead after {} deliveries and {unseen} lost answers", own.len()));
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use crate::crash::checker::scenario::Scenario;

    fn failed(times: u32) -> Scenario {
        let mut scenario = Scenario::new();
        scenario.sent("poison", "a");
        for count in 1..=times {
            scenario.received("poison", "a", count).nacked("poison", "a", 0);
        }
        scenario
    }

    #[test]
    fn two_failures_and_then_the_dead_letter_queue_is_right() {
        let mut scenario = failed(2);
        scenario.received("dead", "a", 1).acked("dead", "a");
        assert!(scenario.properties().is_empty());
    }

    #[test]
    fn too_early_too_late_and_both_places_are_found() {
        let mut scenario = failed(1);
        scenario.received("dead", "a", 1);
        assert_eq!(scenario.properties(), ["dead letter"]);
        assert_eq!(failed(3).properties(), ["dead letter"]);
        let mut scenario = failed(1);
        scenario.cut_receive("poison").received("dead", "a", 1);
        assert!(scenario.properties().is_empty());
        scenario.pass(3000).received("poison", "a", 2);
        assert_eq!(scenario.properties(), ["dead letter"]);
    }

    #[test]
    fn a_message_that_used_up_its_deliveries_and_came_nowhere_is_found() {
        let of = |scenario: &Scenario| {
            let found = scenario.properties_undrained();
            found.iter().filter(|found| **found == "dead letter").count()
        };
        assert_eq!(of(&failed(2)), 1);
        let mut scenario = Scenario::new();
        scenario.sent("poison", "a").received("poison", "a", 1).nacked("poison", "a", 0);
        scenario.received("poison", "a", 2).cut_ack("poison", "a");
        assert_eq!(of(&scenario), 0);
    }

    #[test]
    fn an_answer_that_was_lost_long_before_explains_no_early_dead_letter() {
        let mut scenario = Scenario::new();
        scenario.cut_receive("poison").pass(6000).sent("poison", "a");
        scenario.received("poison", "a", 1).nacked("poison", "a", 0).received("dead", "a", 1);
        assert_eq!(scenario.properties(), ["dead letter"]);
    }

    #[test]
    fn a_message_out_of_a_foreign_queue_is_found() {
        let mut scenario = Scenario::new();
        scenario.sent("standard", "a").received("tube", "a", 1);
        assert_eq!(scenario.properties(), ["dead letter"]);
    }
}
