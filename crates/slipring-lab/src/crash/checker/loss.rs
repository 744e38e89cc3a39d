//! Nothing acknowledged is lost, nothing is invented, and what was refused never comes.

use super::facts::{Facts, Message};
use super::{Violation, ns};
use crate::crash::history::Kind;
use crate::crash::queues::DEDUP_WINDOW_MS;

/// The pass.
pub fn check(facts: &Facts) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (body, message) in &facts.messages {
        let mut found = |property, what: String| violations.push(Violation { property, what });
        if message.sends.len() > 1 {
            found("history", format!("{body} was sent twice"));
        }
        let Some(send) = message.sends.first() else {
            if !message.hand_outs.is_empty() {
                found("no invention", format!("{body} was received, and nobody sent it"));
            }
            continue;
        };
        let received = !message.hand_outs.is_empty();
        if send.kind == Kind::Fail && received {
            found("no invention", format!("{body} was received, and its send had been refused"));
        }
        if send.kind == Kind::Ok && !received && !stands_in(facts, message) {
            found("no loss", format!("{body} was acknowledged in {} and never came", send.queue));
        }
        // The drain acks whatever there is, so what was handed out must end with an ack, also
        // where the answer to its send was lost.
        if send.kind != Kind::Fail && received && !message.may_be_acked() {
            let last = message.hand_outs.last().map_or(0, |hand_out| hand_out.span.end);
            let what = format!("{body} of {} came last by {last} ns", send.queue);
            found("no loss", format!("{what}, was not acked and never came again"));
        }
    }
    violations
}

/// Whether another message with the same deduplication id may have come in place of this one.
fn stands_in(facts: &Facts, message: &Message) -> bool {
    let Some(send) = message.sends.first() else { return false };
    let Some(dedup) = &send.sending.dedup else { return false };
    let bodies = facts.same_id.get(&(send.queue.clone(), dedup.clone()));
    let others = bodies.into_iter().flatten().filter_map(|body| facts.messages.get(body));
    others.filter(|other| !other.hand_outs.is_empty()).any(|other| {
        other.sends.iter().any(|earlier| {
            earlier.kind != Kind::Fail
                && earlier.span.begin < send.span.end
                && send.span.begin < earlier.span.begin + ns(DEDUP_WINDOW_MS)
        })
    })
}

#[cfg(test)]
mod tests {
    use crate::crash::checker::scenario::Scenario;

    #[test]
    fn an_acknowledged_message_that_never_comes_is_lost() {
        let mut scenario = Scenario::new();
        scenario.sent("standard", "a").sent("standard", "b").received("standard", "a", 1);
        assert_eq!(scenario.properties(), ["no loss"]);
    }

    #[test]
    fn a_message_nobody_sent_is_invented_and_so_is_one_that_was_refused() {
        let mut scenario = Scenario::new();
        scenario.received("standard", "ghost", 1);
        assert_eq!(scenario.properties(), ["no invention"]);
        let mut scenario = Scenario::new();
        scenario.refused("standard", "a").received("standard", "a", 1);
        assert_eq!(scenario.properties(), ["no invention"]);
    }

    #[test]
    fn an_unknown_send_may_come_or_not() {
        let mut scenario = Scenario::new();
        scenario.cut_send("standard", "a").cut_send("standard", "b");
        scenario.received("standard", "a", 1);
        assert!(scenario.properties().is_empty());
    }

    #[test]
    fn a_message_that_is_lost_after_its_first_hand_out_is_found() {
        let handed_out = || {
            let mut scenario = Scenario::new();
            scenario.sent("standard", "a").received("standard", "a", 1);
            scenario
        };
        assert_eq!(handed_out().properties_undrained(), ["no loss"]);
        let mut scenario = handed_out();
        scenario.nacked("standard", "a", 0).killed();
        assert_eq!(scenario.properties_undrained(), ["no loss"]);
        let mut scenario = handed_out();
        scenario.killed().pass(3000).received("standard", "a", 2).acked("standard", "a");
        assert!(scenario.properties_undrained().is_empty());
    }

    #[test]
    fn an_ack_that_was_cut_may_have_had_its_effect_and_a_stale_one_has_had_none() {
        let mut scenario = Scenario::new();
        scenario.sent("standard", "a").received("standard", "a", 1).cut_ack("standard", "a");
        assert!(scenario.properties_undrained().is_empty());
        let mut scenario = Scenario::new();
        scenario.sent("standard", "a").received("standard", "a", 1);
        let stale = scenario.receipt();
        scenario.pass(3000).received("standard", "a", 2).acked_by("standard", "a", &stale);
        assert_eq!(scenario.properties_undrained(), ["no loss"]);
    }

    #[test]
    fn an_ack_that_was_cut_is_no_excuse_when_its_message_came_again_after_it() {
        // So soon after the cut the ack may still have its effect.
        for (passed_ms, found) in [(2500, vec![]), (6000, vec!["no loss"])] {
            let mut scenario = Scenario::new();
            scenario.sent("standard", "a").received("standard", "a", 1).cut_ack("standard", "a");
            scenario.pass(passed_ms).received("standard", "a", 2);
            assert_eq!(scenario.properties_undrained(), found, "{passed_ms} ms");
            scenario.acked("standard", "a");
            assert!(scenario.properties_undrained().is_empty());
        }
        // Nobody knows when one has its effect that did not end before the history does.
        let mut scenario = Scenario::new();
        scenario.sent("standard", "a").received("standard", "a", 1).open_ack("standard", "a");
        scenario.pass(6000).received("standard", "a", 2);
        assert!(scenario.properties_undrained().is_empty());
    }

    #[test]
    fn an_ack_is_stale_when_its_message_is_a_dead_letter() {
        let mut scenario = Scenario::new();
        scenario.sent("poison", "a").received("poison", "a", 1).nacked("poison", "a", 0);
        scenario.received("poison", "a", 2);
        let stale = scenario.receipt();
        scenario.pass(2100).received("dead", "a", 1).acked_by("poison", "a", &stale);
        assert_eq!(scenario.properties_undrained(), ["no loss"]);
        scenario.acked("dead", "a");
        assert!(scenario.properties_undrained().is_empty());
    }
}
