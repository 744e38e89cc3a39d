//! Proxies in front of the server: who is believed about the client of a request, and what the
//! client called. `X-Forwarded-*` of everybody else is passed over, for any client can write it.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use http::header::HeaderName;
use http::{HeaderMap, HeaderValue};
use ipnet::IpNet;

const FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// Addresses and networks of proxies, separated by commas; also none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Proxies(Vec<IpNet>);

/// Who sent a request; an extension of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Client {
    /// The other end of the connection, or for a proxy the client it names.
    pub(crate) address: IpAddr,
    /// What the client called, by the word of a proxy.
    pub(crate) host: Option<String>,
    /// Whether the client speaks TLS, by the word of a proxy.
    pub(crate) tls: bool,
}

impl Proxies {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether this is the address of a proxy.
    pub(crate) fn have(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|net| net.contains(&address))
    }

    /// Who sent a request that came from `peer`.
    pub(crate) fn client(&self, peer: IpAddr, headers: &HeaderMap) -> Client {
        if !self.have(peer) {
            return Client { address: peer, host: None, tls: false };
        }
        Client {
            address: self.origin(peer, headers),
            host: last(headers, &HOST),
            tls: last(headers, &PROTO).is_some_and(|proto| proto.eq_ignore_ascii_case("https")),
        }
    }

    /// Each proxy adds at the end the address that spoke to it: the client is the last one that
    /// is no proxy. What stands before it the client may have written itself.
    fn origin(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let lines = headers.get_all(FOR).iter().rev();
        let entries = lines.flat_map(|line| line.to_str().unwrap_or_default().rsplit(','));
        let mut origin = peer;
        for entry in entries {
            match address_in(entry.trim()) {
                Some(address) if self.have(origin) => origin = address,
                _ => break,
            }
        }
        origin
    }
}

/// An address as proxies write it, with or without a port.
fn address_in(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let address = bare.parse::<IpAddr>().ok();
    address.or_else(|| text.parse::<SocketAddr>().ok().map(|address| address.ip()))
}

/// The last of the values of a header: that of the nearest proxy. Empty for one that is no text;
/// none for one that is blank.
fn last(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    let line: &HeaderValue = headers.get_all(name).iter().next_back()?;
    let Ok(text) = line.to_str() else { return Some(String::new()) };
    text.rsplit(',').next().map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

impl FromStr for Proxies {
    type Err = String;

    fn from_str(text: &str) -> Result<Proxies, String> {
        let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
        words.map(net).collect::<Result<_, _>>().map(Proxies)
    }
}

fn net(text: &str) -> Result<IpNet, String> {
    let address = text.parse::<IpAddr>().map(|address| IpNet::from(address.to_canonical()));
    let net = address.or_else(|_| text.parse()).map_err(|_| {
        format!("{text:?} is no address such as 10.0.0.1 and no network such as 10.0.0.0/8")
    })?;
    Ok(canonical(net))
}

/// A network of IPv4 addresses as such, where it is written in those of IPv6: peers are told so.
fn canonical(net: IpNet) -> IpNet {
    let IpAddr::V4(address) = net.addr().to_canonical() else { return net };
    let prefix = if net.max_prefix_len() == 32 {
        Some(net.prefix_len())
    } else {
        net.prefix_len().checked_sub(96)
    };
    prefix.and_then(|prefix| IpNet::new(address.into(), prefix).ok()).unwrap_or(net)
}

impl FromIterator<Proxies> for Proxies {
    fn from_iter<I: IntoIterator<Item = Proxies>>(all: I) -> Proxies {
        Proxies(all.into_iter().flat_map(|some| some.0).collect())
    }
}

impl fmt::Display for Proxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, net) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            match net.prefix_len() == net.max_prefix_len() {
                true => write!(f, "{comma}{}", net.addr())?,
                false => write!(f, "{comma}{net}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(HeaderName, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(name, HeaderValue::from_static(value));
        }
        headers
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn proxies_are_addresses_and_networks() {
        let proxies: Proxies = "10.0.0.1, 192.168.0.0/16,::1, fd00::/8".parse().unwrap();
        for proxy in ["10.0.0.1", "192.168.7.7", "::1", "fd00::5", "::ffff:10.0.0.1"] {
            assert!(proxies.have(address(proxy)), "{proxy}");
        }
        for other in ["10.0.0.2", "192.169.0.1", "::2", "fc00::1"] {
            assert!(!proxies.have(address(other)), "{other}");
        }
        assert_eq!(proxies.to_string(), "10.0.0.1,192.168.0.0/16,::1,fd00::/8");
        let mapped: Proxies = "::ffff:10.1.0.0/112".parse().unwrap();
        assert!(mapped.have(address("10.1.2.3")) && !mapped.have(address("10.2.0.1")));
        assert_eq!(mapped.to_string(), "10.1.0.0/16");
        assert!("".parse::<Proxies>().unwrap().is_empty());
        for wrong in ["proxy", "10.0.0.1:80", "10.0.0.0/33", "10.0.0"] {
            let error = wrong.parse::<Proxies>().unwrap_err();
            assert!(error.contains(wrong) && error.contains("10.0.0.0/8"), "{error}");
        }
    }

