//! What the rows run by turns: ours, the raw limits, the SKIP LOCKED table and the peers.

use super::Sizes;
use super::protocol::Command;
use crate::peers::Peer;
use crate::targets::Kind;

/// One of the things a row runs by turns.
pub struct Contender {
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

impl Contender {
    /// Whether it is ours: then its answers must be right, or the run fails.
    pub fn is_ours(&self) -> bool {
        self.name.starts_with("ours")
    }
}

/// The contender that most targets are multiples of.
pub const SKIP_LOCKED: &str = "skip locked";
/// Our server, a process of its own.
pub const BY_SERVER: &str = "ours by server";
/// The plain INSERT of the same row.
pub const PLAIN: &str = "plain insert";

/// Ours, the SKIP LOCKED table and the peers, all with the same work.
pub fn all(sizes: Sizes, command: &Command) -> Vec<Contender> {
    with([], sizes, command)
}

/// Ours and the SKIP LOCKED table.
pub fn without_peers(command: &Command) -> Vec<Contender> {
    let mut contenders = ours(command);
    contenders.push(own(SKIP_LOCKED, Kind::SkipLocked, command));
    contenders
}

/// As [`all`], with others in between.
pub fn with<const N: usize>(
    more: [Contender; N],
    sizes: Sizes,
    command: &Command,
) -> Vec<Contender> {
    let mut contenders = ours(command);
    contenders.extend(more);
    contenders.push(own(SKIP_LOCKED, Kind::SkipLocked, command));
    // A smoke test needs nothing that comes from elsewhere.
    let peers = if sizes.smoke { &[][..] } else { Peer::ALL };
    contenders.extend(peers.iter().map(|peer| Contender {
        name: peer.name(),
        program: Program::Peer(*peer),
        command: command.clone(),
    }));
    contenders
}

/// One contender that this program drives.
pub fn own(name: &'static str, kind: Kind, command: &Command) -> Contender {
    Contender { name, program: Program::Own(kind), command: command.clone() }
}

/// A send by SQL, a plain INSERT, and the limit between them: the INSERT inside a function.
pub fn in_transactions(command: &Command) -> Vec<Contender> {
    vec![
        own("ours by SQL", Kind::Sql, command),
        own(PLAIN, Kind::PgInsertIndexed, command),
        own("insert by function", Kind::PgInsertByFunction, command),
    ]
}

/// Wakes by the engine, by a server and by SQL, and the limit under them: a commit that comes
/// alone.
pub fn wake(by_engine: &Command, by_sql: &Command, commits: &Command) -> Vec<Contender> {
    vec![
        own("ours", Kind::Postgres, by_engine),
        own(BY_SERVER, Kind::PostgresServer, by_engine),
        own("ours by SQL", Kind::Postgres, by_sql),
        own(PLAIN, Kind::PgInsertIndexed, commits),
    ]
}

/// The busy queues alone and among many.
pub fn queues(alone: &Command, among_many: &Command) -> Vec<Contender> {
    vec![own("ours alone", Kind::Postgres, alone), own("ours", Kind::Postgres, among_many)]
}

/// The engine through its own interface, and the interface for users of SQL.
fn ours(command: &Command) -> Vec<Contender> {
    vec![own("ours", Kind::Postgres, command), own("ours by SQL", Kind::Sql, command)]
}
