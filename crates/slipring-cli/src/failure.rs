//! Why a verb did not do its work, and the exit code that says so.

use std::fmt;
use std::process::ExitCode;

use slipring_server::listen::ListenError;

use crate::logging::LogFormat;

/// A verb's failure: a sentence for people, and whose fault it is.
#[derive(Debug)]
pub struct Failure {
    text: String,
    usage: bool,
    /// Whether it may have taken effect all the same.
    unknown: bool,
    /// How it is to be shown.
    format: LogFormat,
}

impl Failure {
    /// The operation failed: exit code 1.
    pub fn failed(text: impl fmt::Display) -> Failure {
        Failure { text: text.to_string(), usage: false, unknown: false, format: LogFormat::Human }
    }

    /// The arguments or the configuration are wrong: exit code 2.
    pub fn usage(text: impl fmt::Display) -> Failure {
        Failure { text: text.to_string(), usage: true, unknown: false, format: LogFormat::Human }
    }

    /// The same failure of something that may have taken effect all the same.
    #[must_use]
    pub fn unknown(self) -> Failure {
        Failure { unknown: true, ..self }
    }

    /// Whether it may have taken effect all the same.
    pub fn is_unknown(&self) -> bool {
        self.unknown
    }

    /// The same failure, and what else is to be known of it.
    #[must_use]
    pub fn with(self, more: impl fmt::Display) -> Failure {
        Failure { text: format!("{}; {more}", self.text), ..self }
    }

    /// The same failure of a program whose log has this format.
    #[must_use]
    pub fn shown_as(self, format: LogFormat) -> Failure {
        Failure { format, ..self }
    }

    /// The same failure with its text changed.
    #[must_use]
    pub fn shown_by(self, change: impl FnOnce(&str) -> String) -> Failure {
        Failure { text: change(&self.text), ..self }
    }

    /// How it is to be shown.
    pub fn format(&self) -> LogFormat {
        self.format
    }

    /// What the process ends with.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(if self.usage { 2 } else { 1 })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<slipring::Error> for Failure {
    fn from(error: slipring::Error) -> Failure {
        Failure::failed(error)
    }
}

impl From<ListenError> for Failure {
    fn from(error: ListenError) -> Failure {
        match error {
            ListenError::Exposed { .. } | ListenError::NotTcp { .. } => Failure::usage(error),
            _ => Failure::failed(error),
        }
    }
}
