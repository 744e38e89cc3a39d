//! What many samples come to: how many sessions waited for what, who was in whose way.

use std::collections::BTreeMap;

use super::blocking::Blocking;
use super::session::{Doing, LockWait, Session};
use crate::findings::Table;
use crate::run::condition::number;

/// Different callers, stacks and chains that are told apart; the rest is counted as one.
const KINDS_MAX: usize = 2000;
/// Rows of a table.
const ROWS_MAX: usize = 30;
/// What stands for those beyond [`KINDS_MAX`].
const OTHERS: &str = "others";

/// A chain of sessions that were in each other's way.
#[derive(Debug, Clone, Default, PartialEq)]
struct Chain {
    samples: u64,
    seconds_max: f64,
    what: String,
}

/// The sum of all samples.
#[derive(Debug, Default)]
pub struct Profile {
    /// Samples taken.
    pub samples: u64,
    /// Sessions seen computing.
    running: u64,
    /// Sessions seen that this user may not see.
    not_visible: u64,
    /// Sessions seen waiting: kind, event, caller and those in the way.
    stacks: BTreeMap<Vec<String>, u64>,
    /// From the one that waits to the one that all wait for.
    chains: BTreeMap<Vec<String>, Chain>,
    /// Locks waited for: what and how.
    locks: BTreeMap<(String, String), (u64, f64)>,
}

impl Profile {
    /// Adds a sample; answers how many sessions waited by kind.
    pub fn add(&mut self, sessions: &[Session], waits: &[LockWait]) -> BTreeMap<String, u64> {
        self.samples += 1;
        let blocking = Blocking::new(sessions, waits);
        let mut by_kind: BTreeMap<String, u64> = BTreeMap::new();
        for session in sessions {
            let (kind, event) = match session.doing() {
                Doing::Idle => continue,
                Doing::Running => {
                    self.running += 1;
                    *by_kind.entry("running".to_owned()).or_default() += 1;
                    continue;
                }
                // Locks are open to everybody, so that much is known of those who wait for one.
                Doing::NotVisible => match lock_of(session, waits) {
                    Some(kind) => ("Lock".to_owned(), kind),
                    None => {
                        self.not_visible += 1;
                        continue;
                    }
                },
                Doing::Waiting(kind, event) => (kind, event),
            };
            *by_kind.entry(kind.clone()).or_default() += 1;
            // Locks are read a moment later: who waited for something else then is not blocked.
            let in_the_way = match kind.as_str() {
                "Lock" => blocking.chain(session.pid),
                _ => Vec::new(),
            };
            let mut stack = vec![kind, event, session.caller.clone()];
            stack.extend(in_the_way.iter().map(|name| format!("blocked by {name}")));
            *kept(&mut self.stacks, stack) += 1;
        }
        self.add_locks(sessions, waits, &blocking);
        by_kind
    }

    fn add_locks(&mut self, sessions: &[Session], waits: &[LockWait], blocking: &Blocking<'_>) {
        // One that nobody is in the way of any more has been let in meanwhile.
        for wait in waits.iter().filter(|wait| !wait.blockers.is_empty()) {
            let key = (wait.what.clone(), wait.mode.clone());
            let (samples, longest) = self.locks.entry(key).or_default();
            *samples += 1;
            *longest = longest.max(wait.seconds);
            let own = sessions.iter().find(|session| session.pid == wait.pid);
            let own = own.map_or("a session that has ended".to_owned(), |s| s.caller.clone());
            let mut names = vec![own];
            names.extend(blocking.chain(wait.pid));
            let chain = kept(&mut self.chains, names);
            chain.samples += 1;
            chain.seconds_max = chain.seconds_max.max(wait.seconds);
            chain.what.clone_from(&wait.what);
        }
    }

    /// The stacks of all sessions seen waiting, from the kind to those in the way, each with how
    /// often it was seen.
    pub fn stacks(&self) -> impl Iterator<Item = (&[String], u64)> {
        self.stacks.iter().map(|(stack, samples)| (stack.as_slice(), *samples))
    }

    /// The chains that were seen, as one text each.
    pub fn chains(&self) -> Vec<String> {
        self.chains.keys().map(|names| names.join(" ← ")).collect()
    }

    /// Sessions seen that this user may not see.
    pub fn not_visible(&self) -> u64 {
        self.not_visible
    }

    /// All of it as tables.
    pub fn tables(&self) -> Vec<Table> {
        let mut tables = vec![self.events(), self.callers()];
        if !self.locks.is_empty() {
            tables.extend([self.lock_table(), self.chain_table()]);
        }
        tables
    }

    /// Sessions on the average of all samples.
    fn mean(&self, seen: u64) -> String {
        let mean = seen as f64 / self.samples.max(1) as f64;
        if mean >= 100.0 { number(mean) } else { format!("{mean:.3}") }
    }

    fn events(&self) -> Table {
        let columns = ["kind", "event", "samples", "sessions on average"];
        let mut table = Table::new("what sessions did", &columns);
        let mut seen: BTreeMap<(String, String), u64> = BTreeMap::new();
        for (stack, samples) in &self.stacks {
            let part = |at: usize| stack.get(at).cloned().unwrap_or_default();
            *seen.entry((part(0), part(1))).or_default() += samples;
        }
        for (name, count) in [("running", self.running), ("not visible", self.not_visible)] {
            if count > 0 {
                seen.insert((name.to_owned(), String::new()), count);
            }
        }
        for ((kind, event), count) in most(seen, |count| *count as f64) {
            table.row([kind, event, count.to_string(), self.mean(count)]);
        }
        table
    }

