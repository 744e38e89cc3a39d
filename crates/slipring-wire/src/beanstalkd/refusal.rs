//! Why a parser refuses what a client sent. Refusals by state (no such job) are replies.

use super::reply::Reply;

/// What is wrong with the bytes of a command. The parser has already skipped them, so the
/// connection goes on with the next command; after [`Refusal::Http`] and
/// [`Refusal::FirstLineTooLong`] it should not, see [`Refusal::is_final`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Refusal {
    /// A line that is too long, a number that is none or out of range, a bad name, a wrong count
    /// of fields.
    #[error("the command line is not well-formed")]
    BadFormat,
    /// The first word names no command.
    #[error("no command has this name")]
    UnknownCommand,
    /// The line is the beginning of an HTTP request or of a TLS handshake. What follows it may
    /// have been written by anybody, for browsers send forms to any port: nothing of it must be
    /// taken for a command.
    #[error("this is no HTTP server")]
    Http,
    /// The first line of the connection is too long to be looked at. It may begin an HTTP request
    /// whose other lines are too long as well.
    #[error("the first line is longer than any command")]
    FirstLineTooLong,
    /// The announced body of a `put` is over the limit; the body has been skipped.
    #[error("the job body is larger than this server takes")]
    JobTooBig,
    /// The body of a `put` is not followed by CR LF.
    #[error("the job body is not followed by CR LF")]
    ExpectedCrlf,
    /// The server has no room for the body at the moment; it has been skipped.
    #[error("there is no room for the job body at the moment")]
    OutOfMemory,
}

impl Refusal {
    /// Whether nothing of what follows on this connection may be taken for a command.
    pub fn is_final(self) -> bool {
        matches!(self, Refusal::Http | Refusal::FirstLineTooLong)
    }
}

impl From<Refusal> for Reply {
    fn from(refusal: Refusal) -> Reply {
        match refusal {
            Refusal::BadFormat | Refusal::FirstLineTooLong => Reply::BadFormat,
            Refusal::UnknownCommand | Refusal::Http => Reply::UnknownCommand,
            Refusal::JobTooBig => Reply::JobTooBig,
            Refusal::ExpectedCrlf => Reply::ExpectedCrlf,
            Refusal::OutOfMemory => Reply::OutOfMemory,
        }
    }
}
