//! What a run of a workload is told: the line of JSON that a driver gets, and the arguments of
//! `workload`.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};

use crate::body::BODY_BYTES;
use crate::targets::Kind;
use crate::targets::postgres::URL_VARIABLE;

/// What kind of traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum Work {
    /// Callers send as fast as they can.
    Send,
    /// Callers send, receive and ack as fast as they can.
    Cycle,
    /// A queue is filled, then cycled.
    Backlog,
    /// Many receives wait on many queues, then single messages wake them.
    Waiters,
    /// Pairs hand one message back and forth over two queues.
    PingPong,
    /// A slow prober on a quiet queue, alone and beside a busy queue.
    Neighbours,
    /// Callers receive from several queues, of which one is full and then all have some.
    Several,
    /// Messages sent on a schedule that does not wait for answers.
    OpenLoop,
    /// Very many delays that end at once in one queue, beside two others.
    Storm,
    /// A slow prober on a quiet queue, alone and beside a purge of large messages.
    PurgeBeside,
    /// A slow prober on a quiet queue, alone and beside the end of a connection that holds very
    /// many messages.
    ConnectionEndBeside,
    /// A slow prober on a quiet queue, alone and beside large messages that grow too old.
    RetentionBeside,
    /// Messages that always fail, given back at once, among good ones.
    Poison,
    /// A fixed rate, in windows.
    Paced,
    /// As `paced`, but one batch in ten fails and comes again a little later.
    Failing,
    /// As `paced`, but one batch in four is sent with a delay, and of those received one in three
    /// fails and comes again a little later: half of the messages are delayed at least once.
    Deferred,
    /// Single sends by SQL, each in a transaction of its own of a user.
    Transactions,
    /// As before, each transaction also writing a row of the user's.
    Business,
    /// Consumers by SQL: receive and ack in one transaction, from a queue that was filled.
    Consumers,
    /// As before, but the messages are taken out by one call that receives and acks (pgmq's pop).
    ConsumersPop,
    /// As `consumers`, beside one that stays in its transaction with messages of the same queue.
    ConsumersBesideIdle,
    /// As before, but the messages of the idle consumer are another queue's.
    ConsumersBesideIdleElsewhere,
    /// Single messages now and then wake a receive that waits.
    Wake,
    /// As before, but the message is sent by SQL.
    WakeBySql,
    /// Messages sent with the same pauses, and none is received.
    Commits,
    /// Makes many queues; what follows works on some of them.
    MakeQueues,
    /// Cycles on a few queues, a caller each.
    Queues,
    /// A waiting receive on each of a few queues, and nothing happens.
    Idle,
    /// What one more queue costs: to create it, in the memory of a session, in a dump.
    QueueCosts,
}

/// One run of one workload on one target.
#[derive(Debug, Clone, Serialize, Deserialize, clap::Args)]
pub struct Settings {
    /// The shape of the traffic.
    #[arg(value_enum)]
    pub work: Work,
    /// What is driven.
    #[arg(long, value_enum, default_value = "store")]
    pub target: Kind,
    /// How many callers (waiters, pairs, busy neighbours) at a time.
    #[arg(long, default_value_t = 4)]
    pub callers: usize,
    /// Messages in one call; by the beanstalkd protocol, commands in flight.
    #[arg(long, default_value_t = 1000)]
    pub batch: usize,
    /// Measured seconds (of each phase, of each window).
    #[arg(long, default_value_t = 2.0)]
    pub seconds: f64,
    /// Seconds before, not measured.
    #[arg(long, default_value_t = 0.5)]
    pub warmup: f64,
    /// `paced`, `failing`, `deferred`: how many windows.
    #[arg(long, default_value_t = 1)]
    #[serde(default)]
    pub windows: usize,
    /// Bytes of each body, from 100 on; only for an engine in this process.
    #[arg(long, default_value_t = BODY_BYTES)]
    #[serde(default = "plain_body")]
    pub body: usize,
    /// `backlog`, `several`, `poison`, `consumers` and those `beside` something: messages to fill
    /// the queue with; `storm`: delays that end at once.
    #[arg(long, default_value_t = 100_000)]
    pub messages: u64,
    /// `poison`: messages that always fail.
    #[arg(long, default_value_t = 1)]
    #[serde(default)]
    pub poisons: usize,
    /// `waiters`: queues they wait on; `neighbours`: busy queues; `several`: queues each caller
    /// receives from; `make_queues`: queues there are; `queue_costs`: queues to create.
    #[arg(long, default_value_t = 10)]
    pub queues: usize,
    /// Messages per second of `open_loop`, `paced`, `failing` and `deferred`, and of the slow
    /// senders of `waiters`, `neighbours` and `storm`.
    #[arg(long, default_value_t = 100.0)]
    pub rate: f64,
    /// Idle queues that are in the database before those of the work.
    #[arg(skip)]
    #[serde(default)]
    pub others: usize,
    /// A flush takes at least so many microseconds; 0 for the disk as it is. For a run by hand the
    /// library that does it must be preloaded; the error says how.
    #[arg(long, default_value_t = 0)]
    #[serde(default)]
    pub flush_us: u64,
    /// Receive everything at the end and check that nothing is missing.
    #[arg(long)]
    pub drain: bool,
    /// Folder for the data, kept; otherwise a temporary one, removed.
    #[arg(long)]
    pub folder: Option<PathBuf>,
    /// The database of a target inside PostgreSQL; no other run uses it, and this one leaves its
    /// tables there.
    #[arg(long, env = URL_VARIABLE)]
    #[serde(default, skip_serializing)]
    pub postgres: Option<String>,
}

