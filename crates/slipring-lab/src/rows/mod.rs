//! The rows of the tables as data: what is run on what, under which condition, and what is asked
//! of it.

pub mod conditions;
mod foundation;
mod peers;
mod postgres;
mod sizes;

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::run::condition::Condition;
use crate::run::held::Held;
use crate::run::rounds::ContenderReport;
use crate::workloads::Settings;

pub use sizes::{Plan, Sizes};

/// A table: rows that are run together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Table {
    /// The project's speed table: store in-process, both wires, backlog, waiters, neighbours.
    Foundation,
    /// The speed table of the PostgreSQL store, beside its peers.
    Postgres,
    /// Our server beside servers of the same wire and of other classes.
    Peers,
}

impl Table {
    /// All of them.
    pub const ALL: [Table; 3] = [Table::Foundation, Table::Postgres, Table::Peers];

    /// Its name on the command line, and that of what is kept of it.
    pub fn name(self) -> &'static str {
        match self {
            Table::Foundation => "foundation",
            Table::Postgres => "postgres",
            Table::Peers => "peers",
        }
    }

    /// Its rows, in their order.
    pub fn rows(self) -> Vec<Row> {
        match self {
            Table::Foundation => foundation::all(),
            Table::Postgres => postgres::all(),
            Table::Peers => peers::all(),
        }
    }
}

/// One row.
pub struct Row {
    /// What `--row` calls it.
    pub name: &'static str,
    /// What is measured, in words.
    pub what: &'static str,
    /// More rounds than this show nothing new, or take too long.
    pub rounds_max: usize,
    /// What is run by turns; the folder is kept between the rounds of a row.
    pub contenders: fn(Sizes, &Path) -> Vec<Contender>,
    /// What is held open beside it.
    pub held: Held,
    /// What is asked; empty for rows that only inform.
    pub conditions: fn(&[ContenderReport]) -> Vec<Condition>,
}

/// One of the things a row runs by turns: a target with what is done on it.
pub struct Contender {
    /// Its name within the row.
    pub name: &'static str,
    /// What is run, and on what.
    pub settings: Settings,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::Peer;
    use crate::targets::Kind;

    fn all_rows() -> impl Iterator<Item = (Table, Row)> {
        Table::ALL.into_iter().flat_map(|table| table.rows().into_iter().map(move |r| (table, r)))
    }

    fn contenders(row: &Row, table: Table, smoke: bool) -> Vec<Contender> {
        (row.contenders)(Sizes::new(table, smoke), Path::new("x"))
    }

    #[test]
    fn every_row_has_a_name_of_its_own_and_contenders_with_names_of_their_own() {
        for (table, smoke) in Table::ALL.into_iter().flat_map(|t| [(t, true), (t, false)]) {
            let rows = table.rows();
            for row in &rows {
                assert_eq!(rows.iter().filter(|other| other.name == row.name).count(), 1);
                let all = contenders(row, table, smoke);
                assert!(all.iter().any(|one| one.settings.target.is_ours()), "{}", row.name);
                for one in &all {
                    one.settings.check().unwrap();
                    let same = all.iter().filter(|other| other.name == one.name).count();
                    assert_eq!(same, 1, "{} {}", row.name, one.name);
                }
            }
        }
    }

    #[test]
    fn a_smoke_run_needs_no_peer_that_would_have_to_be_installed() {
        for (table, row) in all_rows() {
            let all = contenders(&row, table, true);
            assert!(all.iter().all(|one| one.settings.target.peer().is_none()), "{}", row.name);
        }
        let full = all_rows().flat_map(|(table, row)| contenders(&row, table, false));
        let targets: Vec<Kind> = full.map(|one| one.settings.target).collect();
        for peer in Peer::ALL {
            assert!(targets.contains(&peer.kind()), "no row has {}", peer.name());
        }
    }

    #[test]
    fn what_was_not_measured_meets_no_target() {
        for row in Table::ALL.into_iter().flat_map(Table::rows) {
            for condition in (row.conditions)(&[]) {
                assert!(!condition.pass, "{}: {condition:?}", row.name);
            }
        }
    }
}
