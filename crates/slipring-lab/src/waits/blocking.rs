//! Who blocks whom: from a session that waits for a lock to the one that everybody waits for.

use std::collections::BTreeMap;

use super::session::{LockWait, Session};

/// Longer chains are cut.
const DEPTH_MAX: usize = 12;

/// Chains of one moment.
pub struct Blocking<'a> {
    sessions: BTreeMap<i32, &'a Session>,
    waits: BTreeMap<i32, &'a LockWait>,
}

impl<'a> Blocking<'a> {
    /// Of one moment.
    pub fn new(sessions: &'a [Session], waits: &'a [LockWait]) -> Blocking<'a> {
        Blocking {
            sessions: sessions.iter().map(|session| (session.pid, session)).collect(),
            waits: waits.iter().map(|wait| (wait.pid, wait)).collect(),
        }
    }

    /// Those in the way of a session, the nearest first; empty for one that waits for no lock.
    /// Where several are in the way, the first is followed and the others are counted.
    pub fn chain(&self, pid: i32) -> Vec<String> {
        let mut chain = Vec::new();
        let mut passed = vec![pid];
        let mut at = pid;
        while let Some(wait) = self.waits.get(&at) {
            let Some(next) = wait.blockers.first().copied() else { break };
            let others = match wait.blockers.len() - 1 {
                0 => String::new(),
                others => format!(" and {others} more"),
            };
            chain.push(format!("{}{others}", self.name(next)));
            if passed.contains(&next) {
                chain.push("which is a deadlock".to_owned());
                break;
            }
            if chain.len() >= DEPTH_MAX {
                chain.push("…".to_owned());
                break;
            }
            passed.push(next);
            at = next;
        }
        chain
    }

    fn name(&self, pid: i32) -> String {
        match (pid, self.sessions.get(&pid)) {
            (0, _) => "a prepared transaction".to_owned(),
            (_, Some(session)) => session.named(),
            (_, None) => "a session that has ended".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(pid: i32, state: &str) -> Session {
        let (caller, state) = (format!("app{pid}"), Some(state.to_owned()));
        let backend = Some("client backend".to_owned());
        Session { pid, backend, caller, state, ..Session::default() }
    }

    fn wait(pid: i32, blockers: &[i32]) -> LockWait {
        LockWait { pid, blockers: blockers.to_vec(), ..LockWait::default() }
    }

    #[test]
    fn a_chain_goes_on_to_the_one_that_waits_for_no_lock() {
        let sessions =
            [session(1, "idle in transaction"), session(2, "active"), session(3, "active")];
        let waits = [wait(3, &[2]), wait(2, &[1])];
        let blocking = Blocking::new(&sessions, &waits);
        assert_eq!(blocking.chain(3), ["app2", "app1 (idle in transaction)"]);
        assert_eq!(blocking.chain(2), ["app1 (idle in transaction)"]);
        assert!(blocking.chain(1).is_empty());
    }

    #[test]
    fn circles_end_and_strangers_are_named_for_what_they_are() {
        let sessions = [session(1, "active"), session(2, "active")];
        let waits = [wait(1, &[2]), wait(2, &[1])];
        let chain = Blocking::new(&sessions, &waits).chain(1);
        assert_eq!(chain, ["app2", "app1", "which is a deadlock"]);
        let waits = [wait(1, &[0, 2]), wait(2, &[99])];
        let blocking = Blocking::new(&sessions, &waits);
        assert_eq!(blocking.chain(1), ["a prepared transaction and 1 more"]);
        assert_eq!(blocking.chain(2), ["a session that has ended"]);
    }

    #[test]
    fn a_long_chain_is_cut() {
        let sessions: Vec<Session> = (0..50).map(|pid| session(pid, "active")).collect();
        let waits: Vec<LockWait> = (1..49).map(|pid| wait(pid, &[pid + 1])).collect();
        assert_eq!(Blocking::new(&sessions, &waits).chain(1).len(), DEPTH_MAX + 1);
    }
}
