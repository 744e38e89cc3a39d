//! What was published of this case, on SQL Server 2016 and a machine of 2 × 10 cores.

use crate::findings::Table;

/// Pushes per second that the engine in memory reached.
pub const IN_MEMORY_PER_SECOND: f64 = 550_000.0;

/// The published findings, in their order.
pub fn table() -> Table {
    let columns = ["design", "threads", "figure", "limit that was found"];
    let mut table =
        Table::new("published (SQL Server 2016, 2 × 10 cores, ring of 2,000,000 slots)", &columns);
    for row in [
        ["ring, neighbours, sequence, durable", "1", "6 min 59 s", "writing the log"],
        ["ring, neighbours, sequence, delayed durability", "1", "1 min 5 s", "one thread"],
        ["ring, neighbours, sequence, delayed", "more", "does not scale", "latch of the page"],
        [
            "ring, bits reversed, sequence, delayed",
            "8",
            "scales to 8, falls at 11",
            "latch in the sequence",
        ],
        [
            "ring, bits reversed, identity in memory, delayed",
            "20",
            "192,715 pushes/s",
            "spinlock under the identity",
        ],
        ["ring in the engine in memory", "20", "over 550,000 pushes/s", ""],
    ] {
        table.row(row.map(str::to_owned));
    }
    table
}
