//! When copies are tried, and what they keep from writing.

use rusqlite::OpenFlags;

use super::*;

/// A writer that keeps account of what it must not do.
#[derive(Default)]
struct Account {
    calm: AtomicBool,
    holds: AtomicU64,
}

struct Quiet<'a>(&'a Account);

impl Drop for Quiet<'_> {
    fn drop(&mut self) {
        self.0.calm.store(false, Ordering::Relaxed);
    }
}

/// A writer whose log is never to be cut.
struct Still;

impl Held for Still {
    fn connection(&self) -> Option<&Connection> {
        None
    }
}

impl Beside for Account {
    fn calm(&self) -> impl Drop {
        self.calm.store(true, Ordering::Relaxed);
        Quiet(self)
    }

    fn hold(&self) -> impl Held {
        assert!(self.calm.load(Ordering::Relaxed), "a calm pass comes before the hold");
        self.holds.fetch_add(1, Ordering::Relaxed);
        Still
    }

    fn give_back(&self, reclaim: &mut Reclaim) -> Duration {
        reclaim.not_now()
    }
}

#[test]
fn after_a_failure_the_next_try_waits_until_the_log_has_grown() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let writer = Connection::open(&path).unwrap();
    writer.execute_batch("PRAGMA journal_mode = wal; CREATE TABLE t (x)").unwrap();
    // A connection that may not write cannot copy.
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let connection = Connection::open_with_flags(&path, flags).unwrap();
    let size = Arc::<LogSize>::default();
    size.pages.store(1000, Ordering::Relaxed);
    let waits = slipring::Waits::new();
    let classes = Classes::new(&waits);
    let options = SqliteOptions { checkpoint_bytes: 800 * PAGE_BYTES, ..SqliteOptions::default() };
    let own = Checkpoints::new(connection, Arc::clone(&size), &options, &classes);
    let place = Arc::new(crate::place::Place::of(&path));
    let log = Log::open(&path, place, waits.class("flush"), 0).unwrap();
    own.ask_if_due();
    std::thread::scope(|scope| {
        scope.spawn(|| own.run(&log, &Account::default()));
        while own.asked.lock().now {
            std::thread::yield_now();
        }
        own.close();
    });
    assert!(!own.is_due(), "nothing has changed since the failure");
    size.pages.store(1100, Ordering::Relaxed);
    assert!(own.is_due());
    log.check().expect("a copy that failed has lost nothing");
}

#[test]
fn the_writer_is_held_after_a_calm_pass_and_goes_on_when_the_log_begins_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let mut writer = Connection::open(&path).unwrap();
    writer.execute_batch("PRAGMA journal_mode = wal; CREATE TABLE t (x)").unwrap();
    let size = count_log_pages(&mut writer).unwrap();
    let waits = slipring::Waits::new();
    let classes = Classes::new(&waits);
    let options = SqliteOptions { checkpoint_bytes: PAGE_BYTES, ..SqliteOptions::default() };
    let connection = Connection::open(&path).unwrap();
    let own = Checkpoints::new(connection, Arc::clone(&size), &options, &classes);
    let place = Arc::new(crate::place::Place::of(&path));
    let log = Log::open(&path, place, waits.class("flush"), 0).unwrap();
    let account = Account::default();
    for _ in 0..3 {
        writer.execute_batch("INSERT INTO t VALUES (zeroblob(100000))").unwrap();
        assert!(own.is_due());
        assert!(own.checkpoint(&log, &account, false).unwrap(), "the log can begin anew");
        assert!(!own.is_due() && !account.calm.load(Ordering::Relaxed));
    }
    assert_eq!(account.holds.load(Ordering::Relaxed), 3);
    // A reader that keeps an old state: what can be copied is, and no one is held for long.
    let mut reader = Connection::open(&path).unwrap();
    let reading = reader.transaction().unwrap();
    reading.query_row("SELECT count(*) FROM t", (), |_| Ok(())).unwrap();
    writer.execute_batch("INSERT INTO t VALUES (zeroblob(100000))").unwrap();
    assert!(!own.checkpoint(&log, &account, false).unwrap());
    assert_eq!(account.holds.load(Ordering::Relaxed), 3, "a hold could not help");
    assert!(!account.calm.load(Ordering::Relaxed));
}
