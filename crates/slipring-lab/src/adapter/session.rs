//! A connection for one statement after the other, made anew when it was lost.

use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result};
use slipring_postgres::Address;
use tokio::sync::{Mutex, MutexGuard};
use tokio_postgres::{Client, Statement};

use super::producer::SIDE_BY_SIDE;

/// A connection with its statements.
pub struct Session {
    address: Address,
    /// The texts of the statements.
    texts: &'static [&'static str],
    open: Option<(Client, Vec<Statement>)>,
}

impl Session {
    /// A session of these statements, which connects when it is first used.
    pub fn new(address: &Address, texts: &'static [&'static str]) -> Session {
        Session { address: address.clone(), texts, open: None }
    }

    /// The connection, made anew where it was lost, and the statement at a place.
    ///
    /// # Errors
    /// When the database is not reached or refuses.
    pub async fn statement(&mut self, at: usize) -> Result<(&mut Client, Statement)> {
        if self.open.as_ref().is_none_or(|(client, _)| client.is_closed()) {
            self.open = None;
            let client = self.address.connect("slipring-lab adapter").await?;
            let mut statements = Vec::with_capacity(self.texts.len());
            for text in self.texts {
                statements.push(client.prepare(text).await?);
            }
            self.open = Some((client, statements));
        }
        let (client, statements) = self.open.as_mut().context("a session that is open")?;
        let statement = statements.get(at).context("a statement that was prepared")?.clone();
        Ok((client, statement))
    }
}

/// As many sessions of the same statements as batches are inserted side by side.
pub struct Sessions {
    all: Vec<Mutex<Session>>,
    next: AtomicUsize,
}

impl Sessions {
    /// Sessions of these statements, which connect when they are first used.
    pub fn new(address: &Address, texts: &'static [&'static str]) -> Sessions {
        let session = || Mutex::new(Session::new(address, texts));
        Sessions { all: (0..SIDE_BY_SIDE).map(|_| session()).collect(), next: AtomicUsize::new(0) }
    }

    /// One that nobody uses; waits for one where all are in use.
    pub async fn free(&self) -> MutexGuard<'_, Session> {
        if let Some(free) = self.all.iter().find_map(|session| session.try_lock().ok()) {
            return free;
        }
        let turn = self.next.fetch_add(1, Ordering::Relaxed) % self.all.len();
        self.all[turn].lock().await
    }
}
