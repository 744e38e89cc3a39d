//! The commands: one file per tight family, each with its reading and its writing.

mod kick;
mod list;
mod pause;
mod peek;
mod put;
mod reserve;
mod settle;
mod stats;
mod tube;

use bytes::{BufMut, BytesMut};

use super::fields::Fields;
use super::name::TubeName;
use super::refusal::Refusal;

pub use put::Put;

/// A complete command as a client sends it. Times are in whole seconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Put a job into the used tube.
    Put(Put),
    /// Use a tube for the puts, peeks and kicks that follow.
    Use(TubeName),
    /// Reserve the best ready job of the watched tubes; wait for one if there is none.
    Reserve,
    /// Reserve, but wait at most this long. 0 does not wait.
    ReserveWithTimeout {
        /// At most 2³¹−1.
        seconds: u32,
    },
    /// Reserve one particular ready, delayed or buried job.
    ReserveJob {
        /// The job.
        id: u64,
    },
    /// Remove a job for good.
    Delete {
        /// The job.
        id: u64,
    },
    /// Give a reserved job back.
    Release {
        /// The job.
        id: u64,
        /// Its new priority.
        priority: u32,
        /// Seconds until it is ready again.
        delay: u32,
    },
    /// Put a reserved job aside until it is kicked.
    Bury {
        /// The job.
        id: u64,
        /// Its new priority.
        priority: u32,
    },
    /// Begin the time to run of a reserved job anew.
    Touch {
        /// The job.
        id: u64,
    },
    /// Add a tube to the watch list.
    Watch(TubeName),
    /// Take a tube off the watch list.
    Ignore(TubeName),
    /// Look at one job.
    Peek {
        /// The job.
        id: u64,
    },
    /// Look at the next ready job of the used tube.
    PeekReady,
    /// Look at the delayed job of the used tube that is due first.
    PeekDelayed,
    /// Look at the first buried job of the used tube.
    PeekBuried,
    /// Make buried jobs of the used tube ready, or delayed ones if none is buried.
    Kick {
        /// At most so many.
        bound: u32,
    },
    /// Make one buried or delayed job ready.
    KickJob {
        /// The job.
        id: u64,
    },
    /// Statistics of a job.
    StatsJob {
        /// The job.
        id: u64,
    },
    /// Statistics of a tube.
    StatsTube(TubeName),
    /// Statistics of the server.
    Stats,
    /// The names of all tubes.
    ListTubes,
    /// The name of the used tube.
    ListTubeUsed,
    /// The names of the watched tubes.
    ListTubesWatched,
    /// Hand out no job of a tube for a while.
    PauseTube {
        /// The tube.
        tube: TubeName,
        /// For how many seconds.
        delay: u32,
    },
    /// Close the connection.
    Quit,
}

/// What one line says: a whole command, or a `put` whose body is still to come.
pub(super) enum Line {
    Whole(Command),
    Put { put: Put, body_bytes: u32 },
}

impl From<Command> for Line {
    fn from(command: Command) -> Line {
        Line::Whole(command)
    }
}

/// Reads one line without its CR LF.
///
/// A word followed by a space takes arguments; the rest must match to the last byte. Where one
/// word begins another (`reserve`, `stats`, `quit`), the tail decides between a malformed and an
/// unknown command as it does in the original.
pub(super) fn parse_line(line: &[u8]) -> Result<Line, Refusal> {
    let first = line.first().copied().unwrap_or_default();
    let parsed = match first {
        b'p' => match line.strip_prefix(b"put ") {
            Some(rest) => return put::parse(Fields::new(rest)),
            None => peek::parse(line).or_else(|| pause::parse(line)),
        },
        b'r' => reserve::parse(line).or_else(|| settle::parse(line)),
        b'd' | b'b' | b't' => settle::parse(line),
        b'u' | b'w' | b'i' => tube::parse(line),
        b'k' => kick::parse(line),
        b's' => stats::parse(line),
        b'l' => list::parse(line),
        b'q' if line.starts_with(b"quit") && !line.contains(&0) => Some(Ok(Command::Quit)),
        _ => None,
    };
    match parsed {
        Some(command) => command.map(Line::Whole),
        None if is_http(line) => Err(Refusal::Http),
        None if line.contains(&0) => Err(Refusal::BadFormat),
        None => Err(Refusal::UnknownCommand),
    }
}

/// Whether a line begins an HTTP request of any method, is the header that each has, or begins a
/// TLS handshake (record type 22, version 3).
fn is_http(line: &[u8]) -> bool {
    if line.starts_with(b"\x16\x03") {
        return true;
    }
    let mut words = line.split(|byte| *byte == b' ');
    let first = words.next().unwrap_or_default();
    let last = words.next_back().unwrap_or_default();
    first.eq_ignore_ascii_case(b"host:") || !first.is_empty() && last.starts_with(b"HTTP/")
}

/// What a family's reader answers: nothing if the line is not one of its commands.
type Parsed = Option<Result<Command, Refusal>>;

/// A command that is the whole line: anything behind its word is malformed.
fn bare(line: &[u8], word: &[u8], command: Command) -> Parsed {
    let rest = line.strip_prefix(word)?;
    Some(if rest.is_empty() { Ok(command) } else { Err(Refusal::BadFormat) })
}

/// A command with one id.
fn with_id(line: &[u8], word: &[u8], command: impl FnOnce(u64) -> Command) -> Parsed {
    let rest = line.strip_prefix(word)?;
    Some(Fields::new(rest).only_number().map(command))
}

/// A command with one tube name.
fn with_name(line: &[u8], word: &[u8], command: impl FnOnce(TubeName) -> Command) -> Parsed {
    let rest = line.strip_prefix(word)?;
    Some(Fields::new(rest).only_name().map(command))
}

impl Command {
    /// Appends the command as a client sends it, with its body and line ends.
    pub fn write(&self, out: &mut BytesMut) {
        match self {
            Command::Put(put) => return put.write(out),
            Command::Quit => out.put_slice(b"quit"),
            Command::Reserve | Command::ReserveWithTimeout { .. } | Command::ReserveJob { .. } => {
                reserve::write(self, out)
            }
            Command::Delete { .. }
            | Command::Release { .. }
            | Command::Bury { .. }
            | Command::Touch { .. } => settle::write(self, out),
            Command::Use(_) | Command::Watch(_) | Command::Ignore(_) => tube::write(self, out),
            Command::Peek { .. }
            | Command::PeekReady
            | Command::PeekDelayed
            | Command::PeekBuried => peek::write(self, out),
            Command::Kick { .. } | Command::KickJob { .. } => kick::write(self, out),
            Command::StatsJob { .. } | Command::StatsTube(_) | Command::Stats => {
                stats::write(self, out);
            }
            Command::ListTubes | Command::ListTubeUsed | Command::ListTubesWatched => {
                list::write(self, out);
            }
            Command::PauseTube { tube, delay } => pause::write(tube, *delay, out),
        }
        super::digits::put_crlf(out);
    }
}
