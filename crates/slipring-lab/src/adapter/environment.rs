//! What the harness says by the environment: each variable of the contract with its default, its
//! range, and an error that names the variable, the value and what can be given.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// Leases of jobs where `LEASE_DEADLINE_MS` is 0, which asks for leases that do not end: a day.
pub const LEASE_LONGEST: Duration = Duration::from_secs(86_400);
/// A PostgreSQL queue has so many lanes; priorities beyond them would be a slower path.
const PRIORITY_MAX: u32 = 16;
/// The priority of jobs where no pattern is given: the default of Slipring.
pub const PRIORITY_DEFAULT: u32 = 1024;

/// How many jobs are inserted, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offer {
    /// Lines `ENQUEUE n` on stdin.
    Harness,
    /// The rate, by the time that has passed.
    OwnPace,
    /// As many as keep this number waiting.
    Depth(u64),
}

/// Which jobs fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailMode {
    /// Those that `JOB_FAIL_FIRST_MOD` names, at their first attempt.
    FirstAttempt,
    /// All, for ever.
    Always,
}

/// The whole environment of one adapter.
#[derive(Debug, Clone, PartialEq)]
pub struct Environment {
    /// The database, which is there.
    pub database_url: String,
    /// What is offered.
    pub offer: Offer,
    /// Jobs per second that are offered.
    pub rate: f64,
    /// A file with the rate of now.
    pub rate_file: Option<PathBuf>,
    /// Most jobs of one insert.
    pub batch_max: usize,
    /// Between two inserts of its own pace.
    pub batch_every: Duration,
    /// Handlers at a time.
    pub workers: usize,
    /// How long a handler works.
    pub work: Duration,
    /// Bytes of a body.
    pub payload_bytes: usize,
    /// Seconds from tick to tick.
    pub sample_every_s: u64,
    /// Seconds that percentiles of latencies are about.
    pub latency_window_s: u64,
    /// The number of this replica.
    pub instance: u64,
    /// How many queues.
    pub queues: usize,
    /// Which jobs fail.
    pub fail_mode: FailMode,
    /// One job in so many fails at its first attempt; 0 for none.
    pub fail_first_mod: u64,
    /// After so many attempts a job is a dead letter.
    pub attempts_max: u32,
    /// Dead letters go to a queue of their own.
    pub dead_letters: bool,
    /// Priorities of jobs, in turn.
    pub priorities: Vec<u32>,
    /// Aging of priorities was asked for.
    pub aging: bool,
    /// How long a lease lasts.
    pub lease: Duration,
    /// Where to note which jobs were inserted and which were worked on. Not of the contract.
    pub ledger: Option<PathBuf>,
    /// The number of the first job. Not of the contract.
    pub first_job: u64,
}

impl Environment {
    /// Reads the variables by `look`; one that is empty counts as not set.
    ///
    /// # Errors
    /// When a variable is missing, no number, or out of its range: names it, its value and what can
    /// be given.
    pub fn read(look: &dyn Fn(&str) -> Option<String>) -> Result<Environment> {
        let get = |name: &str| look(name).filter(|value| !value.trim().is_empty());
        let from = Reader { get: &get };
        let database_url = get("DATABASE_URL");
        let database_url = database_url.context("DATABASE_URL is not set; give the database")?;
        from.one_of("SCENARIO", &["long_horizon"])?;
        let (first_ms, lease_ms) = (1, LEASE_LONGEST.as_millis() as u64);
        let lease_ms = from.number("LEASE_DEADLINE_MS", 30_000, 0..=lease_ms)?;
        let lease = if lease_ms == 0 { LEASE_LONGEST } else { Duration::from_millis(lease_ms) };
        Ok(Environment {
            database_url,
            offer: from.offer()?,
            rate: from.number("PRODUCER_RATE", 800.0, 0.0..=10_000_000.0)?,
            rate_file: get("PRODUCER_RATE_CONTROL_FILE").map(PathBuf::from),
            batch_max: from.number("PRODUCER_BATCH_MAX", 128, 1..=10_000)?,
            batch_every: from.millis("PRODUCER_BATCH_MS", 25, first_ms..=60_000)?,
            workers: from.number("WORKER_COUNT", 32, 1..=10_000)?,
            work: from.millis("JOB_WORK_MS", 1, 0..=3_600_000)?,
            payload_bytes: from.number("JOB_PAYLOAD_BYTES", 256, 0..=1_048_576)?,
            sample_every_s: from.number("SAMPLE_EVERY_S", 5, 1..=3600)?,
            latency_window_s: from
                .number::<u64>("LATENCY_WINDOW_MS", 30_000, 1000..=300_000)?
                .div_ceil(1000),
            instance: from.number("BENCH_INSTANCE_ID", 0, 0..=1_000_000)?,
            queues: from.number("BENCH_QUEUE_COUNT", 1, 1..=1000)?,
            fail_mode: from.fail_mode()?,
            fail_first_mod: from.number("JOB_FAIL_FIRST_MOD", 0, 0..=1_000_000_000)?,
            attempts_max: from.number("JOB_MAX_ATTEMPTS", 25, 1..=1_000_000)?,
            dead_letters: from.switch("BENCH_DLQ_ENABLED")?,
            priorities: from.priorities()?,
            aging: from.number("PRIORITY_AGING_MS", 0, 0..=u64::MAX)? > 0,
            lease,
            ledger: get("SLIPRING_LAB_LEDGER").map(PathBuf::from),
            first_job: from.number("SLIPRING_LAB_FIRST_JOB", 0, 0..=u64::MAX / 2)?,
        })
    }
}

