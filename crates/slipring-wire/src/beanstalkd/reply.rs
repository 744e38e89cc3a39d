//! The reply table: every reply a server gives, with its words.

use bytes::{BufMut, Bytes, BytesMut};

use super::digits::{put_crlf, put_number};
use super::name::TubeName;

/// Makes the enum and the two directions of the one-word replies from one table.
macro_rules! replies {
    ($($(#[$doc:meta])* $name:ident => $word:literal,)*) => {
        /// A reply to one command.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Reply {
            /// `put`: the job is stored.
            Inserted {
                /// The new job.
                id: u64,
            },
            /// `put`: the job is stored, but buried, as there is no room among the ready ones.
            InsertedBuried {
                /// The new job.
                id: u64,
            },
            /// `use`, `list-tube-used`.
            Using(TubeName),
            /// `reserve` and its kin: the job is yours for its time to run.
            Reserved {
                /// The job.
                id: u64,
                /// Its body.
                body: Bytes,
            },
            /// `watch`, `ignore`: so many tubes are watched now.
            Watching(u64),
            /// The peeks.
            Found {
                /// The job.
                id: u64,
                /// Its body.
                body: Bytes,
            },
            /// `kick`: so many jobs were made ready.
            KickedCount(u64),
            /// The statistics and lists: a YAML text.
            Ok(Bytes),
            $($(#[$doc])* $name,)*
        }

        impl Reply {
            /// The whole line of a reply that is one word.
            fn word_line(&self) -> Option<&'static [u8]> {
                match self {
                    $(Reply::$name => Some(concat!($word, "\r\n").as_bytes()),)*
                    _ => None,
                }
            }

            /// The reply that is just this word.
            pub(super) fn from_word(word: &[u8]) -> Option<Reply> {
                $(if word == $word.as_bytes() {
                    return Some(Reply::$name);
                })*
                None
            }
        }
    };
}

replies! {
    /// `delete`.
    Deleted => "DELETED",
    /// `release`.
    Released => "RELEASED",
    /// `bury`, and a `release` for which there is no room among the ready ones.
    Buried => "BURIED",
    /// `touch`.
    Touched => "TOUCHED",
    /// `kick-job`.
    Kicked => "KICKED",
    /// `pause-tube`.
    Paused => "PAUSED",
    /// No such job or tube, or it is not in a state that allows the command.
    NotFound => "NOT_FOUND",
    /// `ignore` of the only watched tube.
    NotIgnored => "NOT_IGNORED",
    /// `reserve`: a job this connection holds has less than a second left.
    DeadlineSoon => "DEADLINE_SOON",
    /// `reserve-with-timeout`: no job came in time.
    TimedOut => "TIMED_OUT",
    /// `put`: the body is not followed by CR LF.
    ExpectedCrlf => "EXPECTED_CRLF",
    /// `put`: the body is over the server's limit.
    JobTooBig => "JOB_TOO_BIG",
    /// `put`: the server takes no new jobs.
    Draining => "DRAINING",
    /// The server has no room for the job now.
    OutOfMemory => "OUT_OF_MEMORY",
    /// The server failed; the command may or may not have had its effect.
    InternalError => "INTERNAL_ERROR",
    /// The command line is not well-formed.
    BadFormat => "BAD_FORMAT",
    /// No command has this name.
    UnknownCommand => "UNKNOWN_COMMAND",
}

impl Reply {
    /// Appends the reply as a server sends it, with its body and line ends.
    pub fn write(&self, out: &mut BytesMut) {
        match self {
            Reply::Inserted { id } => numbered(out, b"INSERTED", *id),
            Reply::InsertedBuried { id } => numbered(out, b"BURIED", *id),
            Reply::Watching(count) => numbered(out, b"WATCHING", *count),
            Reply::KickedCount(count) => numbered(out, b"KICKED", *count),
            Reply::Using(tube) => {
                out.put_slice(b"USING ");
                out.put_slice(tube.as_str().as_bytes());
                put_crlf(out);
            }
            Reply::Reserved { id, body } => job(out, b"RESERVED", *id, body),
            Reply::Found { id, body } => job(out, b"FOUND", *id, body),
            Reply::Ok(body) => {
                out.put_slice(b"OK");
                put_number(out, body.len() as u64);
                tail(out, body);
            }
            word => out.put_slice(word.word_line().unwrap_or_default()),
        }
    }
}

fn numbered(out: &mut BytesMut, word: &[u8], number: u64) {
    out.put_slice(word);
    put_number(out, number);
    put_crlf(out);
}

fn job(out: &mut BytesMut, word: &[u8], id: u64, body: &[u8]) {
    out.reserve(body.len() + 64);
    out.put_slice(word);
    put_number(out, id);
    put_number(out, body.len() as u64);
    tail(out, body);
}

fn tail(out: &mut BytesMut, body: &[u8]) {
    put_crlf(out);
    out.put_slice(body);
    put_crlf(out);
}
