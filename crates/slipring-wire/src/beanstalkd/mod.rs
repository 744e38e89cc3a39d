//! The beanstalkd protocol: bytes to commands, replies to bytes, for both ends of a connection.
//!
//! Everything here is pure: no sockets, no store, no clock. A server feeds a [`Parser`] and writes
//! [`Reply`] values; a client writes [`Command`] values and feeds a [`ReplyParser`]. Both parsers
//! take bytes as they come, in pieces of any size, and hold no more than one unfinished item.
//!
//! ```
//! use slipring_wire::beanstalkd::{Command, Parser, Reply};
//! use bytes::BytesMut;
//!
//! let mut parser = Parser::new(65_535);
//! parser.feed(b"put 0 0 60 5\r\nhello\r\nreserve\r\n");
//! let commands: Vec<_> = parser.by_ref().collect();
//! assert!(matches!(&commands[0], Ok(Command::Put(put)) if put.body == "hello"));
//! assert_eq!(commands[1], Ok(Command::Reserve));
//!
//! let mut out = BytesMut::new();
//! Reply::Inserted { id: 1 }.write(&mut out);
//! assert_eq!(out, "INSERTED 1\r\n");
//! ```

mod command;
mod digits;
mod fields;
mod name;
mod parser;
mod refusal;
mod reply;
mod reply_parser;
pub mod stats;
pub mod yaml;

pub use command::{Command, Put};
pub use name::{InvalidTubeName, TUBE_NAME_BYTES_MAX, TubeName};
pub use parser::{LINE_BYTES_MAX, Parser};
pub use refusal::Refusal;
pub use reply::Reply;
pub use reply_parser::{ReplyError, ReplyParser};

/// The largest job body a server takes unless it is told otherwise, in bytes.
pub const JOB_BYTES_DEFAULT: u32 = 65_535;

/// The largest job body limit that can be set, in bytes (1 GiB).
pub const JOB_BYTES_MAX: u32 = 1 << 30;

/// Jobs with a priority below this number count as urgent in the statistics.
pub const URGENT_BELOW: u32 = 1024;

/// The tube a fresh connection uses and watches.
pub const DEFAULT_TUBE: &str = "default";
