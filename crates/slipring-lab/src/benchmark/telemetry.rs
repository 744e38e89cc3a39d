//! What an adapter says on its stdout, read line by line: a descriptor, then a line for each metric
//! of each tick.

use std::time::UNIX_EPOCH;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::Value;

/// What an adapter says of its system when it is ready.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Descriptor {
    /// The system's name.
    pub system: String,
    /// All tables with rows of jobs or of their states, with their schemas.
    pub event_tables: Vec<String>,
}

/// One metric of one tick.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// The tick, in milliseconds of the wall clock since 1970.
    pub at_ms: u64,
    /// The replica.
    pub instance: u64,
    /// Its name.
    pub metric: String,
    /// Its value, in the unit of its name.
    pub value: f64,
    /// Seconds that it is about; 0 for a state of the tick.
    pub window_s: f64,
}

/// A line.
#[derive(Debug, Clone, PartialEq)]
pub enum Line {
    /// The first.
    Descriptor(Descriptor),
    /// Any other.
    Sample(Sample),
}

/// The fields of a line about a metric.
#[derive(Debug, Deserialize)]
struct Fields {
    t: String,
    metric: String,
    value: f64,
    #[serde(default)]
    window_s: f64,
    #[serde(default)]
    instance_id: u64,
}

/// Reads a line.
///
/// # Errors
/// When it is no line of the contract.
pub fn parse(line: &str) -> Result<Line> {
    let value: Value = serde_json::from_str(line).context("a line that is no JSON")?;
    match value.get("kind").and_then(Value::as_str) {
        Some("descriptor") => {
            Ok(Line::Descriptor(serde_json::from_value(value).context("a descriptor")?))
        }
        Some("adapter") => {
            let fields: Fields = serde_json::from_value(value).context("a metric")?;
            let at = humantime::parse_rfc3339(&fields.t);
            let at = at.with_context(|| format!("the time {:?} of a metric", fields.t))?;
            let since = at.duration_since(UNIX_EPOCH).context("a metric from before 1970")?;
            Ok(Line::Sample(Sample {
                at_ms: u64::try_from(since.as_millis())?,
                instance: fields.instance_id,
                metric: fields.metric,
                value: fields.value,
                window_s: fields.window_s,
            }))
        }
        kind => bail!("a line of the kind {kind:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_is_read_with_its_tick_and_its_replica() {
        let line = r#"{"t":"2026-04-17T09:00:10.000Z","system":"x","kind":"adapter",
            "subject_kind":"adapter","subject":"","metric":"claim_p99_ms","value":4.25,
            "window_s":30.0,"instance_id":2}"#;
        let Line::Sample(sample) = parse(line).unwrap() else { panic!("no metric") };
        assert_eq!((sample.at_ms, sample.instance), (1_776_416_410_000, 2));
        assert_eq!((sample.metric.as_str(), sample.value), ("claim_p99_ms", 4.25));
        assert_eq!(sample.window_s, 30.0);
        let least = r#"{"t":"2026-04-17T09:00:10Z","kind":"adapter","metric":"m","value":1}"#;
        let Line::Sample(sample) = parse(least).unwrap() else { panic!("no metric") };
        assert_eq!((sample.instance, sample.window_s), (0, 0.0));
    }

    #[test]
    fn a_descriptor_names_its_tables() {
        let line = r#"{"kind":"descriptor","system":"x","event_tables":["a.b","a.c"],"more":1}"#;
        let Line::Descriptor(descriptor) = parse(line).unwrap() else { panic!("no descriptor") };
        assert_eq!(descriptor.event_tables, ["a.b", "a.c"]);
    }

    #[test]
    fn what_is_no_line_of_the_contract_is_refused() {
        for line in [
            "",
            "a log",
            "{}",
            r#"{"kind":"other"}"#,
            r#"{"kind":"descriptor","system":"x"}"#,
            r#"{"kind":"adapter","t":"noon","metric":"m","value":1}"#,
            r#"{"kind":"adapter","t":"2026-04-17T09:00:10Z","metric":"m","value":null}"#,
            r#"{"kind":"adapter","t":"1960-04-17T09:00:10Z","metric":"m","value":1}"#,
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