    fn callers(&self) -> Table {
        let columns = ["caller", "waits for", "samples", "sessions on average"];
        let mut table = Table::new("who waited", &columns);
        let mut seen: BTreeMap<(String, String), u64> = BTreeMap::new();
        for (stack, samples) in &self.stacks {
            let part = |at: usize| stack.get(at).cloned().unwrap_or_default();
            *seen.entry((part(2), format!("{}:{}", part(0), part(1)))).or_default() += samples;
        }
        for ((caller, wait), count) in most(seen, |count| *count as f64) {
            table.row([caller, wait, count.to_string(), self.mean(count)]);
        }
        table
    }

    fn lock_table(&self) -> Table {
        let columns = ["lock", "mode", "samples", "longest s"];
        let mut table = Table::new("locks waited for", &columns);
        for ((what, mode), (samples, longest)) in
            most(self.locks.clone(), |(count, _)| *count as f64)
        {
            table.row([what, mode, samples.to_string(), format!("{longest:.2}")]);
        }
        table
    }

    fn chain_table(&self) -> Table {
        let columns = ["who waits ← who is in the way", "lock", "samples", "longest s"];
        let mut table = Table::new("who blocks whom", &columns);
        for (names, chain) in most(self.chains.clone(), |chain| chain.samples as f64) {
            let longest = format!("{:.2}", chain.seconds_max);
            table.row([names.join(" ← "), chain.what, chain.samples.to_string(), longest]);
        }
        table
    }
}

/// The kind of lock that a session waits for.
fn lock_of(session: &Session, waits: &[LockWait]) -> Option<String> {
    let mut own = waits.iter().filter(|wait| wait.pid == session.pid && !wait.blockers.is_empty());
    own.next()?.what.split(' ').next().map(str::to_owned)
}

/// The entry of a key; that of all others together when there are too many.
fn kept<V: Default>(map: &mut BTreeMap<Vec<String>, V>, key: Vec<String>) -> &mut V {
    let full = map.len() >= KINDS_MAX && !map.contains_key(&key);
    map.entry(if full { vec![OTHERS.to_owned()] } else { key }).or_default()
}

/// Those with the highest figures, the highest first.
fn most<K: Ord, V>(map: BTreeMap<K, V>, figure: impl Fn(&V) -> f64) -> Vec<(K, V)> {
    let mut all: Vec<(K, V)> = map.into_iter().collect();
    all.sort_by(|a, b| figure(&b.1).total_cmp(&figure(&a.1)));
    all.truncate(ROWS_MAX);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(pid: i32, caller: &str, state: &str, wait: &str) -> Session {
        let wait = wait.split_once(':').map(|(kind, event)| (kind.to_owned(), event.to_owned()));
        let (wait_type, wait_event) = wait.unzip();
        Session {
            pid,
            backend: Some("client backend".into()),
            state: Some(state.into()),
            wait_type,
            wait_event,
            caller: caller.into(),
        }
    }

    #[test]
    fn stacks_go_from_the_kind_of_wait_to_those_in_the_way() {
        let sessions = [
            session(1, "a", "idle in transaction", "Client:ClientRead"),
            session(2, "b", "active", "Lock:transactionid"),
            session(3, "c", "active", ""),
            session(4, "d", "idle", "Client:ClientRead"),
        ];
        let wait = LockWait {
            pid: 2,
            what: "transactionid".into(),
            mode: "ShareLock".into(),
            blockers: vec![1],
            seconds: 1.5,
        };
        let mut profile = Profile::default();
        profile.add(&sessions, std::slice::from_ref(&wait));
        let by_kind = profile.add(&sessions, &[wait]);
        assert_eq!(by_kind["Lock"], 1);
        assert_eq!(by_kind["running"], 1);
        let stacks: Vec<_> = profile.stacks().collect();
        assert_eq!(stacks[0].0, ["IdleInTransaction", "ClientRead", "a"]);
        let blocked = "blocked by a (idle in transaction)";
        assert_eq!(stacks[1].0, ["Lock", "transactionid", "b", blocked]);
        assert_eq!((stacks.len(), stacks[1].1), (2, 2));
        assert_eq!(profile.chains(), ["b ← a (idle in transaction)"]);
        let tables = profile.tables();
        let titles: Vec<&str> = tables.iter().map(|table| table.title.as_str()).collect();
        assert_eq!(
            titles,
            ["what sessions did", "who waited", "locks waited for", "who blocks whom"]
        );
        assert_eq!(
            tables[3].rows[0],
            ["b ← a (idle in transaction)", "transactionid", "2", "1.50"]
        );
    }

    #[test]
    fn locks_that_were_read_a_moment_later_change_nothing_of_what_was_seen() {
        let sessions = [session(1, "a", "active", "IO:WALSync"), session(2, "b", "active", "")];
        let wait = |blockers: &[i32]| LockWait {
            pid: 1,
            blockers: blockers.to_vec(),
            ..LockWait::default()
        };
        let mut profile = Profile::default();
        profile.add(&sessions, &[wait(&[2])]);
        profile.add(&sessions, &[wait(&[])]);
        let stacks: Vec<_> = profile.stacks().collect();
        assert_eq!((stacks[0].0, stacks.len()), (&["IO", "WALSync", "a"].map(String::from)[..], 1));
        assert_eq!(profile.chains(), ["a ← b"]);
    }

    #[test]
    fn very_many_kinds_are_counted_together() {
        let mut profile = Profile::default();
        for number in 0..5000 {
            profile.add(&[session(1, &format!("c{number}"), "active", "IO:WALSync")], &[]);
        }
        assert!(profile.stacks.len() <= KINDS_MAX + 1);
        let all: u64 = profile.stacks().map(|(_, samples)| samples).sum();
        assert_eq!(all, 5000);
        assert!(profile.tables()[1].rows.len() <= ROWS_MAX);
    }
}
