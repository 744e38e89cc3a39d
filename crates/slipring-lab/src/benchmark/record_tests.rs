//! Figures of made telemetry.

use super::phase::Phase;
use super::record::{Record, Span};
use super::telemetry::Sample;

const DAY_MS: u64 = 1_776_416_400_000;

/// A sample at so many seconds.
fn sample(at_s: f64, instance: u64, metric: &str, value: f64, window_s: f64) -> Sample {
    let at_ms = DAY_MS + (at_s * 1000.0) as u64;
    Sample { at_ms, instance, metric: metric.to_owned(), value, window_s }
}

fn span(phase: Phase, from_s: u64, to_s: u64) -> Span {
    Span { phase, from_ms: DAY_MS + from_s * 1000, to_ms: DAY_MS + to_s * 1000 }
}

/// Ten clean seconds and ten of recovery, with completions of one process and its depth.
fn record(rates: impl Fn(u64) -> f64, depths: impl Fn(u64) -> Option<f64>) -> Record {
    let mut record = Record::default();
    for second in 1..=20 {
        record.add(0, sample(second as f64, 0, "completion_rate", rates(second), 1.0));
        if let Some(depth) = depths(second) {
            record.add(0, sample(second as f64, 0, "queue_depth", depth, 0.0));
        }
    }
    record.spans = vec![span(Phase::Clean, 0, 10), span(Phase::Recovery, 10, 20)];
    record
}

#[test]
fn a_rate_is_that_of_all_replicas_over_the_phase() {
    let mut record = record(|_| 100.0, |_| None);
    // A second replica that tells every second tick only, of two seconds each.
    for second in (2..=20).step_by(2) {
        record.add(1, sample(second as f64, 1, "completion_rate", 50.0, 2.0));
    }
    assert_eq!(record.rate(Phase::Clean, "completion_rate"), 150.0);
    assert_eq!(record.rate(Phase::Clean, "enqueue_rate"), 0.0);
    assert!(record.rate(Phase::Stress, "completion_rate").is_nan());
}

#[test]
fn a_process_that_was_killed_completes_nothing_until_the_next_one_does() {
    let mut record = Record { spans: vec![span(Phase::Clean, 0, 10)], ..Record::default() };
    for second in 1..=4 {
        record.add(0, sample(second as f64, 0, "completion_rate", 100.0, 1.0));
    }
    for second in 9..=10 {
        record.add(1, sample(second as f64, 0, "completion_rate", 100.0, 1.0));
    }
    assert_eq!(record.rate(Phase::Clean, "completion_rate"), 60.0);
    // A tick that was late is about the time since the one before.
    let mut late = Record { spans: vec![span(Phase::Clean, 0, 4)], ..Record::default() };
    late.add(0, sample(1.0, 0, "completion_rate", 100.0, 1.0));
    late.add(0, sample(4.0, 0, "completion_rate", 100.0, 1.0));
    assert_eq!(late.rate(Phase::Clean, "completion_rate"), 100.0);
}

#[test]
fn a_percentile_is_the_median_of_the_windows_that_lie_in_the_phase() {
    let mut record = Record { spans: vec![span(Phase::Stress, 10, 20)], ..Record::default() };
    for (at, value) in [(9.0, 900.0), (14.0, 800.0), (15.0, 3.0), (18.0, 5.0), (20.0, 4.0)] {
        record.add(0, sample(at, 0, "claim_p99_ms", value, 5.0));
    }
    record.add(0, sample(25.0, 0, "claim_p99_ms", 700.0, 5.0));
    assert_eq!(record.median(Phase::Stress, "claim_p99_ms"), 4.0);
    // The slower replica counts.
    record.add(1, sample(20.0, 1, "claim_p99_ms", 9.0, 5.0));
    assert_eq!(record.median(Phase::Stress, "claim_p99_ms"), 5.0);
    assert_eq!(record.worst(Phase::Stress, "claim_p99_ms"), 9.0);
    assert!(record.worst(Phase::Clean, "claim_p99_ms").is_nan());
    assert!(record.median(Phase::Clean, "claim_p99_ms").is_nan());
    assert_eq!(record.peak(Phase::Stress, "claim_p99_ms"), 800.0);
}

#[test]
fn a_recovery_counts_from_the_end_of_the_stress() {
    let short = |_| Some(5.0);
    assert_eq!(record(|_| 100.0, short).recovery_s(100.0), 0.0);
    let slow = record(|second| if second < 14 { 20.0 } else { 150.0 }, short);
    assert_eq!(slow.recovery_s(100.0), 3.0);
    assert!(record(|_| 20.0, short).recovery_s(100.0).is_infinite());
}

#[test]
fn a_queue_that_is_still_long_has_not_recovered() {
    let full = |second| matches!(second, 11..=18);
    let long = record(|_| 100.0, |second| Some(if full(second) { 500.0 } else { 5.0 }));
    assert_eq!(long.recovery_s(100.0), 8.0);
    // A queue that was as long in the clean phase is.
    assert_eq!(record(|_| 100.0, |_| Some(500.0)).recovery_s(100.0), 0.0);
    // Nothing is known of the depth.
    assert!(record(|_| 100.0, |_| None).recovery_s(100.0).is_infinite());
}
