//! The wait classes of the store (law 5).

use std::sync::Arc;

use slipring::clock::monotonic_ns;
use slipring::{WaitClass, Waits};

use crate::queries::Query;

/// What statements wait for. Looks in the background, for changes by others, are a class of their
/// own: they come many times a second while nothing happens, and say nothing of what callers wait.
pub(crate) struct Classes {
    connection: Arc<WaitClass>,
    statement: Arc<WaitClass>,
    /// Of looks in the background: a connection, and the answer.
    poll: Arc<WaitClass>,
}

impl Classes {
    pub(crate) fn new(waits: &Waits) -> Classes {
        Classes {
            connection: waits.class("postgres.connection"),
            statement: waits.class("postgres.statement"),
            poll: waits.class("postgres.poll"),
        }
    }

    /// A statement, or a transaction where there is none, has waited for a connection.
    pub(crate) fn connected(&self, query: Option<&Query>, began_ns: u64) {
        let polls = query.is_some_and(Query::polls);
        let class = if polls { &self.poll } else { &self.connection };
        class.waited(monotonic_ns().saturating_sub(began_ns));
    }

    /// A statement was waited for.
    pub(crate) fn answered(&self, query: &Query, began_ns: u64) {
        let class = if query.polls() { &self.poll } else { &self.statement };
        class.waited(monotonic_ns().saturating_sub(began_ns));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queries;

    #[test]
    fn looks_in_the_background_are_no_waits_of_callers() {
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
        let counts = waits.snapshot().into_iter().map(|class| (class.name, class.acquisitions));
        let counts: Vec<_> = counts.collect();
        let all = [("postgres.connection", 2), ("postgres.poll", 5), ("postgres.statement", 1)];
        assert_eq!(counts, all);
    }
}
