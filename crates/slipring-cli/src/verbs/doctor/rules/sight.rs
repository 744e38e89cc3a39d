//! What could not be looked at: then nobody says that all is well.

use std::collections::BTreeSet;

use super::super::judge::{Finding, Level, Looks, Rule};
use super::super::words::count;

/// Sessions of other roles, looks without an answer, queues beyond the first.
pub fn blind(looks: &Looks<'_>) -> Vec<Finding> {
    let finding = |level, sentence, advice: &str| Finding {
        level,
        rule: Rule::Blind,
        queue: None,
        sentence,
        advice: advice.to_owned(),
    };
    let mut findings = Vec::new();
    let seen = &looks.after.obstacles;
    if seen.hidden > 0 {
        findings.push(finding(
            Level::Warning,
            format!(
                "{} of {} other sessions in the database belong to roles that Slipring's role may \
                 not look into: for how long they hold something up is not known",
                count(seen.hidden),
                count(seen.sessions),
            ),
            "GRANT pg_read_all_stats TO the role that Slipring connects as, and look again.",
        ));
    }
    let gaps: BTreeSet<&String> = looks.before.obstacles.gaps.iter().chain(&seen.gaps).collect();
    findings.extend(gaps.into_iter().map(|gap| {
        let sentence = format!("Not everything could be looked at: {gap}");
        finding(Level::Warning, sentence, "Look again; if it stays so, the store itself is slow.")
    }));
    if !looks.after.all_queues {
        let looked = count(looks.after.queues.len() as u64);
        let sentence = format!("Only the first {looked} queues by name were looked at");
        findings.push(finding(Level::Note, sentence, "See `slipring queue ls` for the others."));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::super::made::{found, snapshot, texts};
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_told() {
        let mut after = snapshot(5_000);
        assert_eq!(found(blind, &snapshot(0), &after), []);
        after.obstacles.hidden = 2;
        let hidden = found(blind, &snapshot(0), &after);
        let sentence = "2 of 3 other sessions in the database belong to roles that Slipring's \
                        role may not look into: for how long they hold something up is not known";
        assert_eq!((hidden[0].sentence.as_str(), hidden[0].level), (sentence, Level::Warning));
        after.obstacles.hidden = 0;
        let mut before = snapshot(0);
        for look in [&mut before, &mut after] {
            look.obstacles.gaps = vec!["sessions: no answer within 500 ms".to_owned()];
        }
        let gap = "Not everything could be looked at: sessions: no answer within 500 ms";
        let advice = "Look again; if it stays so, the store itself is slow.";
        assert_eq!(texts(&found(blind, &before, &after)), [(gap, advice)]);
        let part = super::super::super::snapshot::Snapshot { all_queues: false, ..snapshot(0) };
        assert_eq!(found(blind, &snapshot(0), &part)[0].level, Level::Note);
    }
}
