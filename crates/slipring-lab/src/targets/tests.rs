//! Each server of another class, where its program is installed: started, driven, and gone.

use std::path::Path;
use std::time::Duration;

use super::*;
use crate::driver::protocol::Answer;
use crate::peers::Peer;
use crate::workloads::{self, Work};

fn settings(work: Work, kind: Kind, callers: usize, batch: usize) -> Settings {
    let (seconds, warmup) = (0.3, 0.05);
    Settings { callers, batch, seconds, warmup, drain: true, ..Settings::new(work, kind) }
}

async fn driven<T: Target>(target: &T, settings: &Settings, folder: &Path) -> Answer {
    let answer = workloads::drive(settings, target, folder, &|_| Ok(())).await.unwrap();
    assert!(answer.checks.sent > 0, "{settings:?}: {answer:?}");
    assert_eq!(answer.checks.sent, answer.checks.received, "{settings:?}");
    assert_eq!(answer.wrong(), None);
    answer
}

/// The works that the table has, on one server; a receive from an empty queue ends; what is acked
/// is gone.
async fn works<T: Target>(kind: Kind) {
    let folder = tempfile::tempdir().unwrap();
    let target = T::start(&Settings::new(Work::Cycle, kind), folder.path()).await.unwrap();
    driven(&target, &settings(Work::Send, kind, 2, 50), folder.path()).await;
    driven(&target, &settings(Work::Cycle, kind, 3, 20), folder.path()).await;
    driven(&target, &settings(Work::Cycle, kind, 5, 1), folder.path()).await;
    driven(&target, &settings(Work::PingPong, kind, 1, 1), folder.path()).await;

    let mut caller = target.caller("cycle").await.unwrap();
    let mut never = |_: &[u8]| -> Result<()> { anyhow::bail!("a message in an empty queue") };
    assert_eq!(caller.receive(10, Duration::from_secs(1), &mut never).await.unwrap(), 0);
    caller.ack().await.unwrap();
    assert_eq!(caller.count().await.unwrap(), Some(0));
    assert!(target.usage().unwrap().is_some_and(|usage| usage.resident_bytes > 0));
    drop(caller);
    target.stop().await.unwrap();
}

/// Whether the peer can be driven here; says so where it is not installed.
fn there(peer: Peer, installed: bool) -> bool {
    if !installed {
        eprintln!("{} is not installed: its test is left out", peer.name());
    }
    installed
}

#[tokio::test]
async fn redis_does_the_works_of_the_table() {
    if there(Peer::Redis, redis::version().is_ok()) {
        works::<Redis>(Kind::Redis).await;
    }
}

#[tokio::test]
async fn nats_does_the_works_of_the_table() {
    let go = std::process::Command::new("go").arg("version").output();
    if there(Peer::Nats, go.is_ok_and(|output| output.status.success())) {
        Peer::Nats.prepare(None).await.unwrap();
        works::<Nats>(Kind::Nats).await;
    }
}

#[tokio::test]
async fn rabbitmq_does_the_works_of_the_table() {
    if there(Peer::RabbitMq, rabbitmq::version().is_ok()) {
        works::<RabbitMq>(Kind::RabbitMq).await;
    }
}
