//! Queues: what they hold, what changed between two looks, and their settings.

use std::collections::HashMap;

use slipring::{Obstacle, ObstacleKind, Timestamp};

use super::super::judge::{Finding, Level, Looks, Rule};
use super::super::snapshot::SeenQueue;
use super::super::words::{count, row, time};
use crate::print;

/// Fewer messages more are no growth, nor is less than a hundredth of what there was.
const GROWTH_MIN: u64 = 10;

/// Nothing more is handed out because too much is in flight.
pub fn in_flight_max(looks: &Looks<'_>) -> Vec<Finding> {
    let is_full = |queue: &SeenQueue| {
        queue.stats.leased >= queue.settings.in_flight_max && queue.stats.ready > 0
    };
    // One that flows at its limit hands out its oldest message.
    let full = pairs(looks).filter(|(before, after)| {
        let oldest = |queue: &SeenQueue| queue.stats.oldest_ready_sent_at;
        is_full(before) && is_full(after) && oldest(before) == oldest(after)
    });
    let full = full.map(|(_, after)| after);
    let finding = |queue: &SeenQueue| Finding {
        level: Level::Wrong,
        rule: Rule::InFlightMax,
        queue: Some(queue.name.clone()),
        sentence: format!(
            "Queue {} hands out nothing: {} messages are under lease, as many as in_flight_max \
             allows, while {} are ready",
            queue.name,
            count(queue.stats.leased),
            count(queue.stats.ready),
        ),
        advice: format!(
            "See whether its consumers ack what they receive; if they do, raise the limit: \
             slipring queue set {} --in-flight-max N",
            queue.name,
        ),
    };
    full.map(finding).collect()
}

/// More becomes ready than is received.
pub fn growing(looks: &Looks<'_>) -> Vec<Finding> {
    let grown = pairs(looks).filter(|(before, after)| {
        let (was, is) = (before.stats.ready, after.stats.ready);
        let more = is.saturating_sub(was) >= GROWTH_MIN.max(was / 100);
        let was_old = age(before, looks.before.at_ms);
        let is_old = age(after, looks.after.at_ms);
        // Where none was ready before, one must have been for all of the time since.
        more && is_old.is_some_and(|is| was_old.map_or(is >= looks.between_ms(), |was| was < is))
    });
    let finding = |(before, after): (&SeenQueue, &SeenQueue)| {
        let more = after.stats.ready - before.stats.ready;
        Finding {
            level: Level::Warning,
            rule: Rule::Growing,
            queue: Some(after.name.clone()),
            sentence: format!(
                "Queue {} grows: {} more messages are ready than {:.1} s ago ({} a second), {} in \
                 all, of which the oldest was sent {} ago",
                after.name,
                count(more),
                looks.seconds,
                count((more as f64 / looks.seconds.max(0.001)) as u64),
                count(after.stats.ready),
                time(age(after, looks.after.at_ms).unwrap_or_default()),
            ),
            advice:
                "Run more consumers, let each receive more at a time, or see what they wait for."
                    .to_owned(),
        }
    };
    grown.map(finding).collect()
}

/// Messages are ready, and no consumer receives them.
pub fn nobody_receives(looks: &Looks<'_>) -> Vec<Finding> {
    let sources = dead_letter_sources(looks);
    let held = |queue: &SeenQueue| {
        let of =
            |one: &Obstacle| one.queue.as_ref().is_some_and(|name| name.as_str() == queue.name);
        looks.obstacles(ObstacleKind::QueueHeld).any(of)
    };
    let left = pairs(looks).filter(|(before, after)| {
        let is_idle = |queue: &SeenQueue| queue.waiting == 0 && queue.stats.leased == 0;
        let (was, is) = (&before.stats, &after.stats);
        is_idle(before)
            && is_idle(after)
            && was.ready > 0
            && is.ready >= was.ready
            && is.oldest_ready_sent_at == was.oldest_ready_sent_at
            && !is_paused(after, looks.after.at_ms)
            && !held(after)
    });
    let finding = |(_, after): (&SeenQueue, &SeenQueue)| {
        let (name, ready) = (&after.name, count(after.stats.ready));
        let (level, sentence, advice) = match sources.get(name.as_str()) {
            Some(of) => (
                Level::Note,
                format!("Queue {name} holds {ready} dead letters of {}", row(of)),
                format!(
                    "Look at them (slipring peek {name}); send them back: slipring redrive {name}"
                ),
            ),
            None => (
                Level::Warning,
                format!(
                    "Queue {name} has {ready} messages ready and nobody receives: none is under \
                     lease, no receive waits, and the oldest, sent {} ago, stayed where it was for \
                     {:.1} s",
                    time(age(after, looks.after.at_ms).unwrap_or_default()),
                    looks.seconds,
                ),
                "Start its consumers, or see why they do not ask.".to_owned(),
            ),
        };
        let queue = Some(name.clone());
        Finding { level, rule: Rule::NobodyReceives, queue, sentence, advice }
    };
    left.map(finding).collect()
}

