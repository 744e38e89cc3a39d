//! What the rows run by turns: ours, the raw limits, the SKIP LOCKED table and the peers.

use super::Sizes;
use super::protocol::Command;
use crate::peers::Peer;
use crate::targets::Kind;

/// One of the things a row runs by turns.
pub struct Side {
    /// Its name within the row; what begins with `ours` is ours.
    pub name: &'static str,
    /// What is driven.
    pub program: Program,
    /// What it is to do.
    pub command: Command,
}

/// What is driven.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// A target of this program.
    Own(Kind),
    /// A peer, by this program or by one of its own.
    Peer(Peer),
}

impl Side {
    /// Whether it is ours: then its answers must be right, or the run fails.
    pub fn is_ours(&self) -> bool {
        self.name.starts_with("ours")
    }
}

/// The side that most targets are multiples of.
pub const SKIP_LOCKED: &str = "skip locked";
/// Our server, a process of its own.
pub const BY_SERVER: &str = "ours by server";
/// The plain INSERT of the same row.
pub const PLAIN: &str = "plain insert";

/// Ours, the SKIP LOCKED table and the peers, all with the same work.
pub fn all(sizes: Sizes, command: &Command) -> Vec<Side> {
    with([], sizes, command)
}

/// Ours and the SKIP LOCKED table.
pub fn without_peers(command: &Command) -> Vec<Side> {
    let mut sides = ours(command);
    sides.push(own(SKIP_LOCKED, Kind::SkipLocked, command));
    sides
}

/// As [`all`], with others in between.
pub fn with<const N: usize>(more: [Side; N], sizes: Sizes, command: &Command) -> Vec<Side> {
    let mut sides = ours(command);
    sides.extend(more);
    sides.push(own(SKIP_LOCKED, Kind::SkipLocked, command));
    // A smoke test needs nothing that comes from elsewhere.
    let peers = if sizes.smoke { &[][..] } else { Peer::ALL };
    sides.extend(peers.iter().map(|peer| Side {
        name: peer.name(),
        program: Program::Peer(*peer),
        command: command.clone(),
    }));
    sides
}

/// One side that this program drives.
pub fn own(name: &'static str, kind: Kind, command: &Command) -> Side {
    Side { name, program: Program::Own(kind), command: command.clone() }
}

/// A send by SQL, a plain INSERT, and the limit between them: the INSERT inside a function.
pub fn in_transactions(command: &Command) -> Vec<Side> {
    vec![
        own("ours by SQL", Kind::Sql, command),
        own(PLAIN, Kind::PgInsertIndexed, command),
        own("insert by function", Kind::PgInsertByFunction, command),
    ]
}

/// Wakes by the engine, by a server and by SQL, and the limit under them: a commit that comes
/// alone.
pub fn wake(by_engine: &Command, by_sql: &Command, commits: &Command) -> Vec<Side> {
    vec![
        own("ours", Kind::Postgres, by_engine),
        own(BY_SERVER, Kind::PostgresServer, by_engine),
        own("ours by SQL", Kind::Postgres, by_sql),
        own(PLAIN, Kind::PgInsertIndexed, commits),
    ]
}

/// The busy queues alone and among many.
pub fn queues(alone: &Command, among_many: &Command) -> Vec<Side> {
    vec![own("ours alone", Kind::Postgres, alone), own("ours", Kind::Postgres, among_many)]
}

/// The engine through its own interface, and the interface for users of SQL.
fn ours(command: &Command) -> Vec<Side> {
    vec![own("ours", Kind::Postgres, command), own("ours by SQL", Kind::Sql, command)]
}
