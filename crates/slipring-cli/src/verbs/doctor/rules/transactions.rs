//! Transactions of others, and replication slots (PostgreSQL).

use slipring::{Obstacle, ObstacleKind};

use super::super::judge::{Finding, Level, Looks, Rule};
use super::super::words::{count, quoted, row, said, time};

/// An active slot may be so many transactions behind.
const BEHIND_MAX: u64 = 1_000_000;

/// Other transactions hold the locks of queues.
pub fn queue_held(looks: &Looks<'_>) -> Vec<Finding> {
    let mut holders: Vec<(&Obstacle, Vec<&str>)> = Vec::new();
    for one in looks.obstacles(ObstacleKind::QueueHeld) {
        // Of a transaction whose age is hidden two looks tell that it is no short one.
        let Some(queue) = &one.queue else { continue };
        if one.for_ms.is_none() && !looks.was_before(one) {
            continue;
        }
        let same = |(other, _): &&mut (&Obstacle, _)| same_holder(one, other);
        match holders.iter_mut().find(same) {
            Some((_, queues)) => queues.push(queue.as_str()),
            None => holders.push((one, vec![queue.as_str()])),
        }
    }
    holders.sort_by_key(|(one, _)| std::cmp::Reverse(one.for_ms));
    let finding = |(one, queues): (&Obstacle, Vec<&str>)| {
        let age = match one.for_ms {
            Some(ms) => time(ms),
            None => format!("{} at least", time(looks.between_ms())),
        };
        let (are, locks) = match queues.len() {
            1 => ("Queue", "is held: its lock belongs"),
            _ => ("Queues", "are held: their locks belong"),
        };
        Finding {
            level: Level::Wrong,
            rule: Rule::QueueHeld,
            queue: queues.first().map(|&name| name.to_owned()),
            sentence: format!(
                "{are} {} {locks} to {}, whose transaction has been open for {age}{}; receives and \
                 settlements wait for it{}",
                row(&queues),
                who(one),
                state(one),
                statement(one),
            ),
            advice: end(one),
        }
    };
    holders.into_iter().map(finding).collect()
}

/// A prepared transaction was forgotten.
pub fn prepared(looks: &Looks<'_>) -> Vec<Finding> {
    let open =
        looks.obstacles(ObstacleKind::PreparedTransaction).filter(|one| !holds_a_queue(looks, one));
    let finding = |one: &Obstacle| Finding {
        level: Level::Warning,
        rule: Rule::PreparedTransaction,
        queue: None,
        sentence: format!(
            "{} has waited for its end for {}; until then no table is emptied that may hold \
             messages of its time, and the database grows",
            capital(&who(one)),
            time(one.for_ms.unwrap_or_default()),
        ),
        advice: end(one),
    };
    open.map(finding).collect()
}

/// A transaction that has written is open for long.
pub fn open_writer(looks: &Looks<'_>) -> Vec<Finding> {
    let open = looks.obstacles(ObstacleKind::OpenWriter).filter(|one| !holds_a_queue(looks, one));
    let finding = |one: &Obstacle| {
        // Of a role whose sessions are hidden it is not known for how long.
        let age = time(one.for_ms?);
        Some(Finding {
            level: Level::Warning,
            rule: Rule::OpenWriter,
            queue: None,
            sentence: format!(
                "{} has written in a transaction that has been open for {age}{}; until it ends no \
                 table is emptied that may hold messages of its time, and the database grows{}",
                capital(&who(one)),
                state(one),
                statement(one),
            ),
            advice: end(one),
        })
    };
    open.filter_map(finding).collect()
}

/// A replication slot keeps old row versions.
pub fn replication_slot(looks: &Looks<'_>) -> Vec<Finding> {
    let behind = |one: &&Obstacle| {
        one.state.as_deref() != Some("active") || one.behind.is_some_and(|n| n > BEHIND_MAX)
    };
    let finding = |one: &Obstacle| {
        let name = quoted(one.name.as_deref().unwrap_or_default());
        Finding {
            level: Level::Warning,
            rule: Rule::ReplicationSlot,
            queue: None,
            sentence: format!(
                "Replication slot {name} ({}) keeps row versions of the last {} transactions from \
                 being removed",
                one.state.as_deref().unwrap_or("unknown"),
                count(one.behind.unwrap_or_default()),
            ),
            advice: format!(
                "Let its reader go on, or remove it: SELECT pg_drop_replication_slot({name});"
            ),
        }
    };
    looks.obstacles(ObstacleKind::ReplicationSlot).filter(behind).map(finding).collect()
}