/// A queue hands out nothing because it was told so.
pub fn paused(looks: &Looks<'_>) -> Vec<Finding> {
    let now = Timestamp::from_millis(looks.after.at_ms);
    let finding = |queue: &SeenQueue| {
        let paused = print::paused(&queue.settings, now)?;
        Some(Finding {
            level: if queue.stats.ready > 0 { Level::Warning } else { Level::Note },
            rule: Rule::Paused,
            queue: Some(queue.name.clone()),
            sentence: format!(
                "Queue {} is {paused}; {} messages are ready in it",
                queue.name,
                count(queue.stats.ready),
            ),
            advice: format!("Let it go on: slipring queue resume {}", queue.name),
        })
    };
    looks.after.queues.iter().filter_map(finding).collect()
}

/// Rows were not as the store writes rows.
pub fn set_aside(looks: &Looks<'_>) -> Vec<Finding> {
    let finding = |queue: &SeenQueue| Finding {
        level: Level::Warning,
        rule: Rule::SetAside,
        queue: Some(queue.name.clone()),
        sentence: format!(
            "Of queue {} {} rows were not as the store writes rows, and were set aside",
            queue.name,
            count(queue.stats.set_aside),
        ),
        advice: format!("See what they are: SELECT * FROM slipring.findings('{}');", queue.name),
    };
    let queues = looks.after.queues.iter();
    queues.filter(|queue| queue.stats.set_aside > 0).map(finding).collect()
}

/// What a queue holds could not be told.
pub fn without_figures(looks: &Looks<'_>) -> Vec<Finding> {
    let finding = |queue: &SeenQueue| Finding {
        level: Level::Wrong,
        rule: Rule::WithoutFigures,
        queue: Some(queue.name.clone()),
        sentence: format!(
            "What queue {} holds cannot be told: the store has failed at it, and has answered for \
             others",
            queue.name,
        ),
        advice: format!(
            "See the log of the server; on PostgreSQL rows that are wrong go aside by SELECT \
             slipring.set_aside('{}');",
            queue.name,
        ),
    };
    let queues = looks.after.queues.iter();
    queues.filter(|queue| !queue.has_figures).map(finding).collect()
}

/// Failing messages are to go to a queue that is not there.
pub fn dead_letter_missing(looks: &Looks<'_>) -> Vec<Finding> {
    if !looks.after.all_queues {
        return Vec::new();
    }
    let finding = |queue: &SeenQueue| {
        let target = queue.settings.dead_letter.as_ref()?;
        looks.after.queue(target.as_str()).is_none().then(|| Finding {
            level: Level::Warning,
            rule: Rule::DeadLetterMissing,
            queue: Some(queue.name.clone()),
            sentence: format!(
                "Queue {} names {target} as its dead-letter queue, and there is none: messages \
                 that fail for good are parked in {0} ({1} are parked now)",
                queue.name,
                count(queue.stats.parked),
            ),
            advice: format!("Make it: slipring queue create {target}"),
        })
    };
    looks.after.queues.iter().filter_map(finding).collect()
}

