//! `slipring waits`: what the server waits for, class by class.

use clap::Args;
use slipring_server::admin::model::WaitTable;

use crate::failure::Failure;
use crate::print;
use crate::target::TargetArgs;

#[derive(Debug, Args)]
pub struct WaitsArgs {
    #[command(flatten)]
    target: TargetArgs,
}

impl WaitsArgs {
    pub async fn run(self) -> Result<(), Failure> {
        let target = self.target.open().await?;
        let waits: WaitTable = target.get("/v1/waits").await?;
        target.close().await;
        if self.target.json {
            return print::json(&waits);
        }
        let head = ["CLASS", "TAKEN", "WAITED", "TOTAL", "P50", "P95", "P99", "MAX"];
        let mut table = print::table(&head, 1..8);
        for wait in &waits.waits {
            table.add_row([
                wait.name.clone(),
                wait.acquisitions.to_string(),
                wait.contended.to_string(),
                time(wait.total_ns),
                time(wait.p50_ns),
                time(wait.p95_ns),
                time(wait.p99_ns),
                time(wait.max_ns),
            ]);
        }
        print::line(&table.to_string())
    }
}

/// Nanoseconds with three digits and a unit.
pub fn time(ns: u64) -> String {
    let ns = ns as f64;
    for (unit, size) in [("s", 1e9), ("ms", 1e6), ("µs", 1e3)] {
        if ns >= size {
            let value = ns / size;
            let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
            return format!("{value:.digits$} {unit}");
        }
    }
    format!("{ns} ns")
}

#[cfg(test)]
mod tests {
    use super::time;

    #[test]
    fn times_have_three_digits_and_a_unit() {
        let shown = [0, 999, 1_234, 45_600_000, 123_400_000_000].map(time);
        assert_eq!(shown, ["0 ns", "999 ns", "1.23 µs", "45.6 ms", "123 s"]);
    }
}
