//! The oldest snapshot and what pins it: sessions, prepared transactions, replication slots and
//! standbys. What they may still see cannot be removed.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use super::caller::normalised;
use super::server::Server;
use crate::findings::Table;
use crate::run::condition::number;

/// Holders that are told apart; later ones are left out.
const HOLDERS_MAX: usize = 500;
/// Rows of the table.
const ROWS_MAX: usize = 20;

/// One that holds a snapshot or a transaction.
#[derive(Debug, Clone, Default, PartialEq)]
struct Holder {
    detail: String,
    age: i64,
    seconds: Option<f64>,
    looks: u64,
}

/// What was seen of all looks.
#[derive(Debug, Default)]
pub struct Horizon {
    holders: BTreeMap<(String, String), Holder>,
    looks: u64,
}

impl Horizon {
    /// Looks once.
    ///
    /// # Errors
    /// When the server goes away.
    pub async fn add(&mut self, server: &Server) -> Result<()> {
        let statement = include_str!("../../queries/waits_horizon.sql");
        let rows = server.client.query(statement, &[]).await;
        self.looks += 1;
        for row in rows.context("reading what pins the oldest snapshot")? {
            let detail: Option<String> = row.try_get(2)?;
            let (age, seconds): (Option<i64>, Option<f64>) = (row.try_get(3)?, row.try_get(4)?);
            self.note((row.try_get(0)?, row.try_get(1)?), detail, age, seconds);
        }
        Ok(())
    }

    fn note(
        &mut self,
        key: (String, String),
        detail: Option<String>,
        age: Option<i64>,
        seconds: Option<f64>,
    ) {
        if self.holders.len() >= HOLDERS_MAX && !self.holders.contains_key(&key) {
            return;
        }
        let holder = self.holders.entry(key).or_default();
        holder.looks += 1;
        holder.age = holder.age.max(age.unwrap_or(0));
        holder.seconds = match (holder.seconds, seconds) {
            (Some(before), Some(now)) => Some(before.max(now)),
            (before, now) => before.or(now),
        };
        holder.detail = detail.unwrap_or_default();
    }

    /// Those that held longest, the oldest first.
    pub fn table(&self) -> Table {
        let columns =
            ["what pins the oldest snapshot", "name", "doing", "transactions", "s", "looks"];
        let title = format!("oldest snapshots, seen in {} looks", self.looks);
        let mut table = Table::new(&title, &columns);
        let mut sorted: Vec<_> = self.holders.iter().collect();
        let seconds = |holder: &Holder| holder.seconds.unwrap_or(0.0);
        sorted.sort_by(|(_, a), (_, b)| {
            b.age.cmp(&a.age).then_with(|| seconds(b).total_cmp(&seconds(a)))
        });
        for ((kind, name), holder) in sorted.into_iter().take(ROWS_MAX) {
            table.row([
                kind.clone(),
                name.clone(),
                normalised(&holder.detail),
                holder.age.to_string(),
                holder.seconds.map_or(String::new(), number),
                holder.looks.to_string(),
            ]);
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_comes_first_and_each_is_there_once() {
        let mut horizon = Horizon::default();
        let key = |name: &str| ("session".to_owned(), name.to_owned());
        let detail = || Some("active: SELECT 1".to_owned());
        horizon.note(key("young"), detail(), Some(3), Some(50.0));
        horizon.note(key("old"), detail(), Some(70), Some(1.0));
        horizon.note(key("old"), detail(), Some(90), Some(2.0));
        horizon.note(key("slot"), None, None, None);
        let table = horizon.table();
        assert_eq!(table.rows[0][1..], ["old", "active: SELECT ?", "90", "2.00", "2"]);
        assert_eq!(table.rows.len(), 3);
    }
}
