//! Web pages: a browser sends forms and simple requests of any page to any port, and the SQS
//! protocols take such requests. Clients of SQS send none of the headers that give a page away.

use http::HeaderMap;
use http::header::{HOST, HeaderName, ORIGIN};
use slipring_wire::sqs::{ErrorCode, SqsError};

/// Every browser sends it to a loopback address and over TLS.
const SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// Typed by a user, or sent by what this server itself has shown.
const OWN_SITES: [&[u8]; 2] = [b"none", b"same-origin"];

/// Refuses what a page of somebody else's has made a browser send.
///
/// # Errors
/// `AccessDenied`.
pub(super) fn check(headers: &HeaderMap) -> Result<(), SqsError> {
    let own_site = |site: &http::HeaderValue| OWN_SITES.contains(&site.as_bytes());
    let host = headers.get(HOST).map(http::HeaderValue::as_bytes).unwrap_or_default();
    let own_origin = |origin: &http::HeaderValue| {
        let origin = origin.as_bytes();
        let (_, name) = origin.split_at(origin.windows(3).position(|w| w == b"://").unwrap_or(0));
        name.strip_prefix(b"://").is_some_and(|name| name.eq_ignore_ascii_case(host))
    };
    if headers.get(SITE).is_none_or(own_site) && headers.get(ORIGIN).is_none_or(own_origin) {
        return Ok(());
    }
    let text = "The request comes from a web page, and pages may not use this server.";
    Err(SqsError::new(ErrorCode::AccessDenied, text))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn checked(pairs: &[(HeaderName, &'static str)]) -> bool {
        let pairs =
            pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value)));
        check(&pairs.collect()).is_ok()
    }

    #[test]
    fn clients_are_let_in_and_pages_of_others_are_not() {
        assert!(checked(&[(HOST, "localhost:9324")]));
        assert!(checked(&[(HOST, "localhost:9324"), (SITE, "none")]));
        assert!(checked(&[(HOST, "localhost:9324"), (ORIGIN, "http://LOCALHOST:9324")]));
        for other in [
            &[(SITE, "cross-site")][..],
            &[(SITE, "same-site")],
            &[(ORIGIN, "http://evil.example")],
            &[(ORIGIN, "null")],
            &[(ORIGIN, "http://localhost:3000")],
            &[(ORIGIN, "http://localhost:9324"), (SITE, "cross-site")],
        ] {
            assert!(!checked(&[&[(HOST, "localhost:9324")], other].concat()), "{other:?}");
        }
    }
}
