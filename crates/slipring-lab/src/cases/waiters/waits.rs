//! Wait classes before and after a load: the difference is what the load has cost.

use std::collections::BTreeMap;

use slipring::WaitSnapshot;

/// What one wait class has counted during loads.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WaitLine {
    /// How often the thing was taken.
    pub acquisitions: u64,
    /// How often it had to be waited for.
    pub contended: u64,
    /// Time waited in all, in nanoseconds.
    pub total_ns: u64,
    /// The longest wait since the contender was started, in nanoseconds.
    pub max_ns: u64,
}

impl WaitLine {
    /// The mean wait of those who waited, in milliseconds.
    pub fn mean_ms(&self) -> f64 {
        if self.contended == 0 {
            return 0.0;
        }
        self.total_ns as f64 / self.contended as f64 / 1e6
    }
}

/// Wait classes by name.
pub type WaitTable = BTreeMap<&'static str, WaitLine>;

/// What was counted between two looks; classes that were not used are left out.
pub fn between(before: &[WaitSnapshot], after: &[WaitSnapshot]) -> WaitTable {
    let mut table = WaitTable::new();
    for now in after {
        let then = before.iter().find(|then| then.name == now.name);
        let of = |field: fn(&WaitSnapshot) -> u64| field(now) - then.map_or(0, field);
        let line = WaitLine {
            acquisitions: of(|wait| wait.acquisitions),
            contended: of(|wait| wait.contended),
            total_ns: of(|wait| wait.total_ns),
            max_ns: now.max_ns,
        };
        if line.acquisitions > 0 {
            table.insert(now.name, line);
        }
    }
    table
}

/// Adds the counts of another load.
pub fn add(table: &mut WaitTable, other: &WaitTable) {
    for (name, line) in other {
        let sum = table.entry(name).or_default();
        sum.acquisitions += line.acquisitions;
        sum.contended += line.contended;
        sum.total_ns += line.total_ns;
        sum.max_ns = sum.max_ns.max(line.max_ns);
    }
}

#[cfg(test)]
mod tests {
    use slipring::Waits;

    use super::*;

    #[test]
    fn a_table_holds_what_was_counted_between_two_looks() {
        let waits = Waits::new();
        let (latch, idle) = (waits.class("latch"), waits.class("idle"));
        latch.waited(5_000_000);
        idle.passed();
        let before = waits.snapshot();
        latch.passed();
        latch.waited(1_000_000);
        latch.waited(3_000_000);
        let table = between(&before, &waits.snapshot());
        assert_eq!(table.len(), 1, "what was not used is left out");
        let line = &table["latch"];
        assert_eq!((line.acquisitions, line.contended, line.max_ns), (3, 2, 5_000_000));
        assert_eq!(line.mean_ms(), 2.0);
        let mut sum = table.clone();
        add(&mut sum, &table);
        assert_eq!((sum["latch"].acquisitions, sum["latch"].mean_ms()), (6, 2.0));
    }
}
