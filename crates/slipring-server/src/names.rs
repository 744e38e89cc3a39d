//! Under which names this server may be called: host names that the operator gives, and the URL
//! under which clients know the SQS protocol.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// The longest host name of the DNS.
const NAME_BYTES_MAX: usize = 253;

/// A host name, in lower case and without a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostName(String);

impl FromStr for HostName {
    type Err = String;

    fn from_str(text: &str) -> Result<HostName, String> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        if (1..=NAME_BYTES_MAX).contains(&text.len()) && text.bytes().all(fits) {
            return Ok(HostName(text.to_ascii_lowercase()));
        }
        Err(format!("{text:?} is no host name such as queue.example.com; leave out the port"))
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Host names separated by commas; also none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostNames(Vec<HostName>);

impl HostNames {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a name.
    pub fn add(&mut self, name: HostName) {
        self.0.push(name);
    }

    /// Whether the name in a `Host` header or an origin is one of these; the port does not matter.
    pub(crate) fn name(&self, host: &str) -> bool {
        let asked = without_port(host);
        self.0.iter().any(|HostName(name)| name.eq_ignore_ascii_case(asked))
    }
}

impl FromStr for HostNames {
    type Err = String;

    fn from_str(text: &str) -> Result<HostNames, String> {
        let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
        names.map(str::parse).collect::<Result<_, _>>().map(HostNames)
    }
}

impl fmt::Display for HostNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, name) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}{name}")?;
        }
        Ok(())
    }
}

/// The URL under which clients reach the SQS protocol, such as that of a proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicUrl {
    /// Without a slash at the end.
    text: String,
    host: HostName,
}

impl PublicUrl {
    /// The URL with a path behind it, which begins with a slash.
    pub(crate) fn with(&self, path: &str) -> String {
        format!("{}{path}", self.text)
    }

    /// The name in it.
    pub fn host(&self) -> &HostName {
        &self.host
    }
}

impl FromStr for PublicUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<PublicUrl, String> {
        let refuse = || "use http:// or https://, a host, and a port or a path if need be";
        let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
        let rest = rest.ok_or_else(refuse)?;
        // What is quoted in answers must not break them, and a password has no place here.
        if rest.contains(['@', '?', '#']) || !rest.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(refuse().to_owned());
        }
        let authority = rest.split('/').next().unwrap_or_default();
        let host = without_port(authority).parse().map_err(|_| refuse())?;
        Ok(PublicUrl { text: text.trim_end_matches('/').to_owned(), host })
    }
}

impl fmt::Display for PublicUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// `localhost`, or the number of an address: what no name service can make point elsewhere.
pub(crate) fn is_own(host: &str) -> bool {
    let name = without_port(host);
    let number = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    name.eq_ignore_ascii_case("localhost") || number.parse::<IpAddr>().is_ok()
}

/// The host in `host:port`.
fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_localhost_are_own_and_other_names_are_not() {
        for own in
            ["localhost", "LocalHost:9324", "127.0.0.1:80", "[::1]:9324", "[::1]", "10.0.0.1"]
        {
            assert!(is_own(own), "{own}");
        }
        for other in ["", "evil.example", "localhost.evil.example:9324", "127.0.0.1.evil.example"] {
            assert!(!is_own(other), "{other}");
        }
    }

    #[test]
    fn given_names_are_found_with_any_port_and_in_any_case() {
        let names: HostNames = "queue.example.com, Slipring".parse().unwrap();
        assert!(names.name("QUEUE.example.com:9324") && names.name("slipring"));
        assert!(!names.name("example.com") && !names.name(""));
        assert_eq!(names.to_string(), "queue.example.com,slipring");
        assert!("".parse::<HostNames>().unwrap().is_empty());
        assert!("a b".parse::<HostNames>().is_err() && "h:80".parse::<HostNames>().is_err());
    }

    #[test]
    fn a_public_url_has_a_host_and_nothing_secret() {
        let url: PublicUrl = "https://queue.example.com:8443/sqs/".parse().unwrap();
        assert_eq!(url.with("/1/q"), "https://queue.example.com:8443/sqs/1/q");
        assert_eq!(url.host().to_string(), "queue.example.com");
        for bad in ["", "queue.example.com", "ftp://h", "http://", "http://u:secret@h", "http://h?"]
        {
            let error = bad.parse::<PublicUrl>().unwrap_err();
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
