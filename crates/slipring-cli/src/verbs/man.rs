//! `slipring man`: the manual pages.

use std::path::PathBuf;

use clap::{Args, Command};

use crate::failure::Failure;
use crate::print;

#[derive(Debug, Args)]
pub struct ManArgs {
    /// Write a page for each verb into this folder, which must be there
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

impl ManArgs {
    /// Prints the page of `command`, or writes the pages of all verbs.
    ///
    /// # Errors
    /// A folder or a stdout that cannot be written to.
    pub fn run(self, command: Command) -> Result<(), Failure> {
        if let Some(folder) = self.out {
            return clap_mangen::generate_to(command, &folder).map_err(|error| {
                Failure::failed(format!("manual pages in {}: {error}", folder.display()))
            });
        }
        let mut page = Vec::new();
        clap_mangen::Man::new(command)
            .render(&mut page)
            .map_err(|error| Failure::failed(format!("the manual page: {error}")))?;
        print::all(&page)
    }
}