/// Queues that are in both looks.
fn pairs<'a>(looks: &Looks<'a>) -> impl Iterator<Item = (&'a SeenQueue, &'a SeenQueue)> {
    let before = looks.before;
    looks.after.queues.iter().filter_map(move |after| {
        let same = before
            .queue(&after.name)
            .filter(|queue| queue.id == after.id && queue.has_figures && after.has_figures);
        same.map(|before| (before, after))
    })
}

/// How long ago the oldest ready message was sent, in milliseconds.
fn age(queue: &SeenQueue, at_ms: u64) -> Option<u64> {
    queue.stats.oldest_ready_sent_at.map(|sent| at_ms.saturating_sub(sent.as_millis()))
}

fn is_paused(queue: &SeenQueue, at_ms: u64) -> bool {
    queue.settings.is_paused(Timestamp::from_millis(at_ms))
}

/// Dead-letter queues, with the queues whose they are.
fn dead_letter_sources<'a>(looks: &Looks<'a>) -> HashMap<&'a str, Vec<&'a str>> {
    let mut sources: HashMap<&str, Vec<&str>> = HashMap::new();
    for queue in &looks.after.queues {
        if let Some(target) = &queue.settings.dead_letter {
            sources.entry(target.as_str()).or_default().push(&queue.name);
        }
    }
    sources
}

#[cfg(test)]
mod tests {
    use slipring::QueueName;

    use super::super::super::made::{self, found, queue, snapshot, texts, with_queue};
    use super::super::super::snapshot::Snapshot;
    use super::*;

