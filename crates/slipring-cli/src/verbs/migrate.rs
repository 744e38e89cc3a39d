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
                format!("the functions of version {} were brought up to date", done.to)
            }
            (false, Some(from)) => {
                format!("the schema was brought from version {from} to version {}", done.to)
            }
        })
    }
}
