//! What the rows run by turns: ours, the raw limits, the SKIP LOCKED table and the peers.

use crate::peers::Peer;
use crate::rows::conditions::SKIP_LOCKED;
use crate::rows::{Contender, Sizes};
use crate::targets::Kind;
use crate::workloads::Settings;

/// Our server, a process of its own.
pub const BY_SERVER: &str = "ours by server";
/// The plain INSERT of the same row.
pub const PLAIN: &str = "plain insert";

/// Ours, the SKIP LOCKED table and the peers, all with the same work.
pub fn all(sizes: Sizes, settings: &Settings) -> Vec<Contender> {
    with([], sizes, settings)
}

/// Ours and the SKIP LOCKED table.
pub fn without_peers(settings: &Settings) -> Vec<Contender> {
    let mut contenders = ours(settings);
    contenders.push(on(SKIP_LOCKED, Kind::SkipLocked, settings));
    contenders
}

/// As [`all`], with others in between.
pub fn with<const N: usize>(
    more: [Contender; N],
    sizes: Sizes,
    settings: &Settings,
) -> Vec<Contender> {
    let mut contenders = ours(settings);
    contenders.extend(more);
    contenders.push(on(SKIP_LOCKED, Kind::SkipLocked, settings));
    // A smoke test needs nothing that comes from elsewhere.
    let peers = if sizes.smoke { &[][..] } else { Peer::ALL };
    let peers = peers.iter().filter(|peer| peer.kind().in_postgres());
    contenders.extend(peers.map(|peer| on(peer.name(), peer.kind(), settings)));
    contenders
}

/// The same work on a target.
pub fn on(name: &'static str, target: Kind, settings: &Settings) -> Contender {
    Contender { name, settings: Settings { target, ..settings.clone() } }
}

/// A send by SQL, a plain INSERT, and the limit between them: the INSERT inside a function.
pub fn in_transactions(settings: &Settings) -> Vec<Contender> {
    vec![
        on("ours by SQL", Kind::Sql, settings),
        on(PLAIN, Kind::PgInsertIndexed, settings),
        on("insert by function", Kind::PgInsertByFunction, settings),
    ]
}

/// Wakes by the engine, by a server and by SQL, and the limit under them: a commit that comes
/// alone.
pub fn wake(by_engine: &Settings, by_sql: &Settings, commits: &Settings) -> Vec<Contender> {
    vec![
        on("ours", Kind::Postgres, by_engine),
        on(BY_SERVER, Kind::PostgresServer, by_engine),
        on("ours by SQL", Kind::Postgres, by_sql),
        on(PLAIN, Kind::PgInsertIndexed, commits),
    ]
}

/// The busy queues alone and among many.
pub fn queues(alone: &Settings, among_many: &Settings) -> Vec<Contender> {
    vec![on("ours alone", Kind::Postgres, alone), on("ours", Kind::Postgres, among_many)]
}

/// The engine through its own interface, and the interface for users of SQL.
pub fn ours(settings: &Settings) -> Vec<Contender> {
    vec![on("ours", Kind::Postgres, settings), on("ours by SQL", Kind::Sql, settings)]
}