    /// What a rule finds in a queue that does not change.
    fn still(rule: fn(&Looks<'_>) -> Vec<Finding>, queue: SeenQueue) -> Vec<Finding> {
        found(rule, &with_queue(0, queue.clone()), &with_queue(5_000, queue))
    }

    #[test]
    fn a_queue_that_may_have_no_more_in_flight_is_named() {
        let mut full = queue("emails", 3);
        (full.settings.in_flight_max, full.stats.leased) = (2_000, 2_000);
        let sentence = "Queue emails hands out nothing: 2,000 messages are under lease, as many as \
                        in_flight_max allows, while 3 are ready";
        let advice = "See whether its consumers ack what they receive; if they do, raise the \
                      limit: slipring queue set emails --in-flight-max N";
        assert_eq!(texts(&still(in_flight_max, full.clone())), [(sentence, advice)]);
        let mut flows = full.clone();
        flows.stats.oldest_ready_sent_at = Some(Timestamp::from_millis(7));
        let looks = (with_queue(0, full.clone()), with_queue(5_000, flows));
        assert_eq!(found(in_flight_max, &looks.0, &looks.1), [], "it hands out at its limit");
        full.stats.leased = 1_999;
        assert_eq!(still(in_flight_max, full), []);
    }

    #[test]
    fn a_queue_of_which_more_and_older_messages_are_ready_grows() {
        let look = |was, is, oldest: u64| {
            let mut after = queue("emails", is);
            after.stats.oldest_ready_sent_at = Some(Timestamp::from_millis(oldest));
            found(growing, &with_queue(1_000, queue("emails", was)), &with_queue(6_000, after))
        };
        let sentence = "Queue emails grows: 1,200 more messages are ready than 5.0 s ago (240 a \
                        second), 15,000 in all, of which the oldest was sent 6.0 s ago";
        assert_eq!(look(13_800, 15_000, 0)[0].sentence, sentence);
        assert_eq!(look(13_800, 15_000, 5_000), [], "the old ones are received");
        assert_eq!(look(13_800, 13_900, 0), [], "less than a hundredth");
        assert_eq!(look(1, 10, 0), [], "too few");
        assert_eq!(look(0, 500, 5_900), [], "they were sent just now");
        assert_eq!(look(0, 500, 900).len(), 1);
        assert_eq!(look(15_000, 13_800, 0), [], "it shrinks");
        let another = SeenQueue { id: 2, ..queue("emails", 100) };
        let other = found(growing, &with_queue(0, queue("emails", 1)), &with_queue(1, another));
        assert_eq!(other, [], "it was made anew");
    }

    #[test]
    fn ready_messages_that_nobody_takes_are_told_of() {
        let sentence = "Queue emails has 12 messages ready and nobody receives: none is under \
                        lease, no receive waits, and the oldest, sent 5.0 s ago, stayed where it \
                        was for 5.0 s";
        let nobody = still(nobody_receives, queue("emails", 12));
        assert_eq!((nobody[0].sentence.as_str(), nobody[0].level), (sentence, Level::Warning));
        let changes: [fn(&mut SeenQueue); 5] = [
            |queue| queue.waiting = 1,
            |queue| queue.stats.leased = 1,
            |queue| queue.stats.ready = 11,
            |queue| queue.stats.oldest_ready_sent_at = Some(Timestamp::from_millis(1)),
            |queue| queue.settings.paused = true,
        ];
        for (n, change) in changes.into_iter().enumerate() {
            let mut after = queue("emails", 12);
            change(&mut after);
            let before = with_queue(0, queue("emails", 12));
            assert_eq!(found(nobody_receives, &before, &with_queue(5_000, after)), [], "{n}");
        }
        assert_eq!(still(nobody_receives, queue("emails", 0)), []);
        let mut held = with_queue(5_000, queue("emails", 12));
        held.obstacles.found = vec![made::obstacle(ObstacleKind::QueueHeld, 7)];
        let before = with_queue(0, queue("emails", 12));
        assert_eq!(found(nobody_receives, &before, &held), [], "nobody could");
    }

    #[test]
    fn dead_letters_are_to_be_looked_at() {
        let mut source = queue("emails", 0);
        source.settings.dead_letter = Some(QueueName::new("dead").unwrap());
        let queues = vec![queue("dead", 2), source];
        let look = |at_ms| Snapshot { queues: queues.clone(), ..snapshot(at_ms) };
        let letters = found(nobody_receives, &look(0), &look(5_000));
        let advice = "Look at them (slipring peek dead); send them back: slipring redrive dead";
        let text = "Queue dead holds 2 dead letters of emails";
        assert_eq!((texts(&letters), letters[0].level), (vec![(text, advice)], Level::Note));
        assert_eq!(found(dead_letter_missing, &look(0), &look(5_000)), []);
    }

    #[test]
    fn a_paused_queue_is_named() {
        let look = |queue| still(paused, queue);
        let waits = look(made::paused(queue("emails", 3)));
        let sentence = "Queue emails is paused; 3 messages are ready in it";
        let advice = "Let it go on: slipring queue resume emails";
        assert_eq!((texts(&waits), waits[0].level), (vec![(sentence, advice)], Level::Warning));
        assert_eq!(look(made::paused(queue("emails", 0)))[0].level, Level::Note);
        assert_eq!(look(queue("emails", 3)), []);
        let mut until = queue("emails", 3);
        until.settings.paused_until = Some(Timestamp::from_millis(5_001));
        assert!(look(until.clone())[0].sentence.contains("paused until 1970-01-01T00:00:05Z"));
        until.settings.paused_until = Some(Timestamp::from_millis(5_000));
        assert_eq!(look(until), []);
    }

    #[test]
    fn rows_that_were_set_aside_are_told_of() {
        let mut bad = queue("emails", 0);
        bad.stats.set_aside = 2;
        let sentence =
            "Of queue emails 2 rows were not as the store writes rows, and were set aside";
        let advice = "See what they are: SELECT * FROM slipring.findings('emails');";
        assert_eq!(texts(&still(set_aside, bad)), [(sentence, advice)]);
        assert_eq!(still(set_aside, queue("emails", 0)), []);
    }

    #[test]
    fn a_dead_letter_queue_that_is_not_there_is_named() {
        let mut source = queue("emails", 0);
        source.settings.dead_letter = Some(QueueName::new("dead").unwrap());
        source.stats.parked = 4;
        let sentence = "Queue emails names dead as its dead-letter queue, and there is none: \
                        messages that fail for good are parked in emails (4 are parked now)";
        let advice = "Make it: slipring queue create dead";
        assert_eq!(texts(&still(dead_letter_missing, source.clone())), [(sentence, advice)]);
        let part = Snapshot { all_queues: false, ..with_queue(5_000, source) };
        assert_eq!(found(dead_letter_missing, &snapshot(0), &part), [], "it may be another one");
    }
}
