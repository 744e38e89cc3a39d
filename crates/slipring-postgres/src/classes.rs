//! The wait classes of the store (law 5).

use std::sync::Arc;

use slipring::clock::monotonic_ns;
use slipring::{WaitClass, Waits};

use crate::queries::{FLUSH, Query, Waiter};

/// What calls wait for. Looks in the background, for changes by others, and work that is due by the
/// clock are classes of their own: they come many times a second while nothing happens, and say
/// nothing of what callers wait.
pub(crate) struct Classes {
    connection: Arc<WaitClass>,
    statement: Arc<WaitClass>,
    /// Tries of a statement that were in vain, as others kept the queue to themselves, and the
    /// pauses after them.
    queue_lock: Arc<WaitClass>,
    /// Of settlements for the flush that they share.
    flush: Arc<WaitClass>,
    /// Of looks in the background: a connection, and the answer.
    poll: Arc<WaitClass>,
    /// Of work that is due by the clock: a connection, tries in vain, and the answer.
    upkeep: Arc<WaitClass>,
}

impl Classes {
    pub(crate) fn new(waits: &Waits) -> Classes {
        Classes {
            connection: waits.class("postgres.connection"),
            statement: waits.class("postgres.statement"),
            queue_lock: waits.class("postgres.queue_lock"),
            flush: waits.class("postgres.flush"),
            poll: waits.class("postgres.poll"),
            upkeep: waits.class("postgres.upkeep"),
        }
    }

    /// A statement, or a transaction where there is none, has waited for a connection.
    pub(crate) fn connected(&self, query: Option<&Query>, began_ns: u64) {
        let waiter = query.map_or(Waiter::Caller, |query| query.waiter);
        waited(self.of(waiter, &self.connection), began_ns);
    }

    /// A statement was waited for. That of a flush counts where its callers wait.
    pub(crate) fn answered(&self, query: &Query, began_ns: u64) {
        if query.operation != FLUSH.operation {
            waited(self.of(query.waiter, &self.statement), began_ns);
        }
    }

    /// A statement's try for a queue's lock was in vain, and the pause after it is over.
    pub(crate) fn held(&self, query: &Query, began_ns: u64) {
        waited(self.of(query.waiter, &self.queue_lock), began_ns);
    }

    /// A settlement has waited for its flush.
    pub(crate) fn flushed(&self, began_ns: u64) {
        waited(&self.flush, began_ns);
    }

    fn of<'c>(&'c self, waiter: Waiter, caller: &'c WaitClass) -> &'c WaitClass {
        match waiter {
            Waiter::Caller => caller,
            Waiter::Poll => &self.poll,
            Waiter::Upkeep => &self.upkeep,
        }
    }
}

fn waited(class: &WaitClass, began_ns: u64) {
    class.waited(monotonic_ns().saturating_sub(began_ns));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queries;

    #[test]
    fn what_the_background_waits_for_is_no_wait_of_callers() {
        let waits = Waits::new();
        let classes = Classes::new(&waits);
        for query in [&queries::ACTIVITY, &queries::RUNNING] {
            classes.connected(Some(query), 0);
            classes.answered(query, 0);
        }
        classes.connected(Some(&queries::AWAIT_ACTIVITY), 0);
        classes.connected(Some(&queries::APPEND), 0);
        classes.answered(&queries::APPEND, 0);
        classes.connected(None, 0);
        classes.answered(&queries::FLUSH, 0);
        (0..3).for_each(|_| classes.flushed(0));
        (0..4).for_each(|_| classes.held(&queries::CLAIM, 0));
        for query in [&queries::DUE_IN, &queries::ROTATE] {
            classes.connected(Some(query), 0);
            classes.answered(query, 0);
            classes.held(query, 0);
        }
        let counts = waits.snapshot().into_iter().map(|class| (class.name, class.acquisitions));
        let counts: Vec<_> = counts.collect();
        let all = [
            ("postgres.connection", 2),
            ("postgres.flush", 3),
            ("postgres.poll", 5),
            ("postgres.queue_lock", 4),
            ("postgres.statement", 1),
            ("postgres.upkeep", 6),
        ];
        assert_eq!(counts, all);
    }
}
