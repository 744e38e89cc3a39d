//! A last question before what cannot be taken back.

use std::io::{BufRead, IsTerminal, Write};

use clap::Args;

use crate::failure::Failure;

/// The flag that answers the question beforehand.
#[derive(Debug, Args)]
pub struct ConfirmArgs {
    /// Go on without a question; there is none either when stdin or stderr is no terminal
    #[arg(long, short)]
    yes: bool,
}

impl ConfirmArgs {
    /// Asks on a terminal whether to go on; anything but `y` or `yes` ends the verb.
    ///
    /// # Errors
    /// That the answer was no; a terminal that fails.
    pub fn ask(&self, question: &str) -> Result<(), Failure> {
        if self.yes || !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
            return Ok(());
        }
        let mut stderr = std::io::stderr().lock();
        // In one write: what is typed ahead is shown at any time, but not amid the question.
        let text = format!("{question} [y/N] ");
        let asked = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
        asked.map_err(Failure::failed)?;
        let mut answer = String::new();
        std::io::stdin().lock().read_line(&mut answer).map_err(Failure::failed)?;
        match answer.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => Ok(()),
            _ => Err(Failure::failed("nothing was done")),
        }
    }
}
