//! Property 3: in a group of a FIFO queue, nothing is handed out while an earlier message is
//! there and not in the same hands.

use std::collections::HashMap;

use super::Violation;
use super::facts::{Facts, Message};
use crate::crash::history::Kind;
use crate::crash::queues;

/// A group: its messages in the order of sending, and since when each may be gone.
#[derive(Default)]
struct Group<'f> {
    bodies: Vec<(&'f str, u64)>,
    /// The latest "gone since" of all messages up to and with this one.
    gone_all: Vec<u64>,
}

/// What one receive got of one group: answer's end, and of each message its place within the answer
/// and within the group.
type Share = (u64, Vec<(usize, usize)>);

/// The pass.
pub fn check(facts: &Facts) -> Vec<Violation> {
    let groups = groups(facts);
    let mut places = HashMap::new();
    for (name, group) in &groups {
        for (place, (body, _)) in group.bodies.iter().enumerate() {
            places.insert(*body, (*name, place));
        }
    }
    let mut violations = Vec::new();
    for ((name, _), shares) in shares(facts, &places) {
        let Some(group) = groups.get(&name) else { continue };
        violations.extend(check_share(name.1, group, shares));
    }
    violations.sort_by(|a, b| a.what.cmp(&b.what));
    violations
}

type Name<'f> = (&'f str, &'f str);

/// The acknowledged messages of each group, in the order of sending. One session sends to a
/// group, so that its sends follow each other.
fn groups(facts: &Facts) -> HashMap<Name<'_>, Group<'_>> {
    let mut sends: Vec<_> = facts
        .messages
        .iter()
        .filter_map(|(body, message)| Some((body, message, message.sends.first()?)))
        .filter(|(_, message, send)| {
            let fifo = queues::rules(&send.queue).is_some_and(|rules| rules.fifo);
            // A duplicate was never stored, and stands in nobody's way.
            fifo && send.kind == Kind::Ok && !message.hand_outs.is_empty()
        })
        .collect();
    sends.sort_by_key(|(_, _, send)| (send.span.begin, send.place));
    let mut groups: HashMap<Name<'_>, Group<'_>> = HashMap::new();
    for (body, message, send) in sends {
        let name = (send.queue.as_str(), send.sending.group.as_deref().unwrap_or_default());
        let group = groups.entry(name).or_default();
        let gone = gone_since(message);
        group.gone_all.push(group.gone_all.last().copied().unwrap_or(0).max(gone));
        group.bodies.push((body, gone));
    }
    groups
}

/// When the message may have left, at the earliest.
fn gone_since(message: &Message) -> u64 {
    let acks = message.settlements.iter().filter(|s| s.nack_delay_ms.is_none());
    let acks = acks.filter(|s| s.kind != Kind::Fail).map(|s| s.span.begin);
    acks.min().unwrap_or(u64::MAX)
}

/// The hand-outs by receive and group.
fn shares<'f>(
    facts: &'f Facts,
    places: &HashMap<&'f str, (Name<'f>, usize)>,
) -> HashMap<(Name<'f>, u64), Share> {
    let mut shares: HashMap<(Name<'f>, u64), Share> = HashMap::new();
    for (body, message) in &facts.messages {
        let Some((name, place)) = places.get(body.as_str()) else { continue };
        for hand_out in &message.hand_outs {
            let share = shares.entry((*name, hand_out.receive)).or_default();
            share.0 = hand_out.span.end;
            share.1.push((hand_out.place, *place));
        }
    }
    shares
}

fn check_share(name: &str, group: &Group<'_>, (end, mut answered): Share) -> Vec<Violation> {
    answered.sort_unstable();
    let mut places: Vec<usize> = answered.into_iter().map(|(_, place)| place).collect();
    let mut violations = Vec::new();
    let mut wrong = |body: &str, waits_for: &str| {
        let what = format!(
            "group {name}: {body} was handed out by {end} ns, before {waits_for}, sent earlier"
        );
        violations.push(Violation { property: "group order", what });
    };
    let body = |place: usize| group.bodies.get(place).map_or("?", |(body, _)| *body);
    for pair in places.windows(2) {
        let [before, after] = pair else { continue };
        if before > after {
            wrong(body(*before), body(*after));
        }
    }
    places.sort_unstable();
    let Some(first) = places.first() else { return violations };
    if *first > 0 && group.gone_all.get(first - 1).is_some_and(|gone| *gone > end) {
        let earlier = group.bodies.iter().take(*first).find(|(_, gone)| *gone > end);
        wrong(body(*first), earlier.map_or("?", |(body, _)| *body));
    }
    for pair in places.windows(2) {
        let [before, after] = pair else { continue };
        let skipped = group.bodies.get(before + 1..*after).unwrap_or_default();
        if let Some((earlier, _)) = skipped.iter().find(|(_, gone)| *gone > end) {
            wrong(body(*after), earlier);
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use crate::crash::checker::scenario::Scenario;

    fn two_of_a_group() -> Scenario {
        let mut scenario = Scenario::new();
        scenario.sent_in("ordered.fifo", "g", "a").sent_in("ordered.fifo", "g", "b");
        scenario
    }

    #[test]
    fn a_later_message_beside_an_earlier_leased_or_returned_one_is_found() {
        let mut scenario = two_of_a_group();
        scenario.received("ordered.fifo", "a", 1).received("ordered.fifo", "b", 1);
        assert_eq!(scenario.properties(), ["group order"]);
        let mut scenario = two_of_a_group();
        scenario.received("ordered.fifo", "a", 1).nacked("ordered.fifo", "a", 0);
        scenario.received("ordered.fifo", "b", 1).received("ordered.fifo", "a", 2);
        assert_eq!(scenario.properties(), ["group order"]);
    }

    #[test]
    fn a_message_skipped_within_one_receive_is_found() {
        let mut scenario = two_of_a_group();
        scenario.sent_in("ordered.fifo", "g", "c");
        scenario.received_together("ordered.fifo", &["a", "c"]).received("ordered.fifo", "b", 1);
        assert_eq!(scenario.properties(), ["group order", "group order"]);
    }

    #[test]
    fn the_wrong_order_within_one_receive_is_found() {
        let mut scenario = two_of_a_group();
        scenario.received_together("ordered.fifo", &["b", "a"]);
        assert_eq!(scenario.properties(), ["group order"]);
    }

    #[test]
    fn one_after_the_other_and_together_are_both_right() {
        let mut scenario = two_of_a_group();
        scenario.received("ordered.fifo", "a", 1).acked("ordered.fifo", "a");
        scenario.received("ordered.fifo", "b", 1);
        assert!(scenario.properties().is_empty());
        let mut scenario = two_of_a_group();
        scenario.received_together("ordered.fifo", &["a", "b"]);
        assert!(scenario.properties().is_empty());
    }

    #[test]
    fn another_group_does_not_wait() {
        let mut scenario = Scenario::new();
        scenario.sent_in("ordered.fifo", "g", "a").sent_in("ordered.fifo", "h", "b");
        scenario.received("ordered.fifo", "b", 1).received("ordered.fifo", "a", 1);
        assert!(scenario.properties().is_empty());
    }
}
