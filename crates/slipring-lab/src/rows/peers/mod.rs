//! The rows of the table of peers: our server beside servers of the same wire and of other classes.

mod classes;
mod sqs;

use super::Row;

/// All rows, in the order of the table.
pub(super) fn all() -> Vec<Row> {
    let all = [sqs::rows(), classes::rows()];
    all.into_iter().flatten().collect()
}
