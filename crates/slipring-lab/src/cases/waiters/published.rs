//! What the author of the case has published, for the tables.

/// One line of the published table: a 10 ms time-out, all in milliseconds.
pub struct Line {
    /// Threads that wait on the same queue.
    pub threads: usize,
    /// Half of the waits took at most so long, time-out included.
    pub p50_ms: f64,
    /// 95 of 100 waits took at most so long, time-out included.
    pub p95_ms: f64,
    /// Mean wait for the latch of those that waited for it.
    pub latch_ms: f64,
}

/// The published time-out in milliseconds.
pub const TIME_OUT_MS: f64 = 10.0;

/// The published table.
pub const TABLE: [Line; 5] = [
    Line { threads: 1, p50_ms: 15.0, p95_ms: 15.0, latch_ms: 0.0 },
    Line { threads: 10, p50_ms: 15.0, p95_ms: 16.0, latch_ms: 0.36 },
    Line { threads: 100, p50_ms: 22.0, p95_ms: 33.0, latch_ms: 3.59 },
    Line { threads: 200, p50_ms: 32.0, p95_ms: 41.0, latch_ms: 5.76 },
    Line { threads: 300, p50_ms: 51.0, p95_ms: 64.0, latch_ms: 9.44 },
];

/// P50 and P95 of 100 threads with a time-out of 1 ms, time-out included, in milliseconds.
pub const SHORT_100_MS: (f64, f64) = (9.0, 16.0);
/// P50 and P95 on queue B beside 100 threads on queue A, time-out included, in milliseconds.
pub const BESIDE_100_MS: (f64, f64) = (15.0, 27.0);
/// P50 and P95 of a receive on queue B that does not wait, in milliseconds.
pub const PLAIN_MS: (f64, f64) = (0.0, 0.0);

/// The published line for a number of threads.
pub fn line(threads: usize) -> Option<&'static Line> {
    TABLE.iter().find(|line| line.threads == threads)
}
