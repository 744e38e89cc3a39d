//! The moment of a kill: when the log is being copied into the file, or truncated.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use super::dice::Dice;

/// A copy takes longer, so one is met; a look is a call of the system and little more.
const LOOK_EVERY: Duration = Duration::from_micros(100);
/// A kill comes then in any case.
const AIM_WITHIN: Duration = Duration::from_millis(2500);
/// How far into a copy a kill may come.
const INTO_MICROSECONDS: u64 = 15_000;

/// The files of a store, watched from outside.
pub struct Aim {
    file: PathBuf,
    log: PathBuf,
}

/// What tells that a file was written to.
type Look = Option<(u64, SystemTime)>;

impl Aim {
    /// At the store in `file`.
    pub fn at(file: &Path) -> Aim {
        let mut log = file.as_os_str().to_owned();
        log.push("-wal");
        Aim { file: file.to_owned(), log: log.into() }
    }

    /// Returns at the beginning of a copy or a little later; only a copy writes to the file
    /// itself. False when there was none.
    pub fn copy(&self, dice: &Dice) -> bool {
        let before = look(&self.file);
        let met = wait_until(|| look(&self.file) != before);
        if dice.chance(0.5) {
            std::thread::sleep(Duration::from_micros(dice.below(INTO_MICROSECONDS)));
        }
        met
    }

    /// Returns when the log is copied, has become shorter or is gone, as at the end of a process.
    /// False when nothing of it was seen.
    pub fn truncation(&self, dice: &Dice) -> bool {
        let (file, log) = (look(&self.file), bytes(&self.log));
        let shorter = || bytes(&self.log) < log;
        // Half of the kills come into the copy before.
        let copied = dice.chance(0.5);
        wait_until(|| shorter() || copied && look(&self.file) != file)
    }
}

fn wait_until(condition: impl Fn() -> bool) -> bool {
    let deadline = Instant::now() + AIM_WITHIN;
    while !condition() {
        if Instant::now() > deadline {
            return false;
        }
        std::thread::sleep(LOOK_EVERY);
    }
    true
}

fn look(path: &Path) -> Look {
    let file = std::fs::metadata(path).ok()?;
    Some((file.len(), file.modified().ok()?))
}

fn bytes(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |file| file.len())
}
