//! `slipring import`: a PostgreSQL database that was restored from a dump is taken into
//! use.

use clap::Args;
use slipring_server::audit::Act;

use crate::audit::{self, AuditArgs};
use crate::failure::Failure;
use crate::print;

use super::database::DatabaseArgs;

#[derive(Debug, Args)]
pub struct ImportArgs {
    #[command(flatten)]
    database: DatabaseArgs,
    #[command(flatten)]
    audit: AuditArgs,
}

impl ImportArgs {
    pub async fn run(self) -> Result<(), Failure> {
        let (address, options) = self.database.find()?;
        let audit_file = self.audit.open()?;
        let deed = audit::begin(audit_file, Act::Import, &address.to_string());
        let done = slipring_postgres::import(&address, options).await?;
        deed.finished();
        print::line(&format!(
            "{} queues are ready for use; numbers of transactions are raised by {}",
            done.queues, done.xid_base
        ))
    }
}