    #[test]
    fn nobody_is_believed_who_is_not_named() {
        // S16.4
        let lies = headers(&[(FOR, "203.0.113.9"), (HOST, "evil.example"), (PROTO, "https")]);
        let peer = address("10.0.0.2");
        let itself = Client { address: peer, host: None, tls: false };
        for named in ["", "10.0.0.1"] {
            let proxies: Proxies = named.parse().unwrap();
            assert_eq!(proxies.client(peer, &lies), itself, "{named:?}");
        }
    }

    #[test]
    fn the_client_is_the_last_address_that_is_no_proxy() {
        // S16.4
        let proxies: Proxies = "10.0.0.0/8".parse().unwrap();
        for (forwarded, client) in [
            (&[][..], "10.0.0.1"),
            (&["203.0.113.9"], "203.0.113.9"),
            (&["203.0.113.9:4711"], "203.0.113.9"),
            (&["[2001:db8::1]:4711"], "2001:db8::1"),
            (&["[2001:db8::1]"], "2001:db8::1"),
            (&["127.0.0.1, 203.0.113.9, 10.0.0.7"], "203.0.113.9"),
            (&["127.0.0.1, 203.0.113.9", "10.0.0.7"], "203.0.113.9"),
            (&["10.0.0.9, 10.0.0.8"], "10.0.0.9"),
            (&["203.0.113.9, unknown"], "10.0.0.1"),
            (&["203.0.113.9, unknown, 10.0.0.8"], "10.0.0.8"),
        ] {
            let lines: Vec<_> = forwarded.iter().map(|line| (FOR, *line)).collect();
            let found = proxies.client(address("10.0.0.1"), &headers(&lines)).address;
            assert_eq!(found, address(client), "{forwarded:?}");
        }
    }

    #[test]
    fn a_blank_host_says_nothing_and_one_that_is_no_text_is_no_name() {
        let proxies: Proxies = "10.0.0.1".parse().unwrap();
        let peer = address("10.0.0.1");
        for blank in ["", " ", "a.example, "] {
            assert_eq!(proxies.client(peer, &headers(&[(HOST, blank)])).host, None, "{blank:?}");
        }
        let mut garbled = HeaderMap::new();
        garbled.insert(HOST, HeaderValue::from_bytes(b"\xff").unwrap());
        assert_eq!(proxies.client(peer, &garbled).host.as_deref(), Some(""));
    }

    #[test]
    fn of_several_hosts_and_protocols_the_nearest_proxy_has_the_word() {
        let proxies: Proxies = "10.0.0.1".parse().unwrap();
        let said = headers(&[
            (HOST, "evil.example"),
            (HOST, "other.example, queue.example:8443"),
            (PROTO, "http, HTTPS"),
        ]);
        let client = proxies.client(address("10.0.0.1"), &said);
        assert_eq!((client.host.as_deref(), client.tls), (Some("queue.example:8443"), true));
    }
}
