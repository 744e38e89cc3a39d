//! Whether an address leads straight to a server. Statements may be kept on a connection only if
//! it is one session to its end: behind a pooler that hands out sessions by the transaction, a
//! name may be missing, or stand for a statement of somebody else.

use std::time::Duration;

use tokio::net::TcpStream;
use tokio_postgres::Config;
use tokio_postgres::config::Host;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::queries;

/// A pooler's own connection has the port of ours by chance once in some ten thousand times.
const LOOKS: usize = 2;

/// Whether the server sees the very ports that connections to the address are made from. False
/// also where that cannot be told: of several hosts, sockets of the file system, addresses that
/// are translated on the way, and servers that do not answer within `timeout`.
pub(crate) async fn leads_straight(
    config: &Config,
    connector: &MakeRustlsConnect,
    timeout: Duration,
) -> bool {
    for _ in 0..LOOKS {
        let look = tokio::time::timeout(timeout, seen_as_made(config, connector.clone()));
        if !matches!(look.await, Ok(Some(true))) {
            return false;
        }
    }
    true
}

async fn seen_as_made(config: &Config, mut connector: MakeRustlsConnect) -> Option<bool> {
    let ([Host::Tcp(host)], []) = (config.get_hosts(), config.get_hostaddrs()) else {
        return None;
    };
    let port = config.get_ports().first().copied().unwrap_or(5432);
    let stream = TcpStream::connect((host.as_str(), port)).await.ok()?;
    let made = stream.local_addr().ok()?.port();
    let tls = MakeTlsConnect::<TcpStream>::make_tls_connect(&mut connector, host).ok()?;
    let (client, connection) = config.connect_raw(stream, tls).await.ok()?;
    let asked = async move {
        // The connection ends with its client.
        client.query_typed(queries::CLIENT_PORT.text, &[]).await
    };
    let (rows, _) = futures::future::join(asked, connection).await;
    let seen: Option<i32> = rows.ok()?.first()?.try_get(0).ok()?;
    Some(seen == Some(i32::from(made)))
}