/// Reads one variable after the other.
struct Reader<'a> {
    get: &'a dyn Fn(&str) -> Option<String>,
}

impl Reader<'_> {
    fn number<N>(&self, name: &str, default: N, range: RangeInclusive<N>) -> Result<N>
    where
        N: FromStr + PartialOrd + std::fmt::Display,
    {
        let Some(text) = (self.get)(name) else { return Ok(default) };
        let number = text.trim().parse::<N>().ok().filter(|number| range.contains(number));
        let (least, most) = range.into_inner();
        number.with_context(|| format!("{name} is {text:?}; give a number from {least} to {most}"))
    }

    fn millis(&self, name: &str, default: u64, range: RangeInclusive<u64>) -> Result<Duration> {
        self.number(name, default, range).map(Duration::from_millis)
    }

    /// The value in small letters, which is one of these; the first where the variable is not set.
    /// Words may be joined by `-` or `_`.
    fn one_of(&self, name: &str, words: &[&'static str]) -> Result<&'static str> {
        let first = words.first().copied().unwrap_or_default();
        let Some(text) = (self.get)(name) else { return Ok(first) };
        let plain = |word: &str| word.trim().to_ascii_lowercase().replace('_', "-");
        let found = words.iter().copied().find(|word| plain(word) == plain(&text));
        found.with_context(|| format!("{name} is {text:?}; give {}", words.join(" or ")))
    }

    fn switch(&self, name: &str) -> Result<bool> {
        let word = self.one_of(name, &["0", "false", "no", "off", "1", "true", "yes", "on"])?;
        Ok(matches!(word, "1" | "true" | "yes" | "on"))
    }

    fn offer(&self) -> Result<Offer> {
        let mode = self.one_of("PRODUCER_MODE", &["fixed", "depth-target"])?;
        let depth = self.number("TARGET_DEPTH", 1000, 0..=10_000_000)?;
        // Whatever is not the harness is the adapter itself; the contract gives it no name.
        let pacing = (self.get)("PRODUCER_PACING");
        let harness = pacing.is_none_or(|pacing| pacing.trim().eq_ignore_ascii_case("harness"));
        Ok(match (mode, harness) {
            ("depth-target", _) => Offer::Depth(depth),
            (_, true) => Offer::Harness,
            _ => Offer::OwnPace,
        })
    }

    fn fail_mode(&self) -> Result<FailMode> {
        let words = ["success", "retryable-first", "terminal-always"];
        Ok(match self.one_of("WORKER_FAIL_MODE", &words)? {
            "terminal-always" => FailMode::Always,
            _ => FailMode::FirstAttempt,
        })
    }

    fn priorities(&self) -> Result<Vec<u32>> {
        const NAME: &str = "JOB_PRIORITY_PATTERN";
        let Some(text) = (self.get)(NAME) else { return Ok(vec![PRIORITY_DEFAULT]) };
        let mut priorities = Vec::new();
        for part in text.split(',').filter(|part| !part.trim().is_empty()) {
            let priority = part.trim().parse().ok().filter(|p| (1..=PRIORITY_MAX).contains(p));
            priorities.push(priority.with_context(|| {
                format!("{NAME} is {text:?}; give numbers from 1 to {PRIORITY_MAX} with commas")
            })?);
        }
        match priorities.is_empty() {
            true => bail!("{NAME} is {text:?}; give numbers from 1 to {PRIORITY_MAX} with commas"),
            false => Ok(priorities),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<Environment> {
        let url = ("DATABASE_URL", "postgres://h/db");
        let find = |name: &str| {
            let all = pairs.iter().chain([&url]);
            all.clone().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        };
        Environment::read(&find)
    }

    #[test]
    fn what_is_not_set_is_the_default_of_the_contract() {
        let seen = read(&[("WORKER_COUNT", " ")]).unwrap();
        assert_eq!(seen.offer, Offer::Harness);
        assert_eq!((seen.batch_max, seen.payload_bytes, seen.sample_every_s), (128, 256, 5));
        assert_eq!((seen.instance, seen.queues, seen.workers), (0, 1, 32));
        assert_eq!((seen.work, seen.lease), (Duration::from_millis(1), Duration::from_secs(30)));
        assert_eq!((seen.fail_first_mod, seen.attempts_max, seen.dead_letters), (0, 25, false));
        assert_eq!((seen.priorities.as_slice(), seen.aging), (&[1024][..], false));
        assert_eq!((seen.latency_window_s, seen.ledger, seen.first_job), (30, None, 0));
        assert_eq!(Environment::read(&|_| None).unwrap_err().to_string(), {
            "DATABASE_URL is not set; give the database"
        });
    }

    #[test]
    fn each_variable_is_read() {
        let depth = [("PRODUCER_MODE", "depth-target"), ("TARGET_DEPTH", "77")];
        assert_eq!(read(&depth).unwrap().offer, Offer::Depth(77));
        let own = [("PRODUCER_PACING", "adapter"), ("PRODUCER_RATE", "12.5")];
        let seen = read(&own).unwrap();
        assert_eq!((seen.offer, seen.rate), (Offer::OwnPace, 12.5));
        let seen = read(&[
            ("WORKER_FAIL_MODE", "terminal_always"),
            ("BENCH_DLQ_ENABLED", "TRUE"),
            ("JOB_PRIORITY_PATTERN", "1, 2,3,4"),
            ("PRIORITY_AGING_MS", "60000"),
            ("LEASE_DEADLINE_MS", "0"),
            ("PRODUCER_RATE_CONTROL_FILE", "/tmp/rate"),
            ("LATENCY_WINDOW_MS", "2500"),
            ("SLIPRING_LAB_LEDGER", "/tmp/ledger"),
            ("SLIPRING_LAB_FIRST_JOB", "1099511627776"),
        ]);
        let seen = seen.unwrap();
        assert_eq!((seen.latency_window_s, seen.first_job), (3, 1 << 40));
        assert_eq!(seen.ledger, Some(PathBuf::from("/tmp/ledger")));
        assert_eq!((seen.fail_mode, seen.dead_letters), (FailMode::Always, true));
        assert_eq!((seen.priorities.as_slice(), seen.aging), (&[1, 2, 3, 4][..], true));
        assert_eq!(seen.lease, LEASE_LONGEST);
        assert_eq!(seen.rate_file, Some(PathBuf::from("/tmp/rate")));
    }

    #[test]
    fn a_bad_value_is_refused_by_name_with_the_value_and_the_range() {
        for (name, value, rest) in [
            ("WORKER_COUNT", "0", "give a number from 1 to 10000"),
            ("WORKER_COUNT", "many", "give a number from 1 to 10000"),
            ("PRODUCER_RATE", "-1", "give a number from 0 to 10000000"),
            ("PRODUCER_RATE", "NaN", "give a number from 0 to 10000000"),
            ("SAMPLE_EVERY_S", "0", "give a number from 1 to 3600"),
            ("SAMPLE_EVERY_S", "2.5", "give a number from 1 to 3600"),
            ("LATENCY_WINDOW_MS", "0", "give a number from 1000 to 300000"),
            ("JOB_PAYLOAD_BYTES", "1048577", "give a number from 0 to 1048576"),
            ("PRODUCER_MODE", "burst", "give fixed or depth-target"),
            ("SCENARIO", "cron", "give long_horizon"),
            ("WORKER_FAIL_MODE", "x", "give success or retryable-first or terminal-always"),
            ("JOB_PRIORITY_PATTERN", "1,17", "give numbers from 1 to 16 with commas"),
            ("JOB_PRIORITY_PATTERN", ",", "give numbers from 1 to 16 with commas"),
        ] {
            let error = read(&[(name, value)]).unwrap_err().to_string();
            assert_eq!(error, format!("{name} is {value:?}; {rest}"));
        }
    }
}
