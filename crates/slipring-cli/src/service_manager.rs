//! What systemd is told of a server that it started with `Type=notify`: that it is ready, that it
//! stops, and that it is alive. Without such a service manager nothing is said.

use std::time::Duration;

use sd_notify::NotifyState;

/// Tells that every listener is open, and `status` as the line that `systemctl status` shows. From
/// then on, where a watchdog is set (`WatchdogSec=`), says twice in each of its times that the
/// server is alive; it needs a tokio runtime. Dropping the answer ends that.
///
/// The words come from the threads that serve: where these are stuck, none comes, and the service
/// manager starts the server again. A store that refuses is no reason: a start would not help, and
/// `/readyz` says it.
pub fn ready(status: &str) -> Alive {
    tell(&[NotifyState::Ready, NotifyState::Status(status)]);
    let task = sd_notify::watchdog_enabled().map(|within| tokio::spawn(keep_telling(within / 2)));
    Alive(task)
}

/// Tells that the server stops.
pub fn stopping() {
    tell(&[NotifyState::Stopping]);
}

/// The words of a server that is alive.
#[derive(Debug)]
pub struct Alive(Option<tokio::task::JoinHandle<()>>);

impl Drop for Alive {
    fn drop(&mut self) {
        if let Some(task) = self.0.take() {
            task.abort();
        }
    }
}

async fn keep_telling(every: Duration) {
    let mut times = tokio::time::interval(every.max(Duration::from_millis(1)));
    loop {
        times.tick().await;
        tell(&[NotifyState::Watchdog]);
    }
}

fn tell(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::debug!("the service manager could not be told: {error}");
    }
}
