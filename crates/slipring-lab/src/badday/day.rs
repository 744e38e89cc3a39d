//! What a bad day is: who misbehaves, what the others may feel of it, and what is asked besides.

use anyhow::Result;

use super::stage::Stage;
use crate::run::condition::Condition;
use crate::targets::Kind;

/// What is said of a day before it is run.
#[derive(Debug, Clone, Copy)]
pub struct About {
    /// Its name on the command line.
    pub name: &'static str,
    /// What happens, in one line.
    pub what: &'static str,
    /// What is driven, ours first; each has its turn.
    pub contenders: &'static [Kind],
    /// The others' longest stall in the fault phase, in milliseconds, is at most this; infinite
    /// where it is not judged.
    pub stall_ms_max: f64,
    /// The others are as before within so many seconds after the fault.
    pub recovery_s_max: f64,
    /// What the others do on each of their queues: sends in a second, and messages in a send.
    pub load: (f64, usize),
}

/// The servers of the beanstalkd wire: ours, and the original with as durable a log.
pub const TUBES: &[Kind] = &[Kind::SlipringBeanstalkd, Kind::Beanstalkd];
/// As [`TUBES`], but the original flushes every 50 ms, as it does by itself: very many messages
/// that are flushed one by one would take it hours.
pub const TUBES_LATE: &[Kind] = &[Kind::SlipringBeanstalkd, Kind::BeanstalkdLate];
/// Fifty single messages a second.
pub const SINGLE: (f64, usize) = (50.0, 1);

/// A day. Each contender has a new one.
pub trait Day: Default {
    /// What it is.
    const ABOUT: About;

    /// What is there before the calm phase: queues that are full, processes that wait.
    ///
    /// # Errors
    /// When the target fails.
    async fn prepare(&mut self, _stage: &mut Stage<'_>) -> Result<()> {
        Ok(())
    }

    /// The fault. It may return at once and let the trouble go on, or when it has happened; the
    /// fault phase has its length in any case.
    ///
    /// # Errors
    /// When it cannot be made.
    async fn strike(&mut self, stage: &mut Stage<'_>) -> Result<()>;

    /// The end of the fault; the recovery begins when this returns.
    ///
    /// # Errors
    /// When it cannot be ended.
    async fn relent(&mut self, _stage: &mut Stage<'_>) -> Result<()> {
        Ok(())
    }

    /// What is asked besides, after the recovery.
    ///
    /// # Errors
    /// When it cannot be looked at.
    async fn check(&mut self, _stage: &mut Stage<'_>) -> Result<Vec<Condition>> {
        Ok(Vec::new())
    }
}
