//! PostgreSQL's own counters at two moments, and what came about between them.

use anyhow::Result;
use serde::{Deserialize, Serialize};
use tokio_postgres::Client;

use super::server::{Rights, Version};
use crate::findings::Table;
use crate::run::condition::number;

/// One counter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Counter {
    /// The view, and what is counted.
    pub name: String,
    /// Its value.
    pub value: f64,
}

/// All counters of a server at a moment, in the order of their views.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Counters {
    /// The counters.
    pub list: Vec<Counter>,
    /// Views that could not be read, with what PostgreSQL said.
    pub unseen: Vec<String>,
}

/// A view with its statement, and the versions that have it.
struct View {
    name: &'static str,
    sql: &'static str,
    from: u32,
    before: u32,
}

const VIEWS: [View; 6] = [
    View {
        name: "pg_stat_database",
        sql: include_str!("../../queries/counters_database.sql"),
        from: 14,
        before: u32::MAX,
    },
    View {
        name: "pg_stat_wal",
        sql: include_str!("../../queries/counters_wal.sql"),
        from: 14,
        before: u32::MAX,
    },
    View {
        name: "pg_stat_bgwriter",
        sql: include_str!("../../queries/counters_bgwriter.sql"),
        from: 14,
        before: 17,
    },
    View {
        name: "pg_stat_checkpointer",
        sql: include_str!("../../queries/counters_checkpointer.sql"),
        from: 17,
        before: u32::MAX,
    },
    View {
        name: "pg_stat_io",
        sql: include_str!("../../queries/counters_io.sql"),
        from: 16,
        before: u32::MAX,
    },
    View {
        name: "WAL",
        sql: include_str!("../../queries/counters_lsn.sql"),
        from: 14,
        before: u32::MAX,
    },
];

impl Counters {
    /// Reads them. A view that may not be read is named and left out.
    ///
    /// # Errors
    /// When the connection is broken.
    pub async fn read(client: &Client, version: Version) -> Result<Counters> {
        let mut counters = Counters::default();
        for view in VIEWS.iter().filter(|view| (view.from..view.before).contains(&version.major)) {
            match client.query(view.sql, &[]).await {
                Ok(rows) => {
                    for row in rows {
                        let name: String = row.try_get(0)?;
                        let name = format!("{} {name}", view.name);
                        counters.list.push(Counter { name, value: row.try_get(1)? });
                    }
                }
                Err(error) if error.as_db_error().is_some() => {
                    counters.unseen.push(format!("{}: {}", view.name, Rights::told(&error)));
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(counters)
    }

    /// What came about since `before`: counters that went up. One that went down was reset
    /// meanwhile; it is given with what it has counted since.
    pub fn since(&self, before: &Counters) -> Vec<Counter> {
        let changed = self.list.iter().filter_map(|now| {
            let then = before.list.iter().find(|counter| counter.name == now.name);
            let then = then.map_or(0.0, |counter| counter.value);
            let grown = if now.value < then { now.value } else { now.value - then };
            (grown > 0.0).then(|| Counter { name: now.name.clone(), value: grown })
        });
        changed.collect()
    }
}

/// A table of what came about within so many seconds.
pub fn table(title: &str, changed: &[Counter], seconds: f64) -> Table {
    let mut table = Table::new(title, &["counter", "difference", "per second"]);
    for counter in changed {
        let rate = if seconds > 0.0 { counter.value / seconds } else { f64::NAN };
        table.row([counter.name.clone(), number(counter.value), number(rate)]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(list: &[(&str, f64)]) -> Counters {
        let counter = |(name, value): &(&str, f64)| Counter { name: (*name).into(), value: *value };
        Counters { list: list.iter().map(counter).collect(), unseen: Vec::new() }
    }

    #[test]
    fn only_what_went_up_is_in_the_difference() {
        let before = counters(&[("a", 10.0), ("b", 5.0), ("c", 100.0)]);
        let after = counters(&[("a", 12.5), ("b", 5.0), ("c", 3.0), ("d", 4.0)]);
        let changed = after.since(&before);
        let pairs: Vec<_> = changed.iter().map(|c| (c.name.as_str(), c.value)).collect();
        assert_eq!(pairs, [("a", 2.5), ("c", 3.0), ("d", 4.0)]);
        let table = table("t", &changed, 2.0);
        assert_eq!(table.rows[0], ["a", "2.50", "1.25"]);
    }
}
