//! A server from its start to its stop: the first line, signals, the exit.

use std::io::Write;
use std::time::Duration;

use slipring_server::{Server, ServerOptions, Stopped};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::Failure;
use crate::{print, service_manager};

/// How often a terminal is told how far a stop is.
const SHOWN_EVERY: Duration = Duration::from_millis(100);

/// Runs a server until SIGTERM or SIGINT. `ready` is the first line on stdout; it is written when
/// every listener is open. SIGUSR1 starts drain mode.
///
/// # Errors
/// Signals that cannot be listened to.
pub async fn run(options: ServerOptions, ready: &str) -> Result<(), Failure> {
    let mut signals = Signals::listen()?;
    let server = Server::start(options);
    tell(ready);
    tracing::info!("{ready}");
    let alive = service_manager::ready(ready);
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
        // Whoever asks a second time does not want to wait.
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
    drain: Signal,
}

impl Signals {
    fn listen() -> Result<Signals, Failure> {
        let listen =
            |kind| signal(kind).map_err(|error| Failure::failed(format!("signals: {error}")));
        Ok(Signals {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
            drain: listen(SignalKind::user_defined1())?,
        })
    }

    async fn next(&mut self) -> Event {
        tokio::select! {
            _ = self.terminate.recv() => Event::Stop("SIGTERM"),
            _ = self.interrupt.recv() => Event::Stop("SIGINT"),
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
