//! `slipring doctor`: why it is slow, and what to do about it, in sentences.
//!
//! Two looks, some seconds apart, are compared by rules that know neither the store nor the time.

pub(super) mod judge;
#[cfg(test)]
pub(super) mod made;
mod rules;
pub(super) mod snapshot;
pub(super) mod words;

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use serde::Serialize;

use self::judge::{Finding, Level, judge};
use self::snapshot::Snapshot;
use crate::failure::Failure;
use crate::print;
use crate::target::TargetArgs;

/// The exit code when something is wrong.
const FOUND: u8 = 3;

#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// How long to look: what grows, and what is waited for, is measured meanwhile
    #[arg(long = "for", value_name = "DURATION", default_value = "5s",
        value_parser = print::parse_duration)]
    time: Duration,
    #[command(flatten)]
    target: TargetArgs,
}

/// What programs read.
#[derive(Debug, Serialize)]
struct Report {
    queues: usize,
    wait_classes: usize,
    sessions: u64,
    seconds: f64,
    findings: Vec<Finding>,
}

impl DoctorArgs {
    pub async fn run(self) -> Result<ExitCode, Failure> {
        let (target, first) = self.target.open_after_look().await?;
        let before = Snapshot::first(&target, first).await?;
        tokio::time::sleep(self.time).await;
        let after = Snapshot::second(&target).await?;
        let between_ns = after.read_ns.saturating_sub(before.read_ns);
        let seconds = Duration::from_nanos(between_ns).as_secs_f64();
        target.close().await;
        let report = Report {
            queues: after.queues.len(),
            wait_classes: after.waits.len(),
            sessions: after.obstacles.sessions,
            seconds,
            findings: judge(&before, &after, seconds),
        };
        let wrong = report.findings.iter().any(|finding| finding.level != Level::Note);
        if self.target.json {
            print::json(&report)?;
        } else {
            print::line(&report.in_words(wrong))?;
        }
        Ok(if wrong { ExitCode::from(FOUND) } else { ExitCode::SUCCESS })
    }
}

impl Report {
    /// The findings, each with what to do in a line of its own; the last line says what was looked
    /// at where nothing is wrong.
    fn in_words(&self, wrong: bool) -> String {
        let mut lines: Vec<String> = self.findings.iter().map(Finding::in_words).collect();
        if !wrong {
            let (waits, sessions) = (self.wait_classes as u64, self.sessions);
            let mut looked = vec![format!("{} queues", words::count(self.queues as u64))];
            for (number, what) in [(waits, "wait classes"), (sessions, "sessions")] {
                if number > 0 {
                    looked.push(format!("{} {what}", words::count(number)));
                }
            }
            let looked = looked.join(", ");
            lines.push(format!("{looked}, {:.1} s: nothing is wrong", self.seconds));
        }
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::judge::Rule;
    use super::*;

    #[test]
    fn where_nothing_is_wrong_the_last_line_says_what_was_looked_at() {
        let findings = vec![Finding {
            level: Level::Note,
            rule: Rule::Paused,
            queue: None,
            sentence: "It is so.".to_owned(),
            advice: "Leave it.".to_owned(),
        }];
        let looked = Report { queues: 1214, wait_classes: 6, sessions: 3, seconds: 5.04, findings };
        let line = "1,214 queues, 6 wait classes, 3 sessions, 5.0 s: nothing is wrong";
        assert_eq!(looked.in_words(false), format!("note: It is so.\n    Leave it.\n{line}"));
        assert_eq!(looked.in_words(true), "note: It is so.\n    Leave it.");
    }
}
