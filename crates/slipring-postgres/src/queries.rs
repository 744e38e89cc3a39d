//! The statements, each in a file of its own, and what the caller must know of each.

/// Whether a statement changes anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// It may be sent again whatever happened.
    Reads,
    /// It may be sent again only if it is certain that it was undone.
    Writes,
    /// As [`Effect::Writes`], and it needs a queue's lock, for which it waits as long as its last
    /// parameter says.
    WritesInTurn,
    /// As [`Effect::WritesInTurn`], and leases begin now: a further parameter says how many
    /// milliseconds earlier tries have waited.
    LeasesInTurn,
}

/// A statement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Query {
    /// What the call is named in errors.
    pub(crate) operation: &'static str,
    /// The statement itself, without the head of its file.
    pub(crate) text: &'static str,
    /// Whether it changes anything.
    pub(crate) effect: Effect,
    /// Who waits for it.
    pub(crate) waiter: Waiter,
}

/// Who waits for a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waiter {
    /// A call of the store.
    Caller,
    /// A look in the background, for what others have changed.
    Poll,
    /// Work that is due by the clock: delays, ends of leases, rotation, retention.
    Upkeep,
}

/// The part of a file after the comments at its beginning.
const fn body(file: &'static str) -> &'static str {
    let mut rest = file;
    while let [b'-', b'-', ..] = rest.as_bytes() {
        let mut at = 0;
        while at < rest.len() && rest.as_bytes()[at] != b'\n' {
            at += 1;
        }
        let (_, after) = rest.split_at(if at < rest.len() { at + 1 } else { at });
        rest = after;
    }
    rest
}

/// A line has a name, a file and an effect; also who waits, where that is not a caller.
macro_rules! queries {
    ($($name:ident, $file:literal, $effect:ident $(, $waiter:ident)?;)+) => {
        $(pub(crate) const $name: Query = Query {
            operation: $file,
            text: body(include_str!(concat!("../queries/", $file, ".sql"))),
            effect: Effect::$effect,
            waiter: queries!(@waiter $($waiter)?),
        };)+
    };
    (@waiter) => { Waiter::Caller };
    (@waiter $waiter:ident) => { Waiter::$waiter };
}

queries! {
    ACK, "ack", WritesInTurn;
    ACTIVITY, "activity", Reads, Poll;
    APPEND, "append", Writes;
    AWAIT_ACTIVITY, "await_activity", Reads, Poll;
    CATALOGUE, "catalogue", Reads;
    CANCEL, "cancel", WritesInTurn;
    CHECK, "check", Reads;
    CLAIM, "claim", LeasesInTurn;
    CLAIM_MESSAGE, "claim_message", LeasesInTurn;
    CLIENT_PORT, "client_port", Reads;
    CONFIGURE, "configure", WritesInTurn;
    CREATE_QUEUE, "create_queue", WritesInTurn;
    DEADLINES, "deadlines", Reads, Upkeep;
    DELETE_QUEUE, "delete_queue", WritesInTurn;
    DUE_IN, "due_in", WritesInTurn, Upkeep;
    END_SESSIONS, "end_sessions", WritesInTurn;
    EXPIRE_IN, "expire_in", WritesInTurn, Upkeep;
    EXTEND, "extend", LeasesInTurn;
    FLUSH, "flush", Writes;
    HEADS, "heads", Reads;
    HOLDERS, "holders", Reads, Upkeep;
    IMPORT, "import", Writes;
    KICK, "kick", WritesInTurn;
    KICK_MESSAGE, "kick_message", WritesInTurn;
    LOAD_ABANDON, "load_abandon", WritesInTurn;
    LOAD_APPEND, "load_append", WritesInTurn;
    LOAD_BEGIN, "load_begin", WritesInTurn;
    LOAD_PARTS, "load_parts", Reads;
    LOAD_PRUNE, "load_prune", WritesInTurn, Upkeep;
    LOAD_PUBLISH, "load_publish", WritesInTurn;
    LOAD_RESERVE, "load_reserve", WritesInTurn;
    LOADS, "loads", Reads;
    LOOKUP, "lookup", Reads;
    MOVE_CHOSEN, "move_chosen", WritesInTurn;
    MOVE_MESSAGES, "move_messages", WritesInTurn;
    OBSTACLES, "obstacles", Reads;
    OVERDUE, "overdue", Reads;
    PEEK, "peek", Reads;
    PRUNE, "prune", Writes, Upkeep;
    PURGE, "purge", WritesInTurn;
    QUEUES, "queues", Reads;
    QUEUE_VERSIONS, "queue_versions", Reads;
    RECEIPT_KEY, "receipt_key", Reads;
    RETENTIONS, "retentions", Reads, Upkeep;
    ROTATE, "rotate", Writes, Upkeep;
    RUNNING, "running", Reads, Poll;
    BARRIER_HOLDERS, "barrier_holders", Reads;
    ROLES, "roles", Reads;
    SCHEMA_STATE, "schema_state", Reads;
    SERVER, "server", Reads;
    SET_ASIDE, "set_aside", WritesInTurn;
    SETTLE, "settle", WritesInTurn;
    SIGHT, "sight", Reads;
    STATS, "stats", Reads;
    WRITE_SOMETHING, "write_something", Writes;
}
