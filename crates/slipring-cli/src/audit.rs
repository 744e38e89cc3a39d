//! The audit of verbs that work on a store by themselves: the file, and who runs them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use nix::unistd::{User, getuid};
use slipring::SystemClock;
use slipring_server::audit::{Act, Audit, AuditFile, Deed, Who};

use crate::failure::Failure;

/// The flag of a verb.
#[derive(Debug, Args)]
pub struct AuditArgs {
    /// Append what is done to the store to this file, one JSON object per line
    #[arg(long, value_name = "PATH", env = "SLIPRING_AUDIT_FILE")]
    audit_file: Option<PathBuf>,
}

impl AuditArgs {
    /// Opens the file, if one is named.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(&self) -> Result<Option<AuditFile>, Failure> {
        self.audit_file.as_deref().map(open).transpose()
    }
}

/// Opens an audit file.
///
/// # Errors
/// What the system says, with what to do.
pub fn open(path: &Path) -> Result<AuditFile, Failure> {
    AuditFile::open(path).map_err(|error| {
        Failure::failed(format!(
            "--audit-file {}: it cannot be opened to append to it: {error}; name a file in a \
             folder that this user may write to",
            path.display()
        ))
    })
}

/// The user who runs this process.
pub fn me() -> Who {
    let user = getuid();
    let name = User::from_uid(user).ok().flatten().map(|user| user.name);
    let principal = Some(name.unwrap_or_else(|| user.to_string()));
    Who { protocol: "command line", principal, ..Who::default() }
}

/// Writes down that a verb begins with a store; the end is written by what is answered.
pub fn begin(file: Option<AuditFile>, act: Act, store: &str) -> Deed {
    Audit::new(Arc::new(SystemClock::new()), file).begin_store(act, store, me())
}
