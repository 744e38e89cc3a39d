//! Giving up the rights of root, as the original beanstalkd does for `-u`.

use std::ffi::CString;

use nix::unistd::{User, geteuid, initgroups, setgid, setuid};

use crate::failure::Failure;

/// Goes on as the user of this name. Whoever is that user already stays as he is.
///
/// # Errors
/// There is no such user, or this process may not become somebody else.
pub fn become_user(name: &str) -> Result<(), Failure> {
    let refuse = |why: &dyn std::fmt::Display| Failure::failed(format!("-u {name}: {why}"));
    let user = User::from_name(name).map_err(|error| refuse(&error))?;
    let user = user.ok_or_else(|| refuse(&"there is no such user"))?;
    if user.uid == geteuid() {
        return Ok(());
    }
    let groups = CString::new(name).map_err(|error| refuse(&error))?;
    // Groups first: without the rights of root they cannot be changed any more.
    let became = initgroups(&groups, user.gid)
        .and_then(|()| setgid(user.gid))
        .and_then(|()| setuid(user.uid));
    became.map_err(|error| refuse(&error))
}
