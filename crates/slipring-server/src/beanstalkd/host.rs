//! What the statistics say of the machine.

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
