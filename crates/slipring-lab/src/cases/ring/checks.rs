//! What is asked of the case, and what a reader of its figures must know.

use super::contest::Durability;
use super::drive::Phase;
use super::figures::{batches, counted, samples, store_for, unit};
use super::ledger::Wrong;
use super::published;
use super::slots::{Design, Ring, Table};
use super::{Database, Found};
use crate::findings::Findings;
use crate::run::condition::Condition;

/// The latch that two sessions on one page wait for; its name changed with version 13.
pub const PAGE_LATCHES: &[&str] = &["LWLock:BufferContent", "LWLock:buffer_content"];
/// Waits below this in both layouts show nothing.
const SAMPLES_MIN: u64 = 20;

/// Writes the notes.
pub fn notes(findings: &mut Findings, found: &Found, ring: &Ring) {
    let mut note = |text: String| findings.notes.push(text);
    note(format!(
        "ring of {} slots, of which {} have a message to begin with; messages of 300 bytes; \
         sequences hand out {} numbers at a time",
        ring.slots, ring.backlog, ring.cache
    ));
    note(
        "durable: PostgreSQL synchronous_commit=on, MariaDB innodb_flush_log_at_trx_commit=1, \
         SQLite WAL with synchronous=FULL; delayed: off, 2, NORMAL. Slipring is always durable=full"
            .to_owned(),
    );
    note(
        "repaired in the published ring: a pop that finds nothing keeps its slot and tries it \
         again, a full ring lets the pusher wait, and a lap in each slot keeps its messages in \
         order. Each operation is one call: a function, a procedure, or SQLite's own statements"
            .to_owned(),
    );
    note(
        "Slipring has no store on MariaDB; its baselines are compared with the file store"
            .to_owned(),
    );
    for text in &found.notes {
        note(text.clone());
    }
    if !page_waits_show(found) {
        note(format!(
            "fewer than {SAMPLES_MIN} samples of waiting for the latch of a page in either layout \
             of PostgreSQL: with {} processors sessions hardly meet on a page at the same moment. \
             What stands in for it is the number of different pages: neighbours share few",
            findings.head.machine.cores
        ));
    }
    note(
        "MariaDB tells waits for rows, not for the latches of pages; two pushes never share a row, \
         so that both layouts wait little there"
            .to_owned(),
    );
}

/// The samples of waiting for the latch of a page: neighbours, bits reversed; both durabilities.
fn page_waits(found: &Found) -> (u64, u64) {
    let of = |table: Table| {
        let designs = Design::ALL.into_iter().find(|design| design.table == table);
        let both = [Durability::Full, Durability::Delayed];
        designs.map_or(0, |design| {
            both.into_iter().map(|how| samples(found, design, how, PAGE_LATCHES)).sum()
        })
    };
    (of(Table::Neighbours), of(Table::Reversed))
}

fn page_waits_show(found: &Found) -> bool {
    let (neighbours, reversed) = page_waits(found);
    neighbours.max(reversed) >= SAMPLES_MIN
}

/// Writes the checks.
pub fn conditions(findings: &mut Findings, found: &Found) {
    let median = |store, contender, phase| {
        found.summary(store, contender, phase).map_or(f64::NAN, |summary| summary.median)
    };
    let checks = &mut findings.conditions;
    checks.push(Condition::at_least(
        "published pushes/s in memory: file store, durable".to_owned(),
        "pushes/s",
        median(Database::Sqlite, batches(), Phase::Push),
        published::IN_MEMORY_PER_SECOND,
    ));
    for database in found.databases() {
        for phase in [Phase::Push, Phase::Cycle] {
            let (own, theirs) = (
                median(store_for(database), batches(), phase),
                found.best_baseline(database, phase),
            );
            let name = format!("best baseline, {}, {}", database.name(), unit(phase));
            checks.push(Condition::times(own, theirs, &name, 1.0));
        }
    }
    for database in found.databases() {
        let changed = |table: Table| {
            let design = Design::ALL.into_iter().find(|design| design.table == table);
            let counts = design.and_then(|design| counted(found, database, design, Phase::Push));
            counts.map_or(f64::NAN, |(_, changed)| changed)
        };
        let name = format!("{}: different pages, neighbours / reversed", database.name());
        let ratio = changed(Table::Neighbours) / changed(Table::Reversed);
        checks.push(Condition::at_most(&name, "ratio", ratio, 0.9));
    }
    if page_waits_show(found) {
        let (neighbours, reversed) = page_waits(found);
        let name = "PostgreSQL: page waits, reversed against neighbours";
        checks.push(Condition::at_most(name, "samples", reversed as f64, neighbours as f64));
    }
    let wrong: u64 = found.wrong.iter().map(|(_, wrong): &(String, Wrong)| wrong.total()).sum();
    let complete = found
        .databases()
        .all(|database| found.wrong.iter().any(|(name, _)| name == database.name()));
    let wrong = if complete && !found.wrong.is_empty() { wrong as f64 } else { f64::NAN };
    checks.push(Condition::at_most("messages lost, doubled, mixed up", "messages", wrong, 0.0));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_measured_meets_no_check() {
        let folder = tempfile::tempdir().unwrap();
        let mut findings = Findings::new("case-3", "", folder.path());
        conditions(&mut findings, &Found::default());
        assert!(!findings.conditions.is_empty());
        assert!(findings.conditions.iter().all(|condition| !condition.pass));
    }
}
