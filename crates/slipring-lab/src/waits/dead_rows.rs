//! Dead rows of the tables of a database, before and after.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use super::server::Server;
use crate::findings::Table;

/// Rows of the table.
const ROWS_MAX: usize = 20;

/// A table at a moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Rows {
    live: i64,
    dead: i64,
    changed: i64,
    cleaned: String,
}

/// All tables at a moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeadRows(BTreeMap<String, Rows>);

impl DeadRows {
    /// Reads them.
    ///
    /// # Errors
    /// When the server goes away.
    pub async fn read(server: &Server) -> Result<DeadRows> {
        let statement = include_str!("../../queries/waits_dead_rows.sql");
        let rows = server.client.query(statement, &[]).await.context("reading dead rows")?;
        let mut all = BTreeMap::new();
        for row in rows {
            let rows = Rows {
                live: row.try_get(1)?,
                dead: row.try_get(2)?,
                changed: row.try_get(3)?,
                cleaned: row.try_get(4)?,
            };
            all.insert(row.try_get(0)?, rows);
        }
        Ok(DeadRows(all))
    }

    /// Tables with dead rows now, or with rows that became dead since `before`, those with most
    /// first.
    pub fn since(&self, before: &DeadRows) -> Table {
        let columns =
            ["table", "live rows", "dead rows", "more", "updated, deleted", "last cleaned"];
        let mut table = Table::new("dead rows of this database", &columns);
        let grown = |name: &String, rows: &Rows| {
            let then = before.0.get(name).cloned().unwrap_or_default();
            (rows.dead - then.dead, rows.changed - then.changed)
        };
        let shown = |(name, rows): &(&String, &Rows)| rows.dead > 0 || grown(name, rows).1 > 0;
        let mut sorted: Vec<_> = self.0.iter().filter(shown).collect();
        sorted.sort_by_key(|(_, rows)| std::cmp::Reverse(rows.dead));
        for (name, rows) in sorted.into_iter().take(ROWS_MAX) {
            let (more, changed) = grown(name, rows);
            let numbers = [rows.live, rows.dead, more, changed].map(|count| count.to_string());
            let row = [name.clone()].into_iter().chain(numbers).chain([rows.cleaned.clone()]);
            table.row(row);
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_with_dead_rows_or_changes_are_shown() {
        let rows = |dead, changed| Rows { live: 5, dead, changed, cleaned: "never".into() };
        let of = |list: &[(&str, Rows)]| {
            DeadRows(list.iter().map(|(name, rows)| ((*name).to_owned(), rows.clone())).collect())
        };
        let before = of(&[("a", rows(10, 10)), ("b", rows(0, 7)), ("c", rows(0, 3))]);
        let after = of(&[("a", rows(4, 12)), ("b", rows(0, 7)), ("c", rows(9, 12))]);
        let table = after.since(&before);
        assert_eq!(table.rows[0], ["c", "5", "9", "9", "9", "never"]);
        assert_eq!(table.rows[1], ["a", "5", "4", "-6", "2", "never"]);
        assert_eq!(table.rows.len(), 2);
    }
}
