//! What stores differ in, as a value that code, tests and docs read.

#[cfg(doc)]
use crate::store::Store;

/// What a store can do beyond the contract; read by code, tests and docs instead of the store's
/// name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// The store's name for people.
    pub name: &'static str,
    /// Survives the process (S1).
    pub durable: bool,
    /// Other processes may change the data meanwhile; the engine then polls
    /// [`Store::foreign_changes`].
    pub shared: bool,
    /// Messages may be sent and acked inside the caller's own database transaction (S10).
    pub transactions: bool,
    /// Whether the engine makes its calls for a queue one after another, whatever their kind. It
    /// makes each of them larger, which pays where a call costs as much as many messages.
    /// Otherwise two combined calls of each kind may be under way, so that a store which takes
    /// calls in while it writes has the next one there.
    pub calls_one_by_one: bool,
    /// Whether [`Store::append_and_claim`] costs less than its two parts. The engine then hands a
    /// message out to a receive that rests in the call that stores it. It does not where calls go
    /// one by one.
    pub appends_and_claims: bool,
    /// Whether [`Store::due_in`] and [`Store::expire_in`] pass over one queue, and
    /// [`Store::deadlines`] tells which queues have something to do. Otherwise the engine makes
    /// passes over all queues together, and one with much to do delays the others (S5.6).
    pub passes_by_queue: bool,
    /// Whether [`crate::AdminStore::delete_if_empty`] deletes. Otherwise queues that were made by a
    /// send stay.
    pub deletes_if_empty: bool,
    /// The largest call the store wants: messages or entries that are sent or acked at once. One
    /// that is delayed, of a group, given back or prolonged counts as several. The engine deals
    /// what waits into calls of this size, so that no call holds up those of other queues for long;
    /// only a batch that is stored whole, and one receive, may be larger.
    pub call_messages_max: u32,
    /// Bytes of messages in such a call; one message may be larger.
    pub call_bytes_max: u64,
}
