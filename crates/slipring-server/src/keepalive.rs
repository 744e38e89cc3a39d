//! Clients that vanished without a word: a machine that lost its power, an address translation
//! that forgot. Their connections hold jobs, waits and places, and nothing else would end them.

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

/// Lets the system look after the other end of a connection.
///
/// # Errors
/// What the system says; the connection is no use then.
pub(crate) fn ask(stream: &TcpStream) -> io::Result<()> {
    let signs = TcpKeepalive::new().with_time(QUIET).with_interval(AGAIN).with_retries(TIMES);
    SockRef::from(stream).set_tcp_keepalive(&signs)
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn a_client_that_vanished_is_noticed_within_two_minutes() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap());
        let (client, accepted) = tokio::join!(client, listener.accept());
        let (stream, _client) = (accepted.unwrap().0, client.unwrap());
        assert!(!SockRef::from(&stream).keepalive().unwrap());
        ask(&stream).unwrap();
        let socket = SockRef::from(&stream);
        assert!(socket.keepalive().unwrap());
        assert_eq!(socket.tcp_keepalive_time().unwrap(), QUIET);
        assert_eq!(socket.tcp_keepalive_interval().unwrap(), AGAIN);
        assert_eq!(socket.tcp_keepalive_retries().unwrap(), TIMES);
    }
}
