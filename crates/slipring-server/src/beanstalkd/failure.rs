//! What the engine refuses or cannot do, as replies; and the words of replies and commands for the
//! log.

use slipring::{Error, ErrorKind, Retry};
use slipring_wire::beanstalkd::{Command, Reply};

/// The reply for an error of the engine. `OUT_OF_MEMORY` is the protocol's word for "not now, try
/// again later".
pub(super) fn reply_for(error: &Error) -> Reply {
    let limit = || error.context().iter().find(|(key, _)| *key == "limit");
    match error.kind() {
        // Its jobs are gone with a queue.
        ErrorKind::QueueNotFound
        | ErrorKind::MessageGone
        | ErrorKind::WrongState
        | ErrorKind::LeaseLost => Reply::NotFound,
        ErrorKind::LimitExceeded => match limit() {
            Some((_, name)) if name == "message_bytes_max" => Reply::JobTooBig,
            _ => Reply::OutOfMemory,
        },
        _ if error.retry() == Retry::Later => Reply::OutOfMemory,
        _ => Reply::InternalError,
    }
}

/// The word of a reply that refuses a command, other than by what the store holds.
pub(super) fn refusal(reply: &Reply) -> Option<&'static str> {
    match reply {
        Reply::BadFormat => Some("BAD_FORMAT"),
        Reply::Draining => Some("DRAINING"),
        Reply::ExpectedCrlf => Some("EXPECTED_CRLF"),
        Reply::InternalError => Some("INTERNAL_ERROR"),
        Reply::JobTooBig => Some("JOB_TOO_BIG"),
        Reply::NotIgnored => Some("NOT_IGNORED"),
        Reply::OutOfMemory => Some("OUT_OF_MEMORY"),
        Reply::UnknownCommand => Some("UNKNOWN_COMMAND"),
        _ => None,
    }
}

/// The word that a command begins with.
pub(super) fn word(command: &Command) -> &'static str {
    match command {
        Command::Put(_) => "put",
        Command::Use(_) => "use",
        Command::Reserve => "reserve",
        Command::ReserveWithTimeout { .. } => "reserve-with-timeout",
        Command::ReserveJob { .. } => "reserve-job",
        Command::Delete { .. } => "delete",
        Command::Release { .. } => "release",
        Command::Bury { .. } => "bury",
        Command::Touch { .. } => "touch",
        Command::Watch(_) => "watch",
        Command::Ignore(_) => "ignore",
        Command::Peek { .. } => "peek",
        Command::PeekReady => "peek-ready",
        Command::PeekDelayed => "peek-delayed",
        Command::PeekBuried => "peek-buried",
        Command::Kick { .. } => "kick",
        Command::KickJob { .. } => "kick-job",
        Command::StatsJob { .. } => "stats-job",
        Command::StatsTube(_) => "stats-tube",
        Command::Stats => "stats",
        Command::ListTubes => "list-tubes",
        Command::ListTubeUsed => "list-tube-used",
        Command::ListTubesWatched => "list-tubes-watched",
        Command::PauseTube { .. } => "pause-tube",
        Command::Quit => "quit",
    }
}

/// Whether the error is the message's state and not a failure.
pub(super) fn is_no_such_job(error: &Error) -> bool {
    reply_for(error) == Reply::NotFound
}
