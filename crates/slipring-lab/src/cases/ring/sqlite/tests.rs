//! The designs on SQLite: places that are kept, pages that are shared, nothing lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::session::SqliteSession;
use super::*;
use crate::cases::ring::contest::{Contest, Durability, On, Step};
use crate::cases::ring::drive::{Length, Phase, Session, Tried};
use crate::cases::ring::ledger::Wrong;
use crate::cases::ring::slots::{Design, Tickets};

const RING: Ring = Ring { slots: 60, backlog: 30, cache: 3 };

fn terms(design: Design) -> Terms {
    let durability = Durability::Delayed;
    Terms { design, durability, first: (RING.backlog, 0), counted: false }
}

#[tokio::test]
async fn a_push_into_a_full_ring_and_a_pop_of_an_empty_one_keep_their_slots() {
    let folder = tempfile::tempdir().unwrap();
    for design in &Design::ALL[1..] {
        let mut sqlite = Sqlite::new(folder.path(), RING);
        sqlite.build(design.table).await.unwrap();
        let place = sqlite.place(terms(*design)).await.unwrap();
        let mut session = SqliteSession::open(&place).await.unwrap();
        let mut text = String::new();
        let mut push = async |session: &mut SqliteSession, number, again| {
            write_message(&mut text, number);
            session.push(number, &text, again).await.unwrap()
        };
        for number in 30..60 {
            let tried = push(&mut session, number, None).await;
            assert_eq!(tried, Tried { ticket: Some(number), done: Some(()) });
        }
        let full = push(&mut session, 60, None).await;
        assert_eq!(full, Tried { ticket: Some(60), done: None });
        assert_eq!(push(&mut session, 60, full.ticket).await.done, None);
        let popped = session.pop(None).await.unwrap();
        assert!(popped.done.unwrap().starts_with("00000000000000000000."));
        assert_eq!(push(&mut session, 60, full.ticket).await.done, Some(()));
        for ticket in 1..61 {
            let popped = session.pop(None).await.unwrap();
            assert!(popped.done.unwrap().starts_with(&format!("{ticket:020}.")));
        }
        let empty = session.pop(None).await.unwrap();
        assert_eq!(empty, Tried { ticket: Some(61), done: None });
        assert!(push(&mut session, 61, None).await.done.is_some());
        assert!(session.pop(empty.ticket).await.unwrap().done.is_some());
        session.close().await.unwrap();
        assert_eq!(sqlite.left(design.table).await.unwrap(), []);
    }
}

#[test]
fn threads_that_go_round_the_ring_lose_and_double_nothing() {
    let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
    let _inside = runtime.enter();
    let folder = tempfile::tempdir().unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let mut contest =
        On::new(Sqlite::new(folder.path(), RING), RING, true, Arc::clone(&stop)).unwrap();
    let length = Length::Time { warmup: Duration::ZERO, measured: Duration::from_millis(300) };
    for design in Design::ALL {
        let (durability, phase) = (Durability::Delayed, Phase::Cycle);
        let step = Step { design, durability, threads: 3, phase, length };
        let measured = contest.step(step).unwrap();
        assert!(measured.operations > 0 && measured.rate > 0.0, "{measured:?}");
    }
    assert_eq!(contest.finish().unwrap(), Wrong::default());
    stop.store(true, Ordering::Relaxed);
    let step = Step {
        design: Design::ALL[0],
        durability: Durability::Delayed,
        threads: 2,
        phase: Phase::Push,
        length,
    };
    assert_eq!(contest.step(step).unwrap_err().to_string(), "interrupted");
}

#[tokio::test]
async fn neighbours_share_pages_of_the_log_and_reversed_slots_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let ring = Ring { slots: 2000, backlog: 0, cache: 100 };
    let mut changed = Vec::new();
    for table in [Table::Neighbours, Table::Reversed] {
        let mut sqlite = Sqlite::new(folder.path(), ring);
        sqlite.build(table).await.unwrap();
        let design = Design { table, tickets: Tickets::Sequence };
        sqlite.write_out(table).await.unwrap();
        let place = sqlite.place(Terms { counted: true, first: (0, 0), ..terms(design) }).await;
        let mut session = SqliteSession::open(&place.unwrap()).await.unwrap();
        let mut text = String::new();
        for number in 0..100 {
            write_message(&mut text, number);
            assert!(session.push(number, &text, None).await.unwrap().done.is_some());
        }
        session.close().await.unwrap();
        let counts = sqlite.counts(table).await.unwrap();
        assert!(counts.pages >= 100, "{counts:?}");
        changed.push(counts.changed);
    }
    assert!(changed[0] * 5 < changed[1], "{changed:?}");
}

#[test]
fn a_log_that_is_cut_off_or_of_before_has_no_pages() {
    assert!(pages_in_log(&[]).is_empty());
    let mut log = vec![0; 32 + 2 * (24 + 512)];
    log[10] = 2; // pages of 512 bytes
    log[16..24].copy_from_slice(b"salt-now");
    log[32..36].copy_from_slice(&7u32.to_be_bytes());
    log[40..48].copy_from_slice(b"salt-now");
    assert_eq!(pages_in_log(&log), [7]);
}
