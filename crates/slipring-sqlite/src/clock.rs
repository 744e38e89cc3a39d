//! The one clock that all processes of a file have (S13.2).
//!
//! It is what the file's clock showed when the machine was started, plus the time since then, which
//! all processes of a machine see alike. The first process that opens the file writes that number
//! into the `-lock` file, alone; the others read it there. Why it is so: `docs/decisions/0016`.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use slipring::clock::{BOOT_BYTES_MAX, Machine};
use slipring::{Clock, SystemClock, Timestamp};

use crate::fault::Outcome;
use crate::position::stamp_ms;
use crate::statements::Query;
use crate::writer::Core;

/// A difference between the wall clock and the file's that is not worth a word.
const APART_MAX: Duration = Duration::from_secs(1);

/// The first line of the record.
const TITLE: &str = "slipring clock 1";
/// Digits of a moment.
const DIGITS: usize = 20;
/// Title, run of the machine, start, latest moment; each ends with a line feed.
const RECORD_BYTES: usize = TITLE.len() + 1 + BOOT_BYTES_MAX + 1 + 2 * (DIGITS + 1);
/// Where the latest moment stands.
const SEEN_AT: u64 = (RECORD_BYTES - DIGITS - 1) as u64;

/// What stands in the lock file. It always has the same length and is written over in place: that
/// needs no room on a full disk.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Record {
    /// The run of the machine that `started` is about; empty where that is not known.
    boot: String,
    /// What the clock showed when the machine was started.
    started: Timestamp,
    /// A moment that the clock has shown, not long before the last process let the file go.
    seen: Timestamp,
}

impl Record {
    fn of(clock: &SystemClock, machine: &dyn Machine) -> Record {
        Record { boot: boot(machine), started: clock.started(), seen: clock.now() }
    }

    fn text(&self) -> String {
        let Record { boot, started, seen } = self;
        let (started, seen) = (started.as_millis(), seen.as_millis());
        format!("{TITLE}\n{boot:<BOOT_BYTES_MAX$}\n{started:0DIGITS$}\n{seen:0DIGITS$}\n")
    }

    /// Reads a record; `None` when there is none, or it was not written to its end.
    fn parse(text: &[u8]) -> Option<Record> {
        let mut lines = std::str::from_utf8(text.get(..RECORD_BYTES)?).ok()?.split('\n');
        let (title, boot) = (lines.next()?, lines.next()?.trim_end());
        let mut moment = || lines.next()?.parse().ok().map(Timestamp::from_millis);
        let (started, seen) = (moment()?, moment()?);
        (title == TITLE).then(|| Record { boot: boot.to_owned(), started, seen })
    }

    fn read(file: &File) -> io::Result<Option<Record>> {
        let mut file = file;
        file.seek(SeekFrom::Start(0))?;
        let mut text = Vec::with_capacity(RECORD_BYTES);
        file.take(RECORD_BYTES as u64).read_to_end(&mut text)?;
        Ok(Record::parse(&text))
    }

    fn write(&self, file: &File) -> io::Result<()> {
        write_at(file, 0, &self.text())
    }
}

fn write_at(file: &File, at: u64, text: &str) -> io::Result<()> {
    let mut file = file;
    file.seek(SeekFrom::Start(at))?;
    file.write_all(text.as_bytes())
}

/// The name of a run of a machine as it fits the record.
fn boot(machine: &dyn Machine) -> String {
    let name = machine.boot().unwrap_or_default();
    let plain = name.chars().filter(|c| c.is_ascii_graphic() || *c == ' ');
    plain.take(BOOT_BYTES_MAX).collect::<String>().trim_end().to_owned()
}

/// The clock of a file as this process has it.
#[derive(Debug, Clone)]
pub(crate) struct FileClock {
    pub(crate) clock: SystemClock,
    /// Whether it is the one that stands in the lock file.
    shared: bool,
}

