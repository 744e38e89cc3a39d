//! A process of hostile connections. One that is let go comes again a second later.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpSocket, TcpStream};

use super::attack::{Attack, Kind, Listener};

/// So many addresses of the loopback network they come from. The first is that of the good clients.
const SOURCES: usize = 8;
/// Between two drips.
const DRIP_EVERY: Duration = Duration::from_secs(2);
/// One that was let go, or did not get in, comes again so much later.
const AGAIN_AFTER: Duration = Duration::from_secs(1);
/// One that does not read takes so little by itself.
const UNREAD_BYTES: u32 = 4096;
/// Files of a process that are no connections.
const OTHER_FILES: u64 = 100;

/// What such a process is told.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// How the connections misbehave.
    #[arg(long)]
    kind: Kind,
    /// Which protocol is spoken.
    #[arg(long)]
    listener: Listener,
    /// Where the server listens.
    #[arg(long)]
    address: SocketAddr,
    /// How many connections there are.
    #[arg(long)]
    connections: usize,
    /// How long, in seconds.
    #[arg(long)]
    seconds: f64,
}

impl Options {
    /// The arguments that say the same.
    pub fn arguments(
        attack: Attack,
        address: SocketAddr,
        connections: usize,
        length: Duration,
    ) -> Vec<String> {
        use clap::ValueEnum;
        let name = |value: Option<clap::builder::PossibleValue>| {
            value.map_or_else(String::new, |value| value.get_name().to_owned())
        };
        [
            ("--kind", name(attack.kind.to_possible_value())),
            ("--listener", name(attack.listener.to_possible_value())),
            ("--address", address.to_string()),
            ("--connections", connections.to_string()),
            ("--seconds", length.as_secs_f64().to_string()),
        ]
        .into_iter()
        .flat_map(|(flag, value)| [flag.to_owned(), value])
        .collect()
    }
}

/// What became of the connections.
#[derive(Debug, Default, Clone, Copy, Serialize, Deserialize)]
pub struct Seen {
    /// The most that stood at a time.
    pub most: u64,
    /// How many came, those that came again counted again.
    pub came: u64,
    /// How many the server ended.
    pub ended: u64,
    /// How many could not connect.
    pub failed: u64,
}

impl Seen {
    /// Both together.
    #[must_use]
    pub fn and(self, other: Seen) -> Seen {
        Seen {
            most: self.most + other.most,
            came: self.came + other.came,
            ended: self.ended + other.ended,
            failed: self.failed + other.failed,
        }
    }
}

#[derive(Default)]
struct Counts {
    most: AtomicU64,
    came: AtomicU64,
    ended: AtomicU64,
    failed: AtomicU64,
}

impl Counts {
    fn seen(&self) -> Seen {
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let [most, came, ended, failed] =
            [&self.most, &self.came, &self.ended, &self.failed].map(get);
        Seen { most, came, ended, failed }
    }

    fn comes(&self) {
        let standing =
            self.came.fetch_add(1, Ordering::Relaxed) + 1 - self.ended.load(Ordering::Relaxed);
        self.most.fetch_max(standing, Ordering::Relaxed);
    }
}

/// How many connections one process may have. The limit of open files is raised to what is allowed.
///
/// # Errors
/// When the limit is not known, or leaves no room.
pub fn connections_max() -> Result<usize> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).context("the limit of open files")?;
    if soft < hard {
        setrlimit(Resource::RLIMIT_NOFILE, hard, hard)
            .context("raising the limit of open files")?;
    }
    match usize::try_from(hard.saturating_sub(OTHER_FILES)) {
        Ok(most) if most > 0 => Ok(most),
        _ => {
            bail!("{hard} open files are allowed; raise the limit (ulimit -n) above {OTHER_FILES}")
        }
    }
}

/// Holds the connections for as long as it is told, and prints what became of them.
///
/// # Errors
/// When the process may not have so many.
pub fn run(options: &Options) -> Result<()> {
    let most = connections_max()?;
    if options.connections > most {
        bail!(
            "{} connections are more than the {most} that one process may have",
            options.connections
        );
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let attack = Attack { kind: options.kind, listener: options.listener };
    let counts = Arc::new(Counts::default());
    runtime.block_on(async {
        for connection in 0..options.connections {
            let counts = Arc::clone(&counts);
            tokio::spawn(comes_again(attack, options.address, connection, counts));
        }
        tokio::time::sleep(Duration::from_secs_f64(options.seconds)).await;
    });
    println!("{}", serde_json::to_string(&counts.seen())?);
    // All connections end with the process.
    runtime.shutdown_background();
    Ok(())
}

async fn comes_again(attack: Attack, address: SocketAddr, number: usize, counts: Arc<Counts>) {
    let opening = attack.opening(std::process::id(), number);
    let source = Ipv4Addr::new(127, 0, 0, u8::try_from(number % SOURCES + 1).unwrap_or(1));
    loop {
        match connect(attack, source, address).await {
            Ok(stream) => {
                counts.comes();
                // Whatever it ends by, it is over.
                let _ = misbehave(attack, stream, &opening).await;
                counts.ended.fetch_add(1, Ordering::Relaxed);
            }
            Err(_) => {
                counts.failed.fetch_add(1, Ordering::Relaxed);
            }
        }
        tokio::time::sleep(AGAIN_AFTER).await;
    }
}

async fn connect(attack: Attack, source: Ipv4Addr, to: SocketAddr) -> std::io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    if !attack.reads() {
        socket.set_recv_buffer_size(UNREAD_BYTES)?;
    }
    socket.bind(SocketAddr::from((source, 0)))?;
    socket.connect(to).await
}

/// Returns when the connection has ended.
async fn misbehave(attack: Attack, mut stream: TcpStream, opening: &[u8]) -> std::io::Result<()> {
    let (reading, mut writing) = stream.split();
    let writes = async {
        writing.write_all(opening).await?;
        while !attack.drip().is_empty() {
            tokio::time::sleep(DRIP_EVERY).await;
            writing.write_all(attack.drip()).await?;
        }
        std::future::pending().await
    };
    let reads = async {
        if !attack.reads() {
            return std::future::pending().await;
        }
        loop {
            reading.readable().await?;
            // Not kept while it waits: ten thousand do.
            let mut some = [0; 4096];
            match reading.try_read(&mut some) {
                Ok(0) => return Ok(()),
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    };
    tokio::select! {
        ended = writes => ended,
        ended = reads => ended,
    }
}
