//! What the kernel says about a process: memory and processor time, from `/proc`.

use std::fs;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// Memory and time of a process at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Resident memory in bytes.
    pub resident_bytes: u64,
    /// The most resident memory there has been, in bytes.
    pub resident_peak_bytes: u64,
    /// Processor time in seconds, user and system, all threads.
    pub cpu_seconds: f64,
}

impl Usage {
    /// Of a process.
    ///
    /// # Errors
    /// When there is no such process.
    pub fn of(pid: u32) -> Result<Usage> {
        let read = |name: &str| {
            let path = format!("/proc/{pid}/{name}");
            fs::read_to_string(&path).with_context(|| format!("reading {path}"))
        };
        Ok(parse(&read("status")?, &read("stat")?))
    }

    /// Of this process.
    ///
    /// # Errors
    /// As [`Usage::of`].
    pub fn own() -> Result<Usage> {
        Usage::of(std::process::id())
    }
}

/// Processor time of the children of a process that have ended and that it has waited for, in
/// seconds, with that of their own children.
///
/// # Errors
/// When there is no such process.
pub fn ended_children_cpu_seconds(pid: u32) -> Result<f64> {
    let path = format!("/proc/{pid}/stat");
    let stat = fs::read_to_string(&path).with_context(|| format!("reading {path}"))?;
    Ok(seconds(&stat, ENDED_CHILDREN))
}

/// Processor time spent on this machine since its start, in seconds, by all processes.
///
/// # Errors
/// When the kernel does not say.
pub fn machine_cpu_seconds() -> Result<f64> {
    let text = fs::read_to_string("/proc/stat").context("reading /proc/stat")?;
    Ok(busy_ticks(&text) as f64 / TICKS_PER_SECOND)
}

/// The ticks of the first line of `/proc/stat`, without those idle or waiting for a disk.
fn busy_ticks(stat: &str) -> u64 {
    let first = stat.lines().next().unwrap_or_default();
    let fields = first.split_whitespace().skip(1).take(8).enumerate();
    let busy = fields.filter(|(place, _)| !matches!(place, 3 | 4));
    busy.filter_map(|(_, ticks)| ticks.parse::<u64>().ok()).sum()
}

/// Ticks of `/proc/…/stat`; the kernel shows 100 in a second on every Linux.
const TICKS_PER_SECOND: f64 = 100.0;

/// Where `/proc/…/stat` has ticks as a user and in the kernel, counted from the name.
const OWN: usize = 11;
const ENDED_CHILDREN: usize = 13;

/// The sum of two neighbouring fields of ticks.
fn seconds(stat: &str, field: usize) -> f64 {
    // The name in parentheses may hold spaces; fields are counted behind it.
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let pair = fields.split_whitespace().skip(field).take(2);
    let ticks: u64 = pair.filter_map(|field| field.parse::<u64>().ok()).sum();
    ticks as f64 / TICKS_PER_SECOND
}

fn parse(status: &str, stat: &str) -> Usage {
    let kilobytes = |key: &str| {
        let line = status.lines().find(|line| line.starts_with(key));
        line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok()).unwrap_or(0)
    };
    Usage {
        resident_bytes: kilobytes("VmRSS:") * 1024,
        resident_peak_bytes: kilobytes("VmHWM:") * 1024,
        cpu_seconds: seconds(stat, OWN),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_and_time_are_read_behind_an_odd_name() {
        let status = "Name:\tx\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\n";
        let stat = "7 (a ) b) S 1 7 7 0 -1 4194560 1 2 3 4 150 50 9 9 20 0 1 0 5";
        let usage = parse(status, stat);
        assert_eq!((usage.resident_bytes, usage.resident_peak_bytes), (1 << 20, 2 << 20));
        assert_eq!(usage.cpu_seconds, 2.0);
        assert_eq!(seconds(stat, ENDED_CHILDREN), 0.18);
        assert!(Usage::own().unwrap().resident_bytes > 0);
        assert_eq!(
            busy_ticks("cpu  1 2 4 8 16 32 64 128 256 512\ncpu0 1 1"),
            1 + 2 + 4 + 32 + 64 + 128
        );
    }
}
