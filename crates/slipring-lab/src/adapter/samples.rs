//! A sample at each whole multiple of the cadence on the wall clock: one line for each metric.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::bench::Bench;
use super::system::{Depths, Intake};
use super::tally::{Counts, Percentiles};
use super::telemetry::{Lines, Metric, line, wall_us};

/// A look at the depths takes no longer, or they are left out of the sample.
const LOOK_MAX: Duration = Duration::from_secs(1);

/// The next tick after a moment, in milliseconds of the wall clock.
pub fn next_tick_ms(now_ms: u64, every_ms: u64) -> u64 {
    (now_ms / every_ms + 1) * every_ms
}

/// Samples until the run is over.
pub async fn run<S: Intake>(system: Arc<S>, bench: Arc<Bench>, lines: Lines) {
    let every_ms = bench.environment.sample_every_s * 1000;
    let (mut before, mut since) = (bench.tally.counts(), Instant::now());
    loop {
        let tick_ms = next_tick_ms(wall_us() / 1000, every_ms);
        tokio::select! {
            biased;
            () = bench.stop.cancelled() => return,
            () = until(tick_ms) => {}
        }
        let (counts, now) = (bench.tally.counts(), Instant::now());
        let seconds = now.duration_since(since).as_secs_f64();
        let window_s = bench.environment.latency_window_s as f64;
        let mut metrics = latencies(bench.tally.percentiles(), window_s);
        metrics.extend(rates(&bench, before, counts, seconds));
        (before, since) = (counts, now);
        say(&bench, &lines, tick_ms, &metrics);
        // The depths are of the whole database; one replica tells them.
        if bench.environment.instance != 0 {
            continue;
        }
        let look = tokio::select! {
            () = bench.stop.cancelled() => return,
            look = tokio::time::timeout(LOOK_MAX, system.depths()) => look,
        };
        match look {
            Ok(Ok(seen)) => say(&bench, &lines, tick_ms, &depths(seen)),
            Ok(Err(error)) => bench.log.failed("a look at the depths", &error),
            Err(late) => bench.log.failed("a look at the depths", &late),
        }
        let rate = bench.tally.target_rate();
        let rate = Metric { name: "producer_target_rate", value: rate, window_s: 0.0 };
        say(&bench, &lines, tick_ms, &[rate]);
    }
}

/// Waits until the wall clock shows a moment, however it is set meanwhile.
async fn until(tick_ms: u64) {
    loop {
        let left_us = (tick_ms * 1000).saturating_sub(wall_us());
        if left_us == 0 {
            return;
        }
        // In steps, so that a clock that is set forward is noticed.
        tokio::time::sleep(Duration::from_micros(left_us.min(500_000))).await;
    }
}

fn say(bench: &Bench, lines: &Lines, tick_ms: u64, metrics: &[Metric]) {
    for metric in metrics {
        match line(tick_ms, bench.system, bench.environment.instance, *metric) {
            Ok(line) => {
                if !lines.say(line) {
                    bench.log.happened("stdout takes nothing; a line was left out");
                }
            }
            Err(error) => bench.log.failed("a line", &error),
        }
    }
}

/// The metrics of latencies, those that were counted.
fn latencies(percentiles: Percentiles, window_s: f64) -> Vec<Metric> {
    let names = [
        (["claim_p50_ms", "claim_p95_ms", "claim_p99_ms"], percentiles.claim),
        (
            ["producer_call_p50_ms", "producer_call_p95_ms", "producer_call_p99_ms"],
            percentiles.producer_call,
        ),
        (["end_to_end_p50_ms", "end_to_end_p95_ms", "end_to_end_p99_ms"], percentiles.end_to_end),
    ];
    let counted = names.into_iter().filter_map(|(names, values)| Some((names, values?)));
    let pairs = counted.flat_map(|(names, values)| names.into_iter().zip(values));
    pairs.map(|(name, value)| Metric { name, value, window_s }).collect()
}

/// The metrics of what was done since the last tick.
fn rates(bench: &Bench, before: Counts, now: Counts, seconds: f64) -> Vec<Metric> {
    let window_s = bench.environment.sample_every_s as f64;
    let rate = |name, of: fn(Counts) -> u64| {
        let value = of(now).saturating_sub(of(before)) as f64 / seconds.max(0.001);
        Metric { name, value, window_s }
    };
    let mut metrics = vec![
        rate("enqueue_rate", |counts| counts.enqueued),
        rate("completion_rate", |counts| counts.completed),
        rate("retryable_failure_rate", |counts| counts.failed),
    ];
    if bench.environment.priorities.len() > 1 {
        metrics.push(rate("completed_priority_1_rate", |counts| counts.completed_priority_1));
        metrics.push(rate("completed_priority_4_rate", |counts| counts.completed_priority_4));
    }
    metrics
}

/// The metrics of how many jobs are where.
fn depths(seen: Depths) -> [Metric; 5] {
    let depth = |name, value: u64| Metric { name, value: value as f64, window_s: 0.0 };
    [
        depth("queue_depth", seen.ready),
        depth("running_depth", seen.running),
        depth("retryable_depth", seen.retryable),
        // The adapter sends nothing with a delay.
        depth("scheduled_depth", 0),
        depth("total_backlog", seen.ready + seen.running + seen.retryable),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_is_the_next_whole_multiple_on_the_wall_clock() {
        assert_eq!(next_tick_ms(1_776_416_407_123, 5000), 1_776_416_410_000);
        assert_eq!(next_tick_ms(1_776_416_409_999, 5000), 1_776_416_410_000);
        assert_eq!(next_tick_ms(1_776_416_410_000, 5000), 1_776_416_415_000);
        assert_eq!(next_tick_ms(1, 3_600_000), 3_600_000);
    }

    #[test]
    fn only_latencies_that_were_counted_are_told() {
        let seen = Percentiles { claim: Some([1.0, 2.0, 3.0]), ..Percentiles::default() };
        let told = latencies(seen, 30.0);
        let names: Vec<_> = told.iter().map(|metric| (metric.name, metric.value)).collect();
        assert_eq!(names, [("claim_p50_ms", 1.0), ("claim_p95_ms", 2.0), ("claim_p99_ms", 3.0)]);
        assert!(told.iter().all(|metric| metric.window_s == 30.0));
        assert_eq!(latencies(Percentiles::default(), 30.0), []);
    }

    #[test]
    fn the_backlog_is_all_that_is_to_be_done() {
        let told = depths(Depths { ready: 5, running: 3, retryable: 2 });
        let backlog = told.iter().find(|metric| metric.name == "total_backlog").unwrap();
        assert_eq!(backlog.value, 10.0);
        assert!(told.iter().all(|metric| metric.window_s == 0.0));
    }
}
