//! One process of PostgreSQL at one moment: what it does, and for which lock it waits.

use anyhow::Result;
use tokio_postgres::Row;

use super::caller;

/// A process at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Session {
    /// Its id.
    pub pid: i32,
    /// Its kind; nothing when this user may not see it.
    pub backend: Option<String>,
    /// What its transaction is at; nothing for processes of the server itself.
    pub state: Option<String>,
    /// The kind of thing it waits for.
    pub wait_type: Option<String>,
    /// What it waits for.
    pub wait_event: Option<String>,
    /// Who it is and what it executes.
    pub caller: String,
}

/// What a session does.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Doing {
    /// Nothing: it waits for its client outside of a transaction, or for work of its own.
    Idle,
    /// It computes.
    Running,
    /// It waits: the kind, and what for.
    Waiting(String, String),
    /// This user may not see it.
    NotVisible,
}

impl Session {
    /// From a row of `waits_activity.sql`.
    ///
    /// # Errors
    /// When the row is of another form.
    pub fn of(row: &Row) -> Result<Session> {
        let (application, role): (String, String) = (row.try_get(5)?, row.try_get(6)?);
        let (query, query_id): (Option<String>, Option<i64>) = (row.try_get(7)?, row.try_get(8)?);
        let backend: Option<String> = row.try_get(1)?;
        let caller = match backend.as_deref() {
            None | Some("client backend" | "parallel worker" | "walsender") => {
                caller::name(&application, &role, query.as_deref(), query_id)
            }
            Some(own) => own.to_owned(),
        };
        Ok(Session {
            pid: row.try_get(0)?,
            backend,
            state: row.try_get(2)?,
            wait_type: row.try_get(3)?,
            wait_event: row.try_get(4)?,
            caller,
        })
    }

    /// What it does.
    pub fn doing(&self) -> Doing {
        let state = self.state.as_deref().unwrap_or_default();
        if self.backend.is_none() && self.state.is_none() && self.wait_type.is_none() {
            return Doing::NotVisible;
        }
        let wait = self.wait_type.clone().zip(self.wait_event.clone());
        if state.starts_with("idle in transaction") {
            // It waits for its client and holds locks and a snapshot meanwhile.
            let event = wait.map_or("ClientRead".to_owned(), |(_, event)| event);
            return Doing::Waiting("IdleInTransaction".to_owned(), event);
        }
        match wait {
            _ if state == "idle" => Doing::Idle,
            Some((kind, _)) if kind == "Activity" => Doing::Idle,
            Some((kind, event)) => Doing::Waiting(kind, event),
            None => Doing::Running,
        }
    }

    /// The caller, with what makes it stay in the way of others: that it waits for its client, or
    /// that nothing is known of it. Other states may have changed since they were read.
    pub fn named(&self) -> String {
        match (self.doing(), &self.state) {
            (Doing::NotVisible, _) => format!("{} (not visible)", self.caller),
            (_, Some(state)) if state.starts_with("idle in") => {
                format!("{} ({state})", self.caller)
            }
            _ => self.caller.clone(),
        }
    }
}

/// A process that waits for a lock.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LockWait {
    /// Its id.
    pub pid: i32,
    /// What is locked: the kind, and the table where it is one.
    pub what: String,
    /// How it is to be locked.
    pub mode: String,
    /// Processes in the way; 0 is a prepared transaction.
    pub blockers: Vec<i32>,
    /// How long it waits, in seconds.
    pub seconds: f64,
}

impl LockWait {
    /// From a row of `waits_locks.sql`.
    ///
    /// # Errors
    /// When the row is of another form.
    pub fn of(row: &Row) -> Result<LockWait> {
        let (kind, relation): (String, String) = (row.try_get(1)?, row.try_get(3)?);
        Ok(LockWait {
            pid: row.try_get(0)?,
            what: format!("{kind} {relation}").trim_end().to_owned(),
            mode: row.try_get(2)?,
            blockers: row.try_get(4)?,
            seconds: row.try_get(5)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doing(backend: &str, state: &str, wait: &str) -> Doing {
        let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        let (kind, event) = wait.split_once(':').unwrap_or_default();
        let session = Session {
            backend: some(backend),
            state: some(state),
            wait_type: some(kind),
            wait_event: some(event),
            ..Session::default()
        };
        session.doing()
    }

    #[test]
    fn only_those_who_have_something_to_do_wait() {
        let waiting = |kind: &str, event: &str| Doing::Waiting(kind.into(), event.into());
        let client = "client backend";
        assert_eq!(doing(client, "idle", "Client:ClientRead"), Doing::Idle);
        assert_eq!(doing("walwriter", "", "Activity:WalWriterMain"), Doing::Idle);
        assert_eq!(doing("walwriter", "", "IO:WALSync"), waiting("IO", "WALSync"));
        assert_eq!(doing(client, "active", ""), Doing::Running);
        assert_eq!(doing(client, "active", "Lock:tuple"), waiting("Lock", "tuple"));
        let idle = doing(client, "idle in transaction", "Client:ClientRead");
        assert_eq!(idle, waiting("IdleInTransaction", "ClientRead"));
        assert_eq!(doing("", "", ""), Doing::NotVisible);
    }
}
