//! Workloads, named by the shape of their traffic. Each checks what came back, and each has a
//! smoke size. One workload runs in one process, so that memory and time are its own.

mod backlog;
mod beside;
pub mod closed_loop;
mod connection_end_beside;
mod consumers;
mod cycle;
mod neighbours;
mod open_loop;
mod paced;
mod ping_pong;
mod poison;
mod prober;
mod purge_beside;
mod queue_costs;
mod queues;
mod retention_beside;
mod send;
mod settings;
mod several;
mod storm;
mod stream;
mod transactions;
mod waiters;
mod wake;

use std::path::Path;

use anyhow::{Context, Result};

use crate::driver::protocol::Window;
use crate::targets::Target;
use crate::targets::postgres::Sql;

pub use crate::driver::protocol::Answer;
pub use paced::Gaps;
pub use prober::wait_until;
pub use purge_beside::forget;
pub use settings::{Settings, Work};
pub use storm::send_storm;

/// What happens with each window of a work that has windows.
pub type Tell<'a> = &'a (dyn Fn(Window) -> Result<()> + Sync);

/// A folder that is removed with its data, inside [`crate::folder::data`].
///
/// # Errors
/// When it cannot be made.
pub fn temporary_folder() -> Result<tempfile::TempDir> {
    tempfile::TempDir::with_prefix_in("run-", crate::folder::data()?)
        .context("making a temporary folder")
}

/// Runs a workload on a target that has started, and may go on after it.
///
/// # Errors
/// When the target fails, or an answer is not as it must be.
pub async fn drive<T: Target>(
    settings: &Settings,
    target: &T,
    folder: &Path,
    tell: Tell<'_>,
) -> Result<Answer> {
    match settings.work {
        Work::Send => send::run(settings, target).await,
        // Where one receiver serves many senders, callers cannot cycle by themselves.
        Work::Cycle if target.receivers(settings.callers) == settings.callers => {
            cycle::run(settings, target).await
        }
        Work::Cycle => stream::run(settings, target).await,
        Work::Backlog => backlog::run(settings, target, folder).await,
        Work::Waiters => waiters::run(settings, target).await,
        Work::PingPong => ping_pong::run(settings, target).await,
        Work::Neighbours => neighbours::run(settings, target).await,
        Work::Several => several::run(settings, target).await,
        Work::OpenLoop => open_loop::run(settings, target).await,
        Work::Storm => storm::run(settings, target).await,
        Work::PurgeBeside => purge_beside::run(settings, target, folder).await,
        Work::ConnectionEndBeside => connection_end_beside::run(settings, target).await,
        Work::RetentionBeside => retention_beside::run(settings, target).await,
        Work::Poison => poison::run(settings, target).await,
        Work::Paced | Work::Failing | Work::Deferred => paced::run(settings, target, tell).await,
        Work::Transactions | Work::Business => transactions::run(settings).await,
        Work::Consumers
        | Work::ConsumersPop
        | Work::ConsumersBesideIdle
        | Work::ConsumersBesideIdleElsewhere => consumers::run(settings, target).await,
        Work::Wake => wake::run(settings, target, target).await,
        Work::WakeBySql => {
            let sql = Sql::start(settings, folder).await?;
            let woken = wake::run(settings, target, &sql).await;
            sql.stop().await?;
            woken
        }
        Work::Commits => wake::commits(settings, target).await,
        Work::MakeQueues => queues::make(settings, target).await,
        Work::Queues => queues::run(settings, target).await,
        Work::Idle => queues::idle(settings, target).await,
        Work::QueueCosts => queue_costs::run(settings, folder).await,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use clap::ValueEnum;

    use super::*;
    use crate::targets::{Kind, Store};

    /// Works of users of SQL, and those in which nothing is received.
    fn is_special(work: Work) -> bool {
        let sql = [Work::Transactions, Work::Business, Work::WakeBySql, Work::Consumers];
        let costs = [Work::QueueCosts, Work::ConsumersPop];
        let beside = [Work::ConsumersBesideIdle, Work::ConsumersBesideIdleElsewhere];
        let nothing = [Work::Commits, Work::MakeQueues, Work::Idle];
        sql.contains(&work)
            || costs.contains(&work)
            || beside.contains(&work)
            || nothing.contains(&work)
    }

    fn tiny(work: Work) -> Settings {
        let mut settings = Settings::new(work, Kind::Memory);
        (settings.callers, settings.batch, settings.queues) = (3, 5, 2);
        (settings.seconds, settings.warmup, settings.messages) = (0.1, 0.01, 100);
        settings.drain = true;
        settings
    }

    async fn run(settings: &Settings, tell: Tell<'_>) -> Result<Answer> {
        let folder = tempfile::tempdir()?;
        let target = Store::start(settings, folder.path()).await?;
        drive(settings, &target, folder.path(), tell).await
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn every_work_ends_with_a_checked_result_on_the_in_memory_store() {
        for work in Work::value_variants().iter().filter(|work| !is_special(**work)) {
            let found = run(&tiny(*work), &|_| Ok(())).await.unwrap();
            assert!(found.checks.sent > 0, "{work:?}: {found:?}");
            assert_eq!(found.checks.sent, found.checks.received, "{work:?}: {found:?}");
            assert_eq!(found.wrong(), None);
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_fixed_rate_tells_its_windows_with_their_longest_stall() {
        let told = Mutex::new(Vec::new());
        let settings = Settings { windows: 2, rate: 1000.0, ..tiny(Work::Paced) };
        let tell = |window| {
            told.lock().unwrap().push(window);
            Ok(())
        };
        let found = run(&settings, &tell).await.unwrap();
        let windows = told.into_inner().unwrap();
        assert_eq!(windows.len(), 2);
        assert_eq!(windows.iter().map(|window| window.received).sum::<u64>(), found.messages);
        for window in windows {
            let stall_ms = window.stall_max_ms.unwrap();
            assert!(stall_ms > 0.0 && stall_ms < 60_000.0, "{window:?}");
        }
    }
}
