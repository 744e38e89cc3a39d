//! Web pages: a browser sends requests of any page to any port of the machine it runs on, and a
//! page whose name its owner makes point here is, to the browser, of the same site.
//!
//! The name in the `Host` header is the main guard: it is what the page's owner had to use. The
//! marks of browsers are the second; a page can leave out some of them, but not choose the name.

use http::header::{ACCEPT_LANGUAGE, HOST, HeaderName, ORIGIN, REFERER, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method, Uri};

use crate::names::{self, HostNames};

/// Sent by every browser to a loopback address and over TLS.
const SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// Typed by a user, or sent by what this server itself has shown.
const OWN_SITES: [&[u8]; 2] = [b"none", b"same-origin"];
/// Headers that only browsers send. Other clients send `sec-fetch-mode`.
const MARKS: [HeaderName; 6] = [
    ORIGIN,
    REFERER,
    SITE,
    HeaderName::from_static("sec-fetch-dest"),
    HeaderName::from_static("sec-ch-ua"),
    HeaderName::from_static("upgrade-insecure-requests"),
];

/// Programs whose name begins like that of a browser: kombu, by which Celery receives over SQS. No
/// browser has these names, and a page that can choose its name needs none of them.
const PROGRAMS: [&[u8]; 2] =
    [b"Mozilla/5.0 (compatible; pycurl)", b"Mozilla/5.0 (compatible; urllib3)"];

/// Under which names one listener may be called, and by whom.
#[derive(Debug, Clone)]
pub(crate) struct Gate {
    names: HostNames,
    /// Programs may use any name: others can reach the listener, and no names were given.
    any_name: bool,
}

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caller {
    /// No browser, as far as one can see.
    Program,
    /// A browser, whose user or whose page is trusted. A `GET` may change nothing.
    Browser,
}

/// Why a request is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refused {
    /// It uses a name that is not one of this server's.
    Name(String),
    /// A page sent it that is not trusted.
    Page,
}

impl Gate {
    /// The gate of a listener; `loopback` says that only this machine can reach it.
    pub(crate) fn new(names: HostNames, loopback: bool) -> Gate {
        let any_name = !loopback && names.is_empty();
        Gate { names, any_name }
    }

    /// Says who asks, or why not. `forwarded` is the name that the client called, by the word of a
    /// proxy. It has to be a name of this server as well: a page that has its own name point here
    /// can write that header, but not choose the name in `Host`.
    ///
    /// A browser's request needs a name of this server in any case. Anything but a look (`GET`,
    /// `HEAD`) needs an origin that the operator has named; a look must not come from another site.
    ///
    /// # Errors
    /// [`Refused`].
    pub(crate) fn check(
        &self,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
        forwarded: Option<&str>,
    ) -> Result<Caller, Refused> {
        let named = headers.get(HOST).map(|value| value.to_str().unwrap_or_default());
        let host = named.or_else(|| uri.authority().map(|authority| authority.as_str()));
        // A client of HTTP/1.0 that names no host; no browser does so.
        let host = host.unwrap_or("localhost");
        let browser = is_browser(headers);
        let foreign = |host: &&str| !names::is_own(host) && !self.names.name(host);
        if let Some(foreign) = [Some(host), forwarded].into_iter().flatten().find(foreign)
            && (browser || !self.any_name)
        {
            return Err(Refused::Name(foreign.to_owned()));
        }
        if !browser {
            return Ok(Caller::Program);
        }
        let origin = headers.get(ORIGIN);
        let trusted = match origin {
            Some(origin) => self.trusts(origin),
            None if !matches!(*method, Method::GET | Method::HEAD) => false,
            None => headers.get(SITE).is_none_or(|site| OWN_SITES.contains(&site.as_bytes())),
        };
        if trusted { Ok(Caller::Browser) } else { Err(Refused::Page) }
    }

    /// Whether the operator has named the host of an origin.
    fn trusts(&self, origin: &HeaderValue) -> bool {
        let origin = origin.to_str().unwrap_or_default();
        origin.split_once("://").is_some_and(|(_, host)| self.names.name(host))
    }
}

