//! `slipring completions`: what a shell needs to complete this command line.

use clap::{Args, Command};
use clap_complete::{Shell, generate};

use crate::failure::Failure;
use crate::print;

#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell that will read them
    shell: Shell,
}

impl CompletionsArgs {
    /// Prints the completions of `command` for the shell.
    ///
    /// # Errors
    /// Stdout that cannot be written to, such as a full disk.
    pub fn run(self, mut command: Command) -> Result<(), Failure> {
        let mut text = Vec::new();
        generate(self.shell, &mut command, "slipring", &mut text);
        print::all(&text)
    }
}
