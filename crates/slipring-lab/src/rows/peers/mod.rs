//! The rows that show our server beside servers of others.

mod classes;

use super::Row;

/// All rows, in the order of the table.
pub(super) fn all() -> Vec<Row> {
    classes::rows()
}