impl Settings {
    /// A run with the defaults of the command line.
    pub fn new(work: Work, target: Kind) -> Settings {
        Settings {
            work,
            target,
            callers: 4,
            batch: 1000,
            seconds: 2.0,
            warmup: 0.5,
            windows: 1,
            body: BODY_BYTES,
            messages: 100_000,
            poisons: 1,
            queues: 10,
            rate: 100.0,
            others: 0,
            flush_us: 0,
            drain: false,
            folder: None,
            postgres: None,
        }
    }
    /// Checks that they make sense.
    ///
    /// # Errors
    /// When they do not; the error names the value.
    pub fn check(&self) -> Result<()> {
        if self.callers == 0 || self.batch == 0 || self.queues == 0 {
            bail!("callers, batch and queues are at least 1");
        }
        let in_process = matches!(self.target, Kind::Store | Kind::Memory);
        if self.body < BODY_BYTES || (self.body > BODY_BYTES && !in_process) {
            bail!("a body has {BODY_BYTES} bytes, or more for an engine in this process");
        }
        if self.others > 0 && !(self.target.is_ours() && self.target.in_postgres()) {
            bail!("only ours inside PostgreSQL is run beside other queues");
        }
        if !self.rate.is_finite() || self.rate <= 0.0 {
            bail!("the rate is a number above 0, not {}", self.rate);
        }
        for (name, seconds) in [("seconds", self.seconds), ("warmup", self.warmup)] {
            if !seconds.is_finite() || !(0.0..=SECONDS_MAX).contains(&seconds) {
                bail!("{name} is from 0 to {SECONDS_MAX}, not {seconds}");
            }
        }
        Ok(())
    }

    /// The time before the measured time.
    pub fn warmup(&self) -> Duration {
        Duration::from_secs_f64(self.warmup)
    }

    /// The measured time, of each phase or window.
    pub fn measured(&self) -> Duration {
        Duration::from_secs_f64(self.seconds)
    }
}

/// The longest of each phase: a day.
const SECONDS_MAX: f64 = 86_400.0;

/// What runs of older reports had.
fn plain_body() -> usize {
    BODY_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_make_no_sense_are_refused() {
        let plain = Settings::new(Work::Send, Kind::Memory);
        let refused = |settings: Settings| settings.check().unwrap_err().to_string();
        assert!(refused(Settings { callers: 0, ..plain.clone() }).contains("at least 1"));
        assert!(refused(Settings { rate: 0.0, ..plain.clone() }).contains("rate"));
        assert!(refused(Settings { seconds: f64::NAN, ..plain.clone() }).contains("seconds"));
        assert!(refused(Settings { others: 1, ..plain.clone() }).contains("other queues"));
        let other = Settings { body: 2000, target: Kind::Sql, ..plain.clone() };
        assert!(refused(other).contains("100 bytes"));
        plain.check().unwrap();
    }
}
