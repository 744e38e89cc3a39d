//! A listener as it is configured: an address, or off.

use std::fmt;
use std::str::FromStr;

use slipring_server::listen::ListenAddress;

/// Where a protocol listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listen {
    /// Nowhere.
    Off,
    /// At this address.
    At(ListenAddress),
}

impl Listen {
    /// A port of this machine's loopback address.
    pub fn loopback(port: u16) -> Listen {
        Listen::At(ListenAddress::Tcp(format!("127.0.0.1:{port}")))
    }

    /// The address, unless it is off.
    pub fn address(&self) -> Option<&ListenAddress> {
        match self {
            Listen::Off => None,
            Listen::At(address) => Some(address),
        }
    }
}

impl FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Listen, String> {
        if text == "off" {
            return Ok(Listen::Off);
        }
        text.parse().map(Listen::At).map_err(|error: String| format!("{error}, and not off"))
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Listen::Off => f.write_str("off"),
            Listen::At(address) => address.fmt(f),
        }
    }
}
