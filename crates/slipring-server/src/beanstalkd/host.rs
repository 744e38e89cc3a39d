//! What the statistics say of the machine and the process.

use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use nix::sys::utsname::uname;

/// The machine as `uname` names it; empty texts where it does not.
#[derive(Clone, Debug, Default)]
pub(super) struct Machine {
    pub(super) hostname: String,
    pub(super) os: String,
    pub(super) platform: String,
}

impl Machine {
    pub(super) fn read() -> Machine {
        let Ok(names) = uname() else { return Machine::default() };
        Machine {
            hostname: names.nodename().to_string_lossy().into_owned(),
            os: names.version().to_string_lossy().into_owned(),
            platform: names.machine().to_string_lossy().into_owned(),
        }
    }
}

/// User and system CPU time of this process so far.
pub(super) fn cpu_times() -> (Duration, Duration) {
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