fn same_holder(one: &Obstacle, other: &Obstacle) -> bool {
    (one.pid, &one.name) == (other.pid, &other.name)
}

/// Then `queue_held` tells of it.
fn holds_a_queue(looks: &Looks<'_>, one: &Obstacle) -> bool {
    looks.obstacles(ObstacleKind::QueueHeld).any(|other| same_holder(one, other))
}

fn who(one: &Obstacle) -> String {
    let role = one.role.as_deref().map(|role| format!("role {}", said(role)));
    match (one.pid, &one.name) {
        (Some(pid), _) => {
            let application = one.application.as_deref().filter(|name| !name.is_empty());
            let application = application.map(|name| format!("application {}", said(name)));
            let known: Vec<String> = [role, application].into_iter().flatten().collect();
            match known.is_empty() {
                true => format!("process {pid}"),
                false => format!("process {pid} ({})", known.join(", ")),
            }
        }
        (None, Some(gid)) => {
            let role = role.unwrap_or_else(|| "an unknown role".to_owned());
            format!("prepared transaction {} of {role}", quoted(gid))
        }
        (None, None) => "an unknown transaction".to_owned(),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

fn state(one: &Obstacle) -> String {
    let state = one.state.as_deref();
    state.map(|state| format!(" and is {}{}", said(state), place(one))).unwrap_or_default()
}

fn place(one: &Obstacle) -> String {
    one.database
        .as_deref()
        .map(|name| format!(" in the database {}", said(name)))
        .unwrap_or_default()
}

fn statement(one: &Obstacle) -> String {
    let text = one.statement.as_deref().filter(|text| !text.is_empty());
    text.map(|text| format!(". Its last statement: {}", said(text))).unwrap_or_default()
}

fn end(one: &Obstacle) -> String {
    match (one.pid, &one.name) {
        (Some(pid), _) => {
            format!("Let it commit, or end it: SELECT pg_terminate_backend({pid});")
        }
        (None, Some(gid)) => {
            let (gid, place) = (quoted(gid), place(one));
            format!("End it{place}: COMMIT PREPARED {gid}; or ROLLBACK PREPARED {gid};")
        }
        (None, None) => "See pg_locks and pg_prepared_xacts.".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use slipring::QueueName;

    use super::super::super::made::{found, obstacle, snapshot, texts, with_obstacles};
    use super::*;

    #[test]
    fn who_holds_a_queue_is_named_with_what_to_do() {
        let one = obstacle(ObstacleKind::QueueHeld, 7);
        let before = snapshot(0);
        let held = found(queue_held, &before, &with_obstacles(5_000, vec![one.clone()]));
        let sentence = "Queue emails is held: its lock belongs to process 7 (role app, application \
                        report), whose transaction has been open for 42s and is idle in \
                        transaction; receives and settlements wait for it. Its last statement: \
                        SELECT 1";
        let advice = "Let it commit, or end it: SELECT pg_terminate_backend(7);";
        assert_eq!(texts(&held), [(sentence, advice)]);
        assert_eq!((held[0].level, held[0].queue.as_deref()), (Level::Wrong, Some("emails")));
        let other = Obstacle { queue: Some(QueueName::new("x").unwrap()), ..one.clone() };
        let both = found(queue_held, &before, &with_obstacles(5_000, vec![one.clone(), other]));
        assert!(both[0].sentence.starts_with("Queues emails and x are held: their locks belong"));
        assert_eq!(both.len(), 1);
        // It has ended meanwhile.
        assert_eq!(found(queue_held, &with_obstacles(0, vec![one]), &snapshot(5_000)), []);
    }

    #[test]
    fn a_holder_whose_age_is_hidden_is_one_that_was_there_before() {
        let hidden = Obstacle {
            for_ms: None,
            state: None,
            statement: None,
            application: None,
            ..obstacle(ObstacleKind::QueueHeld, 7)
        };
        let after = with_obstacles(5_000, vec![hidden.clone()]);
        assert_eq!(found(queue_held, &snapshot(0), &after), []);
        let earlier = Obstacle { transaction: Some("3/6".to_owned()), ..hidden.clone() };
        assert_eq!(found(queue_held, &with_obstacles(0, vec![earlier]), &after), []);
        let held = found(queue_held, &with_obstacles(0, vec![hidden]), &after);
        let sentence = "Queue emails is held: its lock belongs to process 7 (role app), whose \
                        transaction has been open for 5.0 s at least; receives and settlements \
                        wait for it";
        assert_eq!(held[0].sentence, sentence);
    }

    #[test]
    fn a_prepared_transaction_is_named_once() {
        let one = Obstacle {
            pid: None,
            name: Some("it's".to_owned()),
            ..obstacle(ObstacleKind::PreparedTransaction, 0)
        };
        let open = found(prepared, &snapshot(0), &with_obstacles(5_000, vec![one.clone()]));
        let sentence = "Prepared transaction 'it''s' of role app has waited for its end for 42s; \
                        until then no table is emptied that may hold messages of its time, and \
                        the database grows";
        let advice = "End it: COMMIT PREPARED 'it''s'; or ROLLBACK PREPARED 'it''s';";
        assert_eq!(texts(&open), [(sentence, advice)]);
        let there = Obstacle { database: Some("shop".to_owned()), ..one.clone() };
        let there = with_obstacles(5_000, vec![there]);
        let there = found(prepared, &snapshot(0), &there);
        assert!(there[0].advice.starts_with("End it in the database shop: COMMIT PREPARED"));
        let held =
            Obstacle { pid: None, name: one.name.clone(), ..obstacle(ObstacleKind::QueueHeld, 0) };
        let both = with_obstacles(5_000, vec![one, held]);
        assert_eq!(found(prepared, &snapshot(0), &both), []);
        let held = found(queue_held, &snapshot(0), &both);
        assert!(held[0].sentence.contains("belongs to prepared transaction 'it''s' of role app"));
        assert_eq!(held[0].advice, advice);
    }

    #[test]
    fn a_writer_that_holds_no_queue_is_named() {
        let one = obstacle(ObstacleKind::OpenWriter, 7);
        let open = found(open_writer, &snapshot(0), &with_obstacles(5_000, vec![one.clone()]));
        let sentence = "Process 7 (role app, application report) has written in a transaction \
                        that has been open for 42s and is idle in transaction; until it ends no \
                        table is emptied that may hold messages of its time, and the database \
                        grows. Its last statement: SELECT 1";
        let advice = "Let it commit, or end it: SELECT pg_terminate_backend(7);";
        assert_eq!(texts(&open), [(sentence, advice)]);
        let held = obstacle(ObstacleKind::QueueHeld, 7);
        let both = with_obstacles(5_000, vec![one.clone(), held]);
        assert_eq!(found(open_writer, &snapshot(0), &both), []);
        let hidden = with_obstacles(5_000, vec![Obstacle { for_ms: None, ..one }]);
        assert_eq!(found(open_writer, &snapshot(0), &hidden), []);
    }

    #[test]
    fn a_slot_that_nobody_reads_or_that_is_far_behind_is_named() {
        let slot = |state: &str, behind| Obstacle {
            pid: None,
            name: Some("old".to_owned()),
            state: Some(state.to_owned()),
            behind: Some(behind),
            ..Obstacle::new(ObstacleKind::ReplicationSlot)
        };
        let look = |one| found(replication_slot, &snapshot(0), &with_obstacles(5_000, vec![one]));
        assert_eq!(look(slot("active", 1_000_000)), []);
        assert_eq!(look(slot("active", 1_000_001)).len(), 1);
        let sentence = "Replication slot 'old' (not active) keeps row versions of the last 1,200 \
                        transactions from being removed";
        let advice = "Let its reader go on, or remove it: SELECT pg_drop_replication_slot('old');";
        assert_eq!(texts(&look(slot("not active", 1_200))), [(sentence, advice)]);
    }
}
