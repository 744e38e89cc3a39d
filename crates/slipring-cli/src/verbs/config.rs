//! `slipring config`: the configuration that holds, and where each value came from.

use clap::{ArgMatches, Args};
use serde_json::{Map, Value, json};

use crate::failure::Failure;
use crate::print;
use crate::settings::{Settings, SettingsArgs};

#[derive(Debug, Args)]
pub struct ConfigArgs {
    #[command(flatten)]
    settings: SettingsArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Print nothing; the exit code says whether the configuration holds
    #[arg(long, conflicts_with = "json")]
    check: bool,
}

impl ConfigArgs {
    pub fn run(self, given: &ArgMatches) -> Result<(), Failure> {
        let settings = Settings::load(self.settings, given)?;
        if self.check {
            return settings.check_listeners();
        }
        if self.json {
            let rows = settings.rows().into_iter().map(|row| {
                (row.key.to_owned(), json!({ "value": row.value, "source": row.source }))
            });
            return print::json(&Value::Object(rows.collect::<Map<_, _>>()));
        }
        let mut table = print::table(&["SETTING", "VALUE", "FROM"], 0..0);
        for row in settings.rows() {
            table.add_row([row.key.to_owned(), row.value, row.source]);
        }
        print::line(&table.to_string())
    }
}