fn is_browser(headers: &HeaderMap) -> bool {
    let agent = headers.get(USER_AGENT).map_or(&b""[..], HeaderValue::as_bytes);
    MARKS.iter().any(|name| headers.contains_key(name))
        || (agent.starts_with(b"Mozilla/") && !PROGRAMS.contains(&agent))
        // Some libraries send `*` only.
        || headers.get(ACCEPT_LANGUAGE).is_some_and(|value| value.as_bytes() != b"*")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCAL: (HeaderName, &str) = (HOST, "localhost:9324");

    fn ask(
        gate: &Gate,
        method: &Method,
        pairs: &[(HeaderName, &'static str)],
    ) -> Result<Caller, Refused> {
        let pairs =
            pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value)));
        gate.check(method, &Uri::from_static("/"), &pairs.collect(), None)
    }

    fn loopback() -> Gate {
        Gate::new(HostNames::default(), true)
    }

    #[test]
    fn programs_are_let_in_by_the_names_of_this_machine() {
        let kombu = ["Mozilla/5.0 (compatible; pycurl)", "Mozilla/5.0 (compatible; urllib3)"];
        for agent in ["aws-cli/2.0", "node", "Boto3/1.34"].into_iter().chain(kombu) {
            let marks = [LOCAL, (USER_AGENT, agent), (ACCEPT_LANGUAGE, "*")];
            let mode = (HeaderName::from_static("sec-fetch-mode"), "cors");
            let all = [&marks[..], &[mode]].concat();
            assert_eq!(ask(&loopback(), &Method::POST, &all), Ok(Caller::Program));
        }
        assert_eq!(ask(&loopback(), &Method::POST, &[]), Ok(Caller::Program));
        let foreign = ask(&loopback(), &Method::POST, &[(HOST, "evil.example")]);
        assert_eq!(foreign, Err(Refused::Name("evil.example".to_owned())));
    }

    #[test]
    fn a_listener_for_others_takes_any_name_from_programs_until_names_are_given() {
        let host = [(HOST, "queue.example.com:9324")];
        let browser = [host[0].clone(), (USER_AGENT, "Mozilla/5.0")];
        let open = Gate::new(HostNames::default(), false);
        assert_eq!(ask(&open, &Method::POST, &host), Ok(Caller::Program));
        assert!(matches!(ask(&open, &Method::GET, &browser), Err(Refused::Name(_))));
        let other = Gate::new("other".parse().unwrap(), false);
        assert!(ask(&other, &Method::POST, &host).is_err());
        let named = Gate::new("queue.example.com".parse().unwrap(), false);
        assert_eq!(ask(&named, &Method::POST, &host), Ok(Caller::Program));
        assert_eq!(ask(&named, &Method::GET, &browser), Ok(Caller::Browser));
    }

    #[test]
    fn what_a_proxy_says_was_called_is_a_name_of_the_server_too() {
        // S16.4
        let named = Gate::new("queue.example".parse().unwrap(), true);
        let ask = |host: &'static str, forwarded| {
            let headers = [(HOST, HeaderValue::from_static(host))].into_iter().collect();
            named.check(&Method::POST, &Uri::from_static("/"), &headers, Some(forwarded))
        };
        assert_eq!(ask("127.0.0.1:9324", "queue.example"), Ok(Caller::Program));
        for (host, forwarded) in [("127.0.0.1", "evil.example"), ("evil.example", "queue.example")]
        {
            assert_eq!(ask(host, forwarded), Err(Refused::Name("evil.example".to_owned())));
        }
    }

    #[test]
    fn a_page_sends_nothing_unless_its_origin_is_named() {
        let named = Gate::new("app.example".parse().unwrap(), true);
        let from = |origin| [LOCAL, (ORIGIN, origin), (SITE, "cross-site")];
        assert_eq!(ask(&named, &Method::POST, &from("https://app.example")), Ok(Caller::Browser));
        for origin in ["null", "http://evil.example", "http://localhost:9324", "app.example"] {
            for method in [Method::GET, Method::POST, Method::OPTIONS] {
                assert_eq!(ask(&named, &method, &from(origin)), Err(Refused::Page), "{origin}");
            }
        }
    }

    #[test]
    fn each_mark_of_a_browser_gives_it_away() {
        for mark in [
            (USER_AGENT, "Mozilla/5.0 (X11; Linux x86_64)"),
            (USER_AGENT, "Mozilla/5.0 (compatible; Konqueror/4.5; Linux) KHTML/4.5.4"),
            (ACCEPT_LANGUAGE, "en-US,en;q=0.9"),
            (REFERER, "http://evil.example/"),
            (SITE, "none"),
            (HeaderName::from_static("upgrade-insecure-requests"), "1"),
        ] {
            let post = ask(&loopback(), &Method::POST, &[LOCAL, mark.clone()]);
            assert_eq!(post, Err(Refused::Page), "{mark:?}");
            assert_eq!(ask(&loopback(), &Method::GET, &[LOCAL, mark]), Ok(Caller::Browser));
        }
        for site in ["cross-site", "same-site"] {
            let look = ask(&loopback(), &Method::GET, &[LOCAL, (SITE, site)]);
            assert_eq!(look, Err(Refused::Page), "{site}");
        }
    }
}
