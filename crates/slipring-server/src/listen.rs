//! Where listeners listen: addresses as people write them, the rule for addresses that others can
//! reach, and errors that say which flag to change.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use tokio::net::TcpListener;

use crate::beanstalkd::Listener;

/// An address to listen on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListenAddress {
    /// A host (name or number) and a port, `127.0.0.1:9324`. Port 0 takes a free one.
    Tcp(String),
    /// A Unix socket, `unix:/path`.
    Unix(PathBuf),
}

impl FromStr for ListenAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<ListenAddress, String> {
        if let Some(path) = text.strip_prefix("unix:") {
            if path.is_empty() {
                return Err("unix: needs a path after it, such as unix:/run/slipring.sock".into());
            }
            return Ok(ListenAddress::Unix(PathBuf::from(path)));
        }
        // The address of something else, maybe with a password, which no error repeats.
        if text.contains(['@', '/', '=']) {
            return Err("it is no HOST:PORT such as 127.0.0.1:9324".into());
        }
        let port = text.rsplit_once(':').filter(|(host, _)| !host.is_empty());
        match port.map(|(_, port)| port.parse::<u16>()) {
            Some(Ok(_)) => Ok(ListenAddress::Tcp(text.to_owned())),
            _ => Err(format!("{text:?} is no HOST:PORT such as 127.0.0.1:9324")),
        }
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ListenAddress::Tcp(address) => f.write_str(address),
            ListenAddress::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// Who may reach a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Only this machine: an address beyond loopback is refused.
    Loopback,
    /// Anybody: credentials are configured, or the operator said that none are needed.
    Anybody,
}

/// Why a listener could not be opened. The text names flag and address and says what to do.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Somebody else listens there.
    #[error(
        "{flag} {address}: address in use; stop the other program or choose another port with \
         {usage}"
    )]
    InUse {
        /// The flag that names the address.
        flag: &'static str,
        /// The flag with what follows it.
        usage: &'static str,
        /// The address.
        address: String,
        /// What the system said.
        source: io::Error,
    },
    /// Others could reach the listener, and nothing says that they may.
    #[error("{flag} {address}: other machines could reach this address; {remedy}")]
    Exposed {
        /// The flag that names the address.
        flag: &'static str,
        /// The address.
        address: String,
        /// What allows it.
        remedy: &'static str,
    },
    /// A Unix socket for a protocol that has none.
    #[error("{flag} {address}: this listener speaks HTTP over TCP only; use HOST:PORT")]
    NotTcp {
        /// The flag that names the address.
        flag: &'static str,
        /// The address.
        address: String,
    },
    /// Anything else.
    #[error("{flag} {address}: {source}")]
    Io {
        /// The flag that names the address.
        flag: &'static str,
        /// The address.
        address: String,
        /// What the system said.
        source: io::Error,
    },
}

/// How one listener is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The flag that names the address with what follows it, such as `--sqs ADDR`, for errors.
    pub usage: &'static str,
    /// The address.
    pub address: &'a ListenAddress,
    /// Who may reach it.
    pub reach: Reach,
    /// What makes a wider reach possible, for errors.
    pub remedy: &'static str,
}

impl<'a> Request<'a> {
    /// Opens a TCP listener.
    ///
    /// # Errors
    /// [`ListenError`]; a Unix socket is refused.
    pub async fn tcp(self) -> Result<TcpListener, ListenError> {
        let address = self.tcp_address()?;
        let resolved = tokio::net::lookup_host(address).await;
        let resolved: Vec<SocketAddr> = resolved.map_err(|error| self.failed(error))?.collect();
        self.check_reach(&resolved)?;
        TcpListener::bind(resolved.as_slice()).await.map_err(|error| self.failed(error))
    }

    /// Opens a TCP listener or a Unix socket. Who may use a socket is up to the permissions of
    /// its folder.
    ///
    /// # Errors
    /// [`ListenError`].
    pub async fn any(self) -> Result<Listener, ListenError> {
        match self.address {
            ListenAddress::Tcp(_) => self.tcp().await.map(Listener::from),
            ListenAddress::Unix(path) => {
                Listener::unix(path).await.map_err(|error| self.failed(error))
            }
        }
    }

