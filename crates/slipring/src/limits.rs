//! Every limit with its default, and the checks against them (S12).

use std::time::Duration;

use crate::error::{Error, ErrorKind};
use crate::message::NewMessage;
use crate::queue::{Backoff, QueueSettings};

/// The limits of an engine. All inclusive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Most messages in one batch. Default 10,000.
    pub batch_messages_max: usize,
    /// Most bytes in one batch. Default 64 MiB.
    pub batch_bytes_max: u64,
    /// Most messages one receive may ask for. Default 10,000.
    pub receive_messages_max: u32,
    /// Largest message any queue may allow. Default 999,000,000, what SQLite can hold in a row.
    pub message_bytes_max: u64,
    /// Longest group name in bytes. Default 128.
    pub group_bytes_max: usize,
    /// Longest deduplication id in bytes. Default 128.
    pub dedup_id_bytes_max: usize,
    /// Most headers of a message. Default 64.
    pub headers_max: usize,
    /// Longest delay, visibility timeout, retention and window. Default 2³² s, the most
    /// beanstalkd can name.
    pub duration_max: Duration,
    /// Longest wait of a receive that has an end. Default 2³² s.
    pub wait_max: Duration,
    /// Most bytes of attributes a queue may keep. Default 256 KiB.
    pub queue_attribute_bytes_max: usize,
    /// Most queues in a store. Default 100,000.
    pub queues_max: usize,
    /// Most callers' requests that wait in one combiner, at least 1; further callers wait to get
    /// in. Default 65,536.
    pub combiner_requests_max: usize,
    /// Most bytes that wait in one combiner. Default 64 MiB.
    pub combiner_bytes_max: u64,
    /// Most receives that may wait on one queue; further ones are refused. Default 100,000.
    pub waiters_max: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            batch_messages_max: 10_000,
            batch_bytes_max: 64 << 20,
            receive_messages_max: 10_000,
            message_bytes_max: 999_000_000,
            group_bytes_max: 128,
            dedup_id_bytes_max: 128,
            headers_max: 64,
            duration_max: Duration::from_secs(1 << 32),
            wait_max: Duration::from_secs(1 << 32),
            queue_attribute_bytes_max: 256 << 10,
            queues_max: 100_000,
            combiner_requests_max: 65_536,
            combiner_bytes_max: 64 << 20,
            waiters_max: 100_000,
        }
    }
}

impl Limits {
    /// Checks one message against these limits and its queue's settings.
    ///
    /// # Errors
    /// `LimitExceeded` naming limit, value and what was asked.
    pub fn check_message(
        &self,
        message: &NewMessage,
        settings: &QueueSettings,
    ) -> Result<(), Error> {
        let size = message.size_bytes();
        check("message_bytes_max", settings.message_bytes_max.min(self.message_bytes_max), size)?;
        if let Some(group) = &message.group {
            check("group_bytes_max", self.group_bytes_max as u64, group.len() as u64)?;
        }
        if let Some(id) = &message.dedup_id {
            check("dedup_id_bytes_max", self.dedup_id_bytes_max as u64, id.len() as u64)?;
        }
        if let Some(headers) = &message.headers {
            check("headers_max", self.headers_max as u64, headers.len() as u64)?;
        }
        for duration in [message.delay, message.lease].into_iter().flatten() {
            self.check_duration("duration_seconds_max", duration)?;
        }
        Ok(())
    }

    /// Checks a batch as a whole: not too many, not too large.
    ///
    /// # Errors
    /// `LimitExceeded`, for a bad message with its index.
    pub fn check_batch(
        &self,
        messages: &[NewMessage],
        settings: &QueueSettings,
    ) -> Result<(), Error> {
        check("batch_messages_max", self.batch_messages_max as u64, messages.len() as u64)?;
        let mut bytes = 0;
        for (index, message) in messages.iter().enumerate() {
            self.check_message(message, settings).map_err(|e| e.with("index", index))?;
            bytes += message.size_bytes();
        }
        check("batch_bytes_max", self.batch_bytes_max, bytes)
    }

    /// Checks the ranges of a queue's settings.
    ///
    /// # Errors
    /// `LimitExceeded` or `Invalid` naming the setting.
    pub fn check_settings(&self, settings: &QueueSettings) -> Result<(), Error> {
        for (name, duration) in [
            ("visibility_timeout", Some(settings.visibility_timeout)),
            ("delay", Some(settings.delay)),
            ("retention", settings.retention),
            ("dedup_window", Some(settings.dedup_window)),
        ] {
            if let Some(duration) = duration {
                self.check_duration("duration_seconds_max", duration)
                    .map_err(|e| e.with("setting", name))?;
            }
        }
        if let Backoff::Exponential { base, max } = settings.backoff {
            if base > max {
                return Err(invalid("backoff.base_ms is larger than backoff.max_ms"));
            }
            self.check_duration("duration_seconds_max", max)?;
        }
        if let Backoff::Fixed { delay } = settings.backoff {
            self.check_duration("duration_seconds_max", delay)?;
        }
        if settings.max_attempts.is_some_and(|n| n == 0 || n > 1_000_000) {
            return Err(invalid("max_attempts must be 1 to 1,000,000, or absent for no end"));
        }
        if settings.message_bytes_max == 0 || settings.in_flight_max == 0 {
            return Err(invalid("message_bytes_max and in_flight_max must be at least 1"));
        }
        check("message_bytes_max", self.message_bytes_max, settings.message_bytes_max)?;
        let bytes: usize = settings.attributes.iter().map(|(k, v)| k.len() + v.len()).sum();
        check("queue_attribute_bytes_max", self.queue_attribute_bytes_max as u64, bytes as u64)
    }

    /// Checks a duration given by a caller.
    ///
    /// # Errors
    /// `LimitExceeded` when it is longer than `duration_max`.
    pub fn check_duration(&self, limit: &'static str, duration: Duration) -> Result<(), Error> {
        check_seconds(limit, self.duration_max, duration)
    }

    /// Checks the wait of a receive.
    ///
    /// # Errors
    /// `LimitExceeded` when it is longer than `wait_max`.
    pub fn check_wait(&self, wait: Duration) -> Result<(), Error> {
        check_seconds("wait_seconds_max", self.wait_max, wait)
    }
}

fn check_seconds(limit: &'static str, most: Duration, asked: Duration) -> Result<(), Error> {
    if asked > most {
        return Err(Error::limit(limit, most.as_secs(), asked.as_secs()));
    }
    Ok(())
}

fn check(limit: &'static str, limit_value: u64, asked: u64) -> Result<(), Error> {
    if asked > limit_value { Err(Error::limit(limit, limit_value, asked)) } else { Ok(()) }
}

fn invalid(why: &str) -> Error {
    Error::new(ErrorKind::Invalid, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn group_and_deduplication_id_have_limits_of_their_own_names() {
        // S12.2
        let long = "x".repeat(129);
        for (message, limit) in [
            (NewMessage::new("a").group(long.clone()), "group_bytes_max"),
            (NewMessage::new("a").dedup_id(long), "dedup_id_bytes_max"),
        ] {
            let error = Limits::default().check_message(&message, &QueueSettings::default());
            let error = error.expect_err(limit);
            assert!(error.context().contains(&("limit", limit.to_owned())), "{error}");
        }
    }
}
