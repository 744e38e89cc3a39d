//! Where the store's files are: made for their owner alone, and whether their names still lead to
//! what was opened.
//!
//! A file that was removed or replaced under a running program can still be written, but what is
//! written there is never found again. Looks are by name only: closing a second handle on the file
//! or on its `-shm` would drop the locks that SQLite has on them.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use slipring::clock::monotonic_ns;
use slipring::{Error, ErrorKind};

use crate::open::beside;

/// How often the names are looked at: what is answered within this time after a file was removed
/// may stand only in the removed one.
const LOOK_EVERY_NS: u64 = 10_000_000;

/// A store that is opened waits at least so long for another process that opens the file.
pub(crate) const OPEN_WAIT_MIN: Duration = Duration::from_secs(5);
/// The pause between two tries to get the lock of the file while another process opens it.
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// What makes a file the same file, whatever it is called.
type Identity = (u64, u64);

/// The names of a store's files, each with the file it led to when the store was opened.
pub(crate) struct Place {
    files: Vec<(PathBuf, Identity)>,
    look_at_ns: AtomicU64,
    away: Mutex<Option<Error>>,
}

impl Place {
    /// Takes note of the database, its log and the log's index, as far as they are there.
    pub(crate) fn of(database: &Path) -> Place {
        let names = [database.to_owned(), beside(database, "-wal"), beside(database, "-shm")];
        let known = |path: PathBuf| identity(&path).ok().map(|identity| (path, identity));
        Place {
            files: names.into_iter().filter_map(known).collect(),
            look_at_ns: AtomicU64::new(0),
            away: Mutex::new(None),
        }
    }

    /// Whether the names still lead to the files; looks at most every 10 ms.
    ///
    /// # Errors
    /// `StorageUnavailable` while one does not.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let now_ns = monotonic_ns();
        if now_ns >= self.look_at_ns.load(Ordering::Relaxed) {
            self.look_at_ns.store(now_ns.saturating_add(LOOK_EVERY_NS), Ordering::Relaxed);
            self.look();
        }
        self.away.lock().clone().map_or(Ok(()), Err)
    }

    fn look(&self) {
        let gone = |(path, known): &&(PathBuf, Identity)| {
            !identity(path).is_ok_and(|identity| identity == *known)
        };
        let found = self.files.iter().find(gone).map(|(path, _)| away(path));
        let mut away = self.away.lock();
        match (&*away, &found) {
            (None, Some(error)) => tracing::error!(%error, "the store stops writing"),
            (Some(_), None) => tracing::warn!("the file is back; the store writes again"),
            _ => {}
        }
        *away = found;
    }

    /// Looks no more: SQLite is about to remove the log.
    pub(crate) fn leave(&self) {
        self.look_at_ns.store(u64::MAX, Ordering::Relaxed);
    }

    /// Bytes of the largest of the files.
    pub(crate) fn bytes_max(&self) -> u64 {
        let bytes = |(path, _): &(PathBuf, Identity)| std::fs::metadata(path).map(|f| f.len()).ok();
        self.files.iter().filter_map(bytes).max().unwrap_or(0)
    }

    /// The index of the log, whose locks tell who reads and who writes.
    pub(crate) fn index(&self) -> Option<Identity> {
        let is_index = |path: &Path| path.as_os_str().as_encoded_bytes().ends_with(b"-shm");
        self.files.iter().find(|(path, _)| is_index(path)).map(|(_, identity)| *identity)
    }
}

fn away(path: &Path) -> Error {
    let text = "the file was removed or replaced while it was open, and nothing is written where \
                no name leads to: put the file that was opened back, or stop the program and \
                start it on the one that is there now";
    Error::new(ErrorKind::StorageUnavailable, text).with("file", path.display())
}

/// Device and number of the file that a name leads to.
#[cfg(unix)]
pub(crate) fn identity(path: &Path) -> io::Result<Identity> {
    use std::os::unix::fs::MetadataExt;
    let file = std::fs::metadata(path)?;
    Ok((file.dev(), file.ino()))
}

/// Systems without such numbers do not let an open file be removed.
#[cfg(not(unix))]
pub(crate) fn identity(path: &Path) -> io::Result<Identity> {
    std::fs::metadata(path).map(|_| (0, 0))
}

/// Makes an empty database that only its owner may read and write, where there is none; SQLite
/// gives `-wal` and `-shm` the same mode. One that is there keeps its own.
pub(crate) fn make_private(path: &Path) -> io::Result<()> {
    // Held until the new file's handle is closed: closing it after another store of this process
    // has opened the file would drop that one's locks.
    static MAKING: Mutex<()> = Mutex::new(());
    let _making = MAKING.lock();
    create_new(path, 0o600).map(drop)
}

/// The file that a name leads to by links; the name itself where there is none yet.
pub(crate) fn followed(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Opens the lock file; true when no other store has the file open, and then none can get past
/// this point until the lock is made shared. While another one is there, or rewrites the file, it
/// waits for so long.
///
/// # Errors
/// `WouldBlock` when the time is over; `ResourceBusy` when a store has the file open whose lock
/// file was removed, so that the lock does not tell it of others.
pub(crate) fn lock(path: &Path, wait: Duration) -> io::Result<(File, bool)> {
    let file = open_lock(path)?;
    let since_ns = monotonic_ns();
    loop {
        let mut busy = io::ErrorKind::WouldBlock;
        match file.try_lock() {
            Ok(()) if !is_marked_open(path)? => return Ok((file, true)),
            Ok(()) => {
                file.unlock()?;
                busy = io::ErrorKind::ResourceBusy;
            }
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) => match file.try_lock_shared() {
                Ok(()) => return Ok((file, false)),
                Err(TryLockError::Error(error)) => return Err(error),
                Err(TryLockError::WouldBlock) => {}
            },
        }
        let waited = Duration::from_nanos(monotonic_ns().saturating_sub(since_ns));
        if waited >= wait {
            return Err(busy.into());
        }
        std::thread::park_timeout(LOCK_PAUSE);
    }
}

/// Marks a log as that of a store that has the file open, as long as the handle is: it tells of the
/// store also when its lock file was removed, and keeps no other program from anything.
pub(crate) fn mark_open(log: &File) -> io::Result<()> {
    // Elsewhere a lock keeps others from writing, and an open file cannot be removed.
    if cfg!(unix) { log.lock_shared() } else { Ok(()) }
}

/// Whether a store has marked the log of a database.
fn is_marked_open(database: &Path) -> io::Result<bool> {
    // For writing, too: over NFS no other handle may have such a lock.
    let log = match OpenOptions::new().read(true).write(true).open(beside(database, "-wal")) {
        Ok(log) if cfg!(unix) => log,
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => return Ok(false),
    };
    match log.try_lock() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Opens the lock file, made with the mode of the database if it is not there.
fn open_lock(database: &Path) -> io::Result<File> {
    let path = beside(database, "-lock");
    if let Some(file) = create_new(&path, mode(database))? {
        return Ok(file);
    }
    OpenOptions::new().read(true).write(true).open(path)
}

/// A new file with exactly this mode, whatever the process masks; `None` when there is one.
fn create_new(path: &Path, mode: u32) -> io::Result<Option<File>> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    let file = match options.open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
        Err(error) => return Err(error),
    };
    #[cfg(unix)]
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(mode))?;
    Ok(Some(file))
}

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).map_or(0o600, |file| file.permissions().mode() & 0o666)
}

#[cfg(not(unix))]
fn mode(_path: &Path) -> u32 {
    0o600
}