    /// Says without opening anything whether an address in numbers would be refused for its reach.
    /// Names are looked up only when they are opened.
    ///
    /// # Errors
    /// [`ListenError::Exposed`].
    pub fn check(self) -> Result<(), ListenError> {
        match self.address {
            ListenAddress::Tcp(address) => match address.parse() {
                Ok(address) => self.check_reach(&[address]),
                Err(_) => Ok(()),
            },
            ListenAddress::Unix(_) => Ok(()),
        }
    }

    /// The same for a listener that can have no Unix socket.
    ///
    /// # Errors
    /// [`ListenError::Exposed`], [`ListenError::NotTcp`].
    pub fn check_tcp(self) -> Result<(), ListenError> {
        self.tcp_address()?;
        self.check()
    }

    fn tcp_address(self) -> Result<&'a str, ListenError> {
        match self.address {
            ListenAddress::Tcp(address) => Ok(address),
            ListenAddress::Unix(_) => {
                let (flag, address) = (self.flag(), self.address.to_string());
                Err(ListenError::NotTcp { flag, address })
            }
        }
    }

    fn check_reach(self, addresses: &[SocketAddr]) -> Result<(), ListenError> {
        if self.reach == Reach::Anybody || addresses.iter().all(|a| a.ip().is_loopback()) {
            return Ok(());
        }
        let (flag, address, remedy) = (self.flag(), self.address.to_string(), self.remedy);
        Err(ListenError::Exposed { flag, address, remedy })
    }

    fn flag(self) -> &'static str {
        self.usage.split(' ').next().unwrap_or_default()
    }

    fn failed(self, source: io::Error) -> ListenError {
        let (flag, address) = (self.flag(), self.address.to_string());
        if source.kind() == io::ErrorKind::AddrInUse {
            return ListenError::InUse { flag, usage: self.usage, address, source };
        }
        ListenError::Io { flag, address, source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(address: &ListenAddress, reach: Reach) -> Request<'_> {
        Request { usage: "--sqs ADDR", address, reach, remedy: "add --insecure" }
    }

    #[test]
    fn addresses_are_read_as_they_are_written() {
        for text in ["127.0.0.1:0", "localhost:9324", "[::1]:80", "unix:/tmp/x"] {
            assert_eq!(text.parse::<ListenAddress>().unwrap().to_string(), text);
        }
        for text in ["", "unix:", "127.0.0.1", ":80", "a:b", "a:70000"] {
            assert!(text.parse::<ListenAddress>().is_err(), "{text}");
        }
        for text in ["postgres://me:SECRET@db:5432", "me:SECRET@db:5432", "password=SECRET:1"] {
            let error = text.parse::<ListenAddress>().unwrap_err();
            assert!(!error.contains("SECRET"), "{error}");
        }
    }

    #[tokio::test]
    async fn a_busy_port_is_an_error_that_names_port_and_flag() {
        let any = "127.0.0.1:0".parse().unwrap();
        let first = ask(&any, Reach::Loopback).tcp().await.unwrap();
        let address = first.local_addr().unwrap().to_string();
        let busy = address.parse().unwrap();
        let error = ask(&busy, Reach::Loopback).tcp().await.unwrap_err().to_string();
        assert!(error.starts_with(&format!("--sqs {address}: address in use")), "{error}");
        assert!(error.ends_with("choose another port with --sqs ADDR"), "{error}");
    }

    #[tokio::test]
    async fn an_address_beyond_loopback_needs_permission() {
        let wide = "0.0.0.0:0".parse().unwrap();
        let error = ask(&wide, Reach::Loopback).any().await.unwrap_err().to_string();
        assert!(error.contains("0.0.0.0:0") && error.contains("--insecure"), "{error}");
        assert!(ask(&wide, Reach::Anybody).any().await.is_ok());
    }
}