/// Begins the clock of a file that no other process has open, or lets it go on. The lock file is
/// held alone.
pub(crate) fn begin(
    core: &mut Core,
    lock: &File,
    machine: &Arc<dyn Machine>,
) -> Outcome<SystemClock> {
    let (last_sent, timed) = core.alone(|writer| {
        let timed = writer.db.first(Query::AnythingTimed, (), |row| row.get::<_, bool>(0))?;
        Ok((Timestamp::from_millis(stamp_ms(writer.last_stamp())), timed.unwrap_or(true)))
    })?;
    // What cannot be read is no record; the lock file matters while processes run, not after.
    let record = Record::read(lock).unwrap_or_default();
    let clock = first_clock(record.as_ref(), last_sent, timed, machine);
    let begun = Record::of(&clock, machine.as_ref());
    // One that goes on is not written anew: it stands there also when the disk takes no more.
    if record
        .is_some_and(|record| (record.boot, record.started) == (begun.boot.clone(), begun.started))
    {
        return Ok(clock);
    }
    if let Err(error) = begun.write(lock) {
        let text = "the clock of the file cannot be kept: other processes do not share it";
        tracing::warn!(%error, "{text}");
    }
    Ok(clock)
}

/// The clock of a file that no process has open: with its last record, the moment of its last
/// send, and whether anything is stored whose time counts.
fn first_clock(
    record: Option<&Record>,
    last_sent: Timestamp,
    timed: bool,
    machine: &Arc<dyn Machine>,
) -> SystemClock {
    let boot = boot(machine.as_ref());
    let wall = machine.wall();
    // Never behind the last send: a message would be received before it was sent.
    let mut floor = last_sent;
    if let Some(record) = record {
        let known = SystemClock::since(Arc::clone(machine), record.started);
        let same_boot = record.boot == boot && !boot.is_empty();
        let goes_on = timed || apart(&known, wall) < APART_MAX;
        if same_boot && goes_on && known.now() >= last_sent {
            return known;
        }
        if timed {
            floor = floor.max(if same_boot { known.now() } else { record.seen });
        }
    }
    SystemClock::showing(Arc::clone(machine), wall.max(floor))
}

/// The clock that a process takes over that has the lock file shared with others; `begun` is the
/// one that it began itself, which another process may have replaced meanwhile.
pub(crate) fn take_over(
    lock: &File,
    machine: &Arc<dyn Machine>,
    begun: Option<SystemClock>,
    path: &Path,
) -> FileClock {
    let record = Record::read(lock).unwrap_or_default();
    let ours = record.filter(|record| record.boot == boot(machine.as_ref()));
    let clock = match ours {
        Some(record) => SystemClock::since(Arc::clone(machine), record.started),
        None => {
            let file = path.display();
            let text = "the clock of the file is not known to this process: it takes its own";
            tracing::warn!(%file, "{text}");
            let clock = begun.unwrap_or_else(|| SystemClock::on(Arc::clone(machine)));
            return FileClock { clock, shared: false };
        }
    };
    let apart = apart(&clock, machine.wall());
    if apart >= APART_MAX {
        let (file, ahead) = (path.display(), clock.now() > machine.wall());
        tracing::warn!(
            %file, seconds = apart.as_secs(), ahead,
            "the clock of the file and the machine's are apart: deadlines and times of messages \
             follow the file's, which goes on while messages wait in it"
        );
    }
    FileClock { clock, shared: true }
}

/// How far a clock and the wall clock are apart.
fn apart(clock: &SystemClock, wall: Timestamp) -> Duration {
    let now = clock.now();
    now.until(wall).max(wall.until(now))
}

/// Leaves the present moment for the clock that is begun after the machine was started again.
pub(crate) fn note(lock: &Mutex<Option<File>>, clock: &FileClock) {
    let lock = lock.lock();
    if let Some(file) = lock.as_ref().filter(|_| clock.shared) {
        let text = format!("{:0DIGITS$}\n", clock.clock.now().as_millis());
        // What cannot be noted is noted the next time.
        let _ = write_at(file, SEEN_AT, &text);
    }
}
