//! `slipring migrate`: the schema of a PostgreSQL database, brought up to date or only looked at.

use clap::Args;

use crate::failure::Failure;
use crate::print;

use super::database::DatabaseArgs;

#[derive(Debug, Args)]
pub struct MigrateArgs {
    #[command(flatten)]
    database: DatabaseArgs,
    /// Print the SQL and change nothing
    #[arg(long)]
    dry_run: bool,
}

impl MigrateArgs {
    pub async fn run(self) -> Result<(), Failure> {
        let (address, options) = self.database.find()?;
        let done = slipring_postgres::migrate(&address, options, self.dry_run).await?;
        if self.dry_run && !done.is_empty() {
            return print::line(done.sql.trim_end());
        }
        print::line(&match (done.is_empty(), done.from) {
            (true, _) => {
                let comment = if self.dry_run { "-- " } else { "" };
                format!("{comment}the schema is up to date (version {})", done.to)
            }
            (false, None) => format!("the schema was made (version {})", done.to),
            (false, Some(from)) if from == done.to => {
                let to = done.to;
                format!("the functions of version {to} and the rights to them are up to date now")
            }
            (false, Some(from)) => {
                format!("the schema was brought from version {from} to version {}", done.to)
            }
        })?;
        if done.roles_missing.is_empty() {
            return Ok(());
        }
        let comment = if self.dry_run { "-- " } else { "" };
        print::line(&format!(
            "{comment}these roles are not there and the user may not create them: {}; when \
             somebody has, run `slipring migrate` again, which gives them their rights",
            done.roles_missing.join(", ")
        ))
    }
}
