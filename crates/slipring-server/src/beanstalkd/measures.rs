//! What a connection notes for the metrics: how long commands took, and which errors it answered.

use slipring::clock::monotonic_ns;
use slipring_wire::beanstalkd::{Command, Refusal, Reply};

use crate::metrics::Ledger;

/// The commands by their names. Their numbers are their places here.
pub(super) const COMMANDS: [&str; 25] = [
    "put",
    "peek",
    "peek-ready",
    "peek-delayed",
    "peek-buried",
    "reserve",
    "reserve-with-timeout",
    "delete",
    "release",
    "use",
    "watch",
    "ignore",
    "bury",
    "kick",
    "touch",
    "stats",
    "stats-job",
    "stats-tube",
    "list-tubes",
    "list-tube-used",
    "list-tubes-watched",
    "pause-tube",
    "kick-job",
    "reserve-job",
    "quit",
];

/// The replies that are errors.
const CODES: [&str; 9] = [
    "NOT_FOUND",
    "NOT_IGNORED",
    "EXPECTED_CRLF",
    "JOB_TOO_BIG",
    "DRAINING",
    "OUT_OF_MEMORY",
    "INTERNAL_ERROR",
    "BAD_FORMAT",
    "UNKNOWN_COMMAND",
];

/// The ledger of a server.
pub(super) fn ledger() -> Ledger {
    Ledger::new(COMMANDS, CODES)
}

/// Counts a reply that was given so many times, if it is an error.
pub(super) fn said(ledger: &Ledger, reply: &Reply, times: usize) {
    let code = match reply {
        Reply::NotFound => "NOT_FOUND",
        Reply::NotIgnored => "NOT_IGNORED",
        Reply::ExpectedCrlf => "EXPECTED_CRLF",
        Reply::JobTooBig => "JOB_TOO_BIG",
        Reply::Draining => "DRAINING",
        Reply::OutOfMemory => "OUT_OF_MEMORY",
        Reply::InternalError => "INTERNAL_ERROR",
        Reply::BadFormat => "BAD_FORMAT",
        Reply::UnknownCommand => "UNKNOWN_COMMAND",
        _ => return,
    };
    ledger.failed(code, times as u64);
}

/// The commands of one run, which are answered together.
#[derive(Debug, Default)]
pub(super) struct Run {
    began_ns: u64,
    /// They are reserves that may wait for jobs.
    polls: bool,
    /// How many there are of each.
    taken: [u16; COMMANDS.len()],
}

impl Run {
    /// A run that begins now with a command.
    pub(super) fn beginning_with(first: &Result<Command, Refusal>) -> Run {
        let mut run = Run { began_ns: monotonic_ns(), polls: false, taken: [0; COMMANDS.len()] };
        if let Ok(command) = first {
            run.polls = match command {
                Command::Reserve => true,
                Command::ReserveWithTimeout { seconds } => *seconds > 0,
                _ => false,
            };
            run.take(number(command));
        }
        run
    }

    /// The command of this number is in the run, too.
    pub(super) fn take(&mut self, number: usize) {
        if let Some(taken) = self.taken.get_mut(number) {
            *taken = taken.saturating_add(1);
        }
    }

    /// All of them are answered.
    pub(super) fn over(&self, ledger: &Ledger) {
        for (number, taken) in self.taken.iter().enumerate().filter(|(_, taken)| **taken > 0) {
            ledger.took(number, self.began_ns, self.polls, u64::from(*taken));
        }
    }
}

/// The place of a command in [`COMMANDS`].
pub(super) fn number(command: &Command) -> usize {
    match command {
        Command::Put(_) => 0,
        Command::Peek { .. } => 1,
        Command::PeekReady => 2,
        Command::PeekDelayed => 3,
        Command::PeekBuried => 4,
        Command::Reserve => 5,
        Command::ReserveWithTimeout { .. } => 6,
        Command::Delete { .. } => 7,
        Command::Release { .. } => 8,
        Command::Use(_) => 9,
        Command::Watch(_) => 10,
        Command::Ignore(_) => 11,
        Command::Bury { .. } => 12,
        Command::Kick { .. } => 13,
        Command::Touch { .. } => 14,
        Command::Stats => 15,
        Command::StatsJob { .. } => 16,
        Command::StatsTube(_) => 17,
        Command::ListTubes => 18,
        Command::ListTubeUsed => 19,
        Command::ListTubesWatched => 20,
        Command::PauseTube { .. } => 21,
        Command::KickJob { .. } => 22,
        Command::ReserveJob { .. } => 23,
        Command::Quit => 24,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slipring_wire::beanstalkd::Parser;

    #[test]
    fn every_command_has_the_number_of_its_name() {
        let arguments = |name: &str| match name {
            "put" => " 0 0 1 0\r\n\r\n",
            "release" => " 1 0 0\r\n",
            "bury" => " 1 0\r\n",
            "use" | "watch" | "ignore" | "stats-tube" => " tube\r\n",
            "pause-tube" => " tube 1\r\n",
            "peek"
            | "delete"
            | "kick"
            | "touch"
            | "stats-job"
            | "kick-job"
            | "reserve-job"
            | "reserve-with-timeout" => " 1\r\n",
            _ => "\r\n",
        };
        for (place, name) in COMMANDS.iter().enumerate() {
            let mut parser = Parser::new(100);
            parser.buffer_mut().extend_from_slice(name.as_bytes());
            parser.buffer_mut().extend_from_slice(arguments(name).as_bytes());
            let command = parser.next().unwrap().unwrap();
            assert_eq!(number(&command), place, "{name}");
        }
    }
}
