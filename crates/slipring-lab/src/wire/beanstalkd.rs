//! A beanstalkd connection that pipelines.

use std::task::{Context, Poll, Waker};

use anyhow::{Context as _, Result, bail};
use bytes::BytesMut;
use slipring_wire::beanstalkd::{Command, Reply, ReplyParser, TubeName};
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;

/// The largest body of a queue that other protocols use too.
const BODY_BYTES_MAX: u32 = 1 << 20;

/// A connection to a beanstalkd server.
pub struct Connection {
    stream: TcpStream,
    out: BytesMut,
    replies: ReplyParser,
}

impl Connection {
    /// Connects to `address` (host:port).
    ///
    /// # Errors
    /// When nobody listens there.
    pub async fn open(address: &str) -> Result<Connection> {
        let stream = TcpStream::connect(address).await;
        let stream = stream.with_context(|| format!("connecting to beanstalkd at {address}"))?;
        stream.set_nodelay(true).context("setting TCP_NODELAY")?;
        let replies = ReplyParser::new(BODY_BYTES_MAX);
        Ok(Connection { stream, out: BytesMut::new(), replies })
    }

    /// Adds a command to those the next [`Connection::flush`] sends.
    pub fn add(&mut self, command: &Command) {
        command.write(&mut self.out);
    }

    /// Sends what was added.
    ///
    /// # Errors
    /// When the connection is broken.
    pub async fn flush(&mut self) -> Result<()> {
        self.stream.write_all(&self.out).await.context("writing to beanstalkd")?;
        self.out.clear();
        Ok(())
    }

    /// The next reply.
    ///
    /// # Errors
    /// When the connection is broken, or the server does not speak the protocol.
    pub async fn reply(&mut self) -> Result<Reply> {
        loop {
            if let Some(reply) = self.replies.next() {
                return reply.context("reading a beanstalkd reply");
            }
            let read = self.stream.read_buf(self.replies.buffer_mut()).await;
            if read.context("reading from beanstalkd")? == 0 {
                let closed = std::io::Error::from(std::io::ErrorKind::UnexpectedEof);
                return Err(closed).context("the beanstalkd server closed the connection");
            }
        }
    }

    /// Whether the server is known to have closed the connection, or to be gone.
    pub fn is_cut(&self) -> bool {
        let (mut byte, mut look) = ([0], Context::from_waker(Waker::noop()));
        match self.stream.poll_peek(&mut look, &mut ReadBuf::new(&mut byte)) {
            Poll::Ready(Ok(read)) => read == 0,
            Poll::Ready(Err(_)) => true,
            Poll::Pending => false,
        }
    }

    /// Sends one command and waits for its reply.
    ///
    /// # Errors
    /// As [`Connection::reply`].
    pub async fn call(&mut self, command: &Command) -> Result<Reply> {
        self.add(command);
        self.flush().await?;
        self.reply().await
    }

    /// Uses a tube: what is put goes there.
    ///
    /// # Errors
    /// As [`Connection::reply`], and when the server refuses it.
    pub async fn use_tube(&mut self, tube: &TubeName) -> Result<()> {
        match self.call(&Command::Use(tube.clone())).await? {
            Reply::Using(used) if used == *tube => Ok(()),
            other => bail!("use {tube} was answered {other:?}"),
        }
    }

    /// Watches these tubes and no others.
    ///
    /// # Errors
    /// As [`Connection::reply`], and when the server refuses one of them.
    pub async fn watch_only(&mut self, tubes: &[TubeName]) -> Result<()> {
        let default = TubeName::default();
        for (at, tube) in tubes.iter().enumerate() {
            self.takes(&Command::Watch(tube.clone())).await?;
            // At once: it counts towards the most tubes that a connection may watch.
            if at == 0 && !tubes.contains(&default) {
                self.takes(&Command::Ignore(default.clone())).await?;
            }
        }
        Ok(())
    }

    async fn takes(&mut self, command: &Command) -> Result<()> {
        match self.call(command).await? {
            Reply::Watching(_) => Ok(()),
            other => bail!("{command:?} was answered {other:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn a_connection_that_the_other_side_has_closed_is_cut() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (connection, accepted) = tokio::join!(Connection::open(&address), listener.accept());
        let (connection, (mut other, _)) = (connection.unwrap(), accepted.unwrap());
        assert!(!connection.is_cut());
        other.write_all(b"x").await.unwrap();
        connection.stream.readable().await.unwrap();
        assert!(!connection.is_cut());
        let mut connection = connection;
        connection.stream.read_exact(&mut [0]).await.unwrap();
        drop(other);
        // What was readable before may be told once more.
        let cut = async {
            while !connection.is_cut() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), cut).await.expect("it is cut");
    }
}
