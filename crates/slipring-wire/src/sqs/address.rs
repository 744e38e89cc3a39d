//! How a queue's name stands in URLs and ARNs.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// Everything that could mean something in a URL; beanstalkd tubes may have such names.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.');

/// The URL of a queue on the server that the client knows as `host`, and whether by TLS.
pub fn queue_url(tls: bool, host: &str, account: &str, name: &str) -> String {
    let scheme = if tls { "https" } else { "http" };
    format!("{scheme}://{host}{}", queue_path(account, name))
}

/// The path of a queue in its URL.
pub fn queue_path(account: &str, name: &str) -> String {
    format!("/{account}/{}", utf8_percent_encode(name, ESCAPED))
}

/// The name of the queue that a queue URL, a path or a bare name means; `None` when there is none
/// in it.
pub fn queue_name(url: &str) -> Option<Cow<'_, str>> {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let name = percent_decode_str(name).decode_utf8().ok()?;
    (!name.is_empty()).then_some(name)
}

/// The ARN of a queue.
pub fn queue_arn(region: &str, account: &str, name: &str) -> String {
    format!("arn:aws:sqs:{region}:{account}:{name}")
}

/// Region, account and name in an ARN of a queue; `None` when it is no such ARN.
pub fn queue_of_arn(arn: &str) -> Option<(&str, &str, &str)> {
    let mut parts = arn.strip_prefix("arn:aws:sqs:")?.splitn(3, ':');
    let (region, account, name) = (parts.next()?, parts.next()?, parts.next()?);
    (!name.is_empty()).then_some((region, account, name))
}

/// Whether a text has the form of an ARN, of whatever it may be.
pub fn is_arn(text: &str) -> bool {
    text.starts_with("arn:") && text.splitn(6, ':').filter(|part| !part.is_empty()).count() == 6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_survives_its_url() {
        for name in ["emails", "a.fifo", "a+b;c$(d)_.-", "one/two"] {
            let url = queue_url(false, "localhost:9324", "000000000000", name);
            assert_eq!(queue_name(&url).as_deref(), Some(name), "{url}");
        }
    }

    #[test]
    fn paths_and_bare_names_are_queues_too() {
        for url in ["q", "/q", "/1/q/", "http://h/1/q?Action=x", "https://h:1/q#f"] {
            assert_eq!(queue_name(url).as_deref(), Some("q"), "{url}");
        }
        for url in ["", "/", "///", "%ff"] {
            assert_eq!(queue_name(url), None, "{url}");
        }
    }

    #[test]
    fn arns_have_six_parts() {
        let arn = queue_arn("eu-west-1", "123456789012", "q.fifo");
        assert_eq!(queue_of_arn(&arn), Some(("eu-west-1", "123456789012", "q.fifo")));
        for arn in
            ["", "q", "arn:aws:sqs", "arn:aws:sqs:r:1", "arn:aws:sns:r:1:q", "arn:aws:sqs:r:1:"]
        {
            assert_eq!(queue_of_arn(arn), None, "{arn}");
        }
        for arn in [&arn, "arn:aws-cn:sns:r:1:q", "arn:aws:sqs:r:1:a:b"] {
            assert!(is_arn(arn), "{arn}");
        }
        for text in ["", "q", "arn:aws:sqs", "arn:aws:sqs:r:1", "arn:aws:sqs:r:1:", "a:b:c:d:e:f"] {
            assert!(!is_arn(text), "{text}");
        }
    }
}
