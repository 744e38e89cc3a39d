//! A transaction that is held open beside some rows, and what that makes of their windows.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use tokio_postgres::Client;

use crate::rows::Plan;
use crate::targets::postgres::connect;

/// What is held open beside the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// Nothing.
    Nothing,
    /// A transaction that only reads holds its snapshot open.
    Reader,
    /// A transaction that has written stays open.
    Writer,
}

impl Held {
    /// What a session runs to hold it.
    pub fn statements(self) -> Option<&'static str> {
        match self {
            Held::Nothing => None,
            Held::Reader => Some(include_str!("../../queries/hold_snapshot.sql")),
            Held::Writer => Some(include_str!("../../queries/hold_writes.sql")),
        }
    }
}

/// Whether something is wrong beside the load in a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Not yet.
    Before,
    /// All the time.
    During,
    /// Not any more.
    After,
}

/// The transaction with its windows.
pub struct Transaction {
    held: Held,
    /// The address of its database.
    url: String,
    plan: Plan,
    windows: usize,
    open: Option<Client>,
}

impl Transaction {
    /// Not opened yet.
    pub fn new(held: Held, url: String, plan: Plan) -> Transaction {
        Transaction { held, url, plan, windows: 0, open: None }
    }

    /// What goes on beside the window that is now running.
    pub fn phase(&self) -> Phase {
        match self.windows {
            before if before < self.plan.before => Phase::Before,
            during if during < self.plan.before + self.plan.during => Phase::During,
            _ => Phase::After,
        }
    }

    /// Opens or closes it when its time has come.
    ///
    /// # Errors
    /// When PostgreSQL fails, or has ended it.
    pub async fn window_over(&mut self) -> Result<()> {
        let before = self.phase();
        self.windows += 1;
        let Some(statements) = self.held.statements().filter(|_| self.phase() != before) else {
            return Ok(());
        };
        if let Some(open) = self.open.take() {
            return open.batch_execute("COMMIT").await.context("a transaction that was held open");
        }
        let client = connect(&self.url).await?;
        client.batch_execute(statements).await.context("opening a transaction to hold")?;
        self.open = Some(client);
        Ok(())
    }
}
