//! What the system is asked to do for each TCP connection.
//!
//! Clients vanish without a word: a machine lost its power, an address translation forgot. Their
//! connections hold jobs, waits and places, and nothing else would end them. Others do not read:
//! what is written to them is kept by the system, up to some megabytes a connection, and where
//! that is too much for the machine, everybody's connections become slow.

use std::io;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;

/// A connection on which nothing has come for so long is asked for a sign of life.
const QUIET: Duration = Duration::from_secs(60);
/// Then again after each of these.
const AGAIN: Duration = Duration::from_secs(15);
/// So many times; then the connection is over, two minutes after the client vanished.
const TIMES: u32 = 4;

/// The system takes about so many bytes that it cannot send yet; what is on its way to the client
/// does not count, so a long way needs no more.
#[cfg(target_os = "linux")]
const UNSENT_BYTES: u32 = 16 * 1024;

/// Prepares a connection that was accepted: replies go out at once, the other end is looked after,
/// and little is kept for a client that does not read.
///
/// # Errors
/// What the system says; the connection is no use then.
pub(crate) fn prepare(stream: &TcpStream) -> io::Result<()> {
    // Replies go out whole; waiting for more would only add latency.
    stream.set_nodelay(true)?;
    let socket = SockRef::from(stream);
    let signs = TcpKeepalive::new().with_time(QUIET).with_interval(AGAIN).with_retries(TIMES);
    socket.set_tcp_keepalive(&signs)?;
    #[cfg(target_os = "linux")]
    socket.set_tcp_notsent_lowat(UNSENT_BYTES)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    /// A connection as the server has it, and its client.
    async fn accepted() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap());
        let (client, accepted) = tokio::join!(client, listener.accept());
        (accepted.unwrap().0, client.unwrap())
    }

    #[tokio::test]
    async fn a_client_that_vanished_is_noticed_within_two_minutes() {
        let (stream, _client) = accepted().await;
        assert!(!SockRef::from(&stream).keepalive().unwrap());
        prepare(&stream).unwrap();
        let socket = SockRef::from(&stream);
        assert!(socket.keepalive().unwrap());
        assert_eq!(socket.tcp_keepalive_time().unwrap(), QUIET);
        assert_eq!(socket.tcp_keepalive_interval().unwrap(), AGAIN);
        assert_eq!(socket.tcp_keepalive_retries().unwrap(), TIMES);
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn the_system_takes_little_for_a_client_that_does_not_read() {
        let (stream, _client) = accepted().await;
        prepare(&stream).unwrap();
        assert!(stream.nodelay().unwrap());
        assert_eq!(SockRef::from(&stream).tcp_notsent_lowat().unwrap(), UNSENT_BYTES);
        // A window of the client and what is not sent yet; without the mark it is some megabytes.
        let answer = vec![0; 64 * 1024];
        let mut taken = 0;
        while let Ok(bytes) = stream.try_write(&answer) {
            taken += bytes;
        }
        assert!(taken < 512 * 1024, "{taken} bytes were taken");
    }
}
