//! A server from its start to its stop: the first line, signals, the exit.

use std::io::Write;
use std::pin::pin;
use std::time::Duration;

use slipring_server::{Server, ServerOptions, Stopped};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::Failure;
use crate::{print, service_manager};

/// How often a terminal is told how far a stop is.
const SHOWN_EVERY: Duration = Duration::from_millis(100);

/// Makes a server ready and runs it until SIGTERM, SIGINT or SIGHUP. `start` answers what it is
/// started with and the first line on stdout, which is written when every listener is open.
/// SIGUSR1 starts drain mode. One that is told to stop before it is ready is never started.
///
/// # Errors
/// Signals that cannot be listened to; those of `start`.
pub async fn run(
    start: impl Future<Output = Result<(ServerOptions, String), Failure>>,
) -> Result<(), Failure> {
    let mut signals = Signals::listen()?;
    let mut drain = false;
    let mut start = pin!(start);
    let (options, ready) = loop {
        tokio::select! {
            started = &mut start => break started?,
            event = signals.next() => match event {
                Event::Drain => drain = true,
                Event::Stop(name) => {
                    tracing::info!("{name}: stopped before it was ready");
                    return Ok(());
                }
            },
        }
    };
    let server = Server::start(options);
    if drain {
        server.drain();
    }
    tell(&ready);
    tracing::info!("{ready}");
    let alive = service_manager::ready(&ready);
    let name = loop {
        match signals.next().await {
            Event::Drain => server.drain(),
            Event::Stop(name) => break name,
        }
    };
    drop(alive);
    service_manager::stopping();
    let connections = server.connections();
    tracing::info!(connections, "{name}: stopping; connections finish what is in hand");
    tokio::select! {
        stopped = server.stop() => match stopped {
            Stopped::Clean => tracing::info!("stopped; the store is closed"),
            Stopped::OutOfTime => tracing::warn!("stopped before everything was finished"),
        },
        // A second signal ends the wait.
        name = signals.stop() => tracing::warn!("{name} again: stopped at once"),
        () = show_what_is_left(&server) => {}
    }
    Ok(())
}

/// Shows on a terminal how many connections are left; never ends.
async fn show_what_is_left(server: &Server) {
    let bar = print::progress("stopping:", "connections left");
    loop {
        bar.set_position(server.connections());
        tokio::time::sleep(SHOWN_EVERY).await;
    }
}

/// Writes the first line. Nobody may be reading, which is no reason not to serve.
fn tell(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

enum Event {
    Drain,
    Stop(&'static str),
}

struct Signals {
    terminate: Signal,
    interrupt: Signal,
    /// None where it was ignored when the process began, as `nohup` has it.
    hang_up: Option<Signal>,
    drain: Signal,
}

impl Signals {
    fn listen() -> Result<Signals, Failure> {
        let listen =
            |kind| signal(kind).map_err(|error| Failure::failed(format!("signals: {error}")));
        Ok(Signals {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
            hang_up: match is_hang_up_ignored() {
                true => None,
                false => Some(listen(SignalKind::hangup())?),
            },
            drain: listen(SignalKind::user_defined1())?,
        })
    }

    async fn next(&mut self) -> Event {
        tokio::select! {
            _ = self.terminate.recv() => Event::Stop("SIGTERM"),
            _ = self.interrupt.recv() => Event::Stop("SIGINT"),
            _ = hung_up(&mut self.hang_up) => Event::Stop("SIGHUP"),
            _ = self.drain.recv() => Event::Drain,
        }
    }

    async fn stop(&mut self) -> &'static str {
        loop {
            if let Event::Stop(name) = self.next().await {
                return name;
            }
        }
    }
}

/// Ends with the signal; never where it is not listened to.
async fn hung_up(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

/// Whether this process was started with SIGHUP ignored, as by nohup. A handler would replace that.
fn is_hang_up_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // Signals count from 1, and SIGHUP is the first.
    ignored.is_some_and(|mask| mask & 1 == 1)
}
