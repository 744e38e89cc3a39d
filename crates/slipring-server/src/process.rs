//! What the server asks of the operating system for itself: open files, memory, CPU time.

use std::time::Duration;

use nix::sys::resource::{Resource, UsageWho, getrlimit, getrusage, setrlimit};
use nix::sys::time::TimeVal;
use nix::unistd::{SysconfVar, sysconf};

/// Raises the limit of open files to the most the system allows this process, and answers the
/// limit that holds afterwards; `None` when the system does not say.
pub fn raise_open_files() -> Option<u64> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).ok()?;
    if soft >= hard || setrlimit(Resource::RLIMIT_NOFILE, hard, hard).is_err() {
        return Some(soft);
    }
    Some(hard)
}

/// What this process uses at the moment. A figure the system does not give is zero.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Usage {
    pub(crate) resident_bytes: u64,
    pub(crate) cpu: Duration,
    pub(crate) open_files: u64,
    pub(crate) open_files_max: u64,
}

impl Usage {
    /// Reads the figures; a few small files of `/proc`.
    pub(crate) fn read() -> Usage {
        let (user, system) = cpu_times();
        Usage {
            resident_bytes: resident_bytes().unwrap_or_default(),
            cpu: user + system,
            open_files: std::fs::read_dir("/proc/self/fd").map_or(0, |dir| dir.count() as u64),
            open_files_max: getrlimit(Resource::RLIMIT_NOFILE).map_or(0, |(soft, _)| soft),
        }
    }
}

fn resident_bytes() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    let page_bytes = sysconf(SysconfVar::PAGE_SIZE).ok()??;
    Some(pages * u64::try_from(page_bytes).ok()?)
}

/// User and system CPU time of this process so far; zero when the system does not say.
pub(crate) fn cpu_times() -> (Duration, Duration) {
    match getrusage(UsageWho::RUSAGE_SELF) {
        Ok(usage) => (duration(usage.user_time()), duration(usage.system_time())),
        Err(_) => (Duration::ZERO, Duration::ZERO),
    }
}

fn duration(time: TimeVal) -> Duration {
    let seconds = u64::try_from(time.tv_sec()).unwrap_or_default();
    let micros = u64::try_from(time.tv_usec()).unwrap_or_default();
    Duration::from_secs(seconds) + Duration::from_micros(micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_uses_memory_and_files() {
        let usage = Usage::read();
        assert!(usage.resident_bytes > 0 && usage.open_files > 0, "{usage:?}");
        assert_eq!(raise_open_files(), Some(Usage::read().open_files_max));
    }
}
