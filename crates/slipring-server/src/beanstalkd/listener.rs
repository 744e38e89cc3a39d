//! TCP and Unix sockets as one thing: a listener and its connections.

use std::io;
use std::net::IpAddr;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

use crate::sockets;

/// Where a server listens.
#[derive(Debug)]
pub enum Listener {
    /// On a TCP address.
    Tcp(TcpListener),
    /// On a Unix socket.
    Unix(UnixListener),
}

impl Listener {
    /// Listens on a TCP address.
    ///
    /// # Errors
    /// What the system says, such as a port in use.
    pub async fn tcp(address: impl tokio::net::ToSocketAddrs) -> io::Result<Listener> {
        TcpListener::bind(address).await.map(Listener::Tcp)
    }

    /// Listens on a Unix socket. A socket left over at the path is removed first; anything else
    /// there is left alone.
    ///
    /// # Errors
    /// What the system says; `AddrInUse` if the path is taken by something that is no socket, or
    /// by a socket somebody listens on.
    pub async fn unix(path: &Path) -> io::Result<Listener> {
        match std::fs::symlink_metadata(path) {
            Ok(found) if found.file_type().is_socket() => {
                match UnixStream::connect(path).await {
                    // Nobody listens: what a server that was killed has left.
                    Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                        std::fs::remove_file(path)?;
                    }
                    // Also when it is too busy to answer.
                    _ => {
                        return Err(io::Error::new(
                            io::ErrorKind::AddrInUse,
                            format!("another server listens on {}", path.display()),
                        ));
                    }
                }
            }
            Ok(_) => {
                return Err(io::Error::new(
                    io::ErrorKind::AddrInUse,
                    format!("{} exists and is no socket", path.display()),
                ));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        UnixListener::bind(path).map(Listener::Unix)
    }

    /// The address as people write it: `127.0.0.1:11300` or `unix:/path`.
    pub fn address(&self) -> String {
        match self {
            Listener::Tcp(listener) => {
                listener.local_addr().map(|address| address.to_string()).unwrap_or_default()
            }
            Listener::Unix(listener) => {
                let address = listener.local_addr().ok();
                let path = address.as_ref().and_then(|address| address.as_pathname());
                format!("unix:{}", path.unwrap_or_else(|| Path::new("")).display())
            }
        }
    }

    pub(super) async fn accept(&self) -> io::Result<Stream> {
        match self {
            Listener::Tcp(listener) => {
                let (stream, _) = listener.accept().await?;
                sockets::prepare(&stream)?;
                Ok(Stream::Tcp(stream))
            }
            Listener::Unix(listener) => {
                let (stream, _) = listener.accept().await?;
                Ok(Stream::Unix(stream))
            }
        }
    }
}

impl From<TcpListener> for Listener {
    fn from(listener: TcpListener) -> Listener {
        Listener::Tcp(listener)
    }
}

impl From<UnixListener> for Listener {
    fn from(listener: UnixListener) -> Listener {
        Listener::Unix(listener)
    }
}

/// One connection.
pub(super) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    /// Writes what fits into the socket's buffer now, for a last word before closing.
    pub(super) fn write_and_forget(&self, bytes: &[u8]) {
        // A client that is gone or does not read misses a courtesy.
        let _ = match self {
            Stream::Tcp(stream) => stream.try_write(bytes),
            Stream::Unix(stream) => stream.try_write(bytes),
        };
    }
}

impl Stream {
    /// Waits until something has come, or the end. Answers whether the other end sends no more,
    /// also where what it has sent is not read yet.
    ///
    /// # Errors
    /// When the connection is broken.
    pub(super) async fn sends_no_more(&self) -> io::Result<bool> {
        let interest = Interest::READABLE | Interest::ERROR;
        let ready = match self {
            Stream::Tcp(stream) => stream.ready(interest).await?,
            Stream::Unix(stream) => stream.ready(interest).await?,
        };
        if ready.is_error() {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        Ok(ready.is_read_closed())
    }

    /// The address of the other end; a Unix socket has none.
    pub(super) fn peer(&self) -> Option<IpAddr> {
        match self {
            Stream::Tcp(stream) => stream.peer_addr().ok().map(|address| address.ip()),
            Stream::Unix(_) => None,
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Tcp(stream) => Pin::new(stream).poll_read(context, buffer),
            Stream::Unix(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Stream::Tcp(stream) => Pin::new(stream).poll_write(context, bytes),
            Stream::Unix(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Tcp(stream) => Pin::new(stream).poll_flush(context),
            Stream::Unix(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Tcp(stream) => Pin::new(stream).poll_shutdown(context),
            Stream::Unix(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
