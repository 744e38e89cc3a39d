//! Why a parser refuses what a client sent. Refusals by state (no such job) are replies.

use super::reply::Reply;

/// What is wrong with the bytes of a command. The parser has already skipped them, so the
/// connection goes on with the next command; after [`Refusal::Http`] it should not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Refusal {
    /// A line that is too long, a number that is none or out of range, a bad name, a wrong count
    /// of fields.
    #[error("the command line is not well-formed")]
    BadFormat,
    /// The first word names no command.
    #[error("no command has this name")]
    UnknownCommand,
    /// The line is the beginning of an HTTP request. What follows it may have been written by
    /// anybody, for browsers send forms to any port: nothing of it must be taken for a command.
    #[error("this is no HTTP server")]
    Http,
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

impl From<Refusal> for Reply {
    fn from(refusal: Refusal) -> Reply {
        match refusal {
            Refusal::BadFormat => Reply::BadFormat,
            Refusal::UnknownCommand | Refusal::Http => Reply::UnknownCommand,
            Refusal::JobTooBig => Reply::JobTooBig,
            Refusal::ExpectedCrlf => Reply::ExpectedCrlf,
            Refusal::OutOfMemory => Reply::OutOfMemory,
        }
    }
}
