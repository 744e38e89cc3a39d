//! What a rule reports: where, which rule, what to do.

use std::fmt;

/// Whether a finding fails the run or is only told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Fail,
    Warn,
}

/// One place that breaks a rule.
#[derive(Debug)]
pub struct Finding {
    pub level: Level,
    pub path: String,
    /// Counted from 1; 0 when the finding is about the whole file.
    pub line: usize,
    pub rule: &'static str,
    /// What is wrong and what to do about it.
    pub text: String,
}

impl Finding {
    /// A finding that fails the run.
    pub fn fail(path: &str, line: usize, rule: &'static str, text: String) -> Finding {
        Finding { level: Level::Fail, path: path.to_owned(), line, rule, text }
    }

    /// A finding that is printed and nothing more.
    pub fn warn(path: &str, line: usize, rule: &'static str, text: String) -> Finding {
        Finding { level: Level::Warn, ..Finding::fail(path, line, rule, text) }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.level {
            Level::Fail => "error",
            Level::Warn => "warning",
        };
        write!(out, "{}", self.path)?;
        if self.line > 0 {
            write!(out, ":{}", self.line)?;
        }
        write!(out, ": {word}: {}: {}", self.rule, self.text)
    }
}
