//! `/metrics`: which queues are asked for, and the answer, compressed where the client wants it.

use std::io::Write as _;

use axum::extract::State;
use axum::http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, VARY};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Deserialize;
use slipring::{Error, ErrorKind};

use crate::metrics::Filter;

use super::Api;
use super::failure::Failure;
use super::input::Params;

const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What may be asked for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scrape {
    /// A name, or the beginning of names and a `*`.
    queue: Option<String>,
}

pub(super) async fn metrics(
    State(api): State<Api>,
    Params(scrape): Params<Scrape>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let filter = scrape.queue.as_deref().map(Filter::parse).transpose();
    let filter = filter.map_err(Failure::invalid)?;
    let text = api.metrics(filter).await?;
    let mut response = match wants_gzip(&headers) {
        false => text.into_response(),
        true => {
            // Beside the threads that serve connections.
            let packed = api.leaving().beside(move || gzip(text.as_bytes()));
            let failed = || Error::new(ErrorKind::Internal, "the answer cannot be compressed");
            let packed = packed.await.ok().and_then(Result::ok).ok_or_else(failed)?;
            let mut response = packed.into_response();
            let gzip = HeaderValue::from_static("gzip");
            response.headers_mut().insert(CONTENT_ENCODING, gzip);
            response
        }
    };
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(TEXT));
    response.headers_mut().insert(VARY, HeaderValue::from_static("accept-encoding"));
    Ok(response)
}

fn gzip(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    // The lines are so much alike that the quickest way makes a tenth of them.
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes)?;
    encoder.finish()
}

/// Whether `accept-encoding` names gzip, or everything, and does not refuse it.
fn wants_gzip(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|line| line.to_str().ok());
    let mut everything = false;
    for coding in lines.flat_map(|line| line.split(',')) {
        let mut parts = coding.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let weight = parts.find_map(|part| part.strip_prefix("q=")).unwrap_or("1");
        let accepted = weight.parse::<f32>().is_ok_and(|weight| weight > 0.0);
        if name.eq_ignore_ascii_case("gzip") {
            return accepted;
        }
        everything |= name == "*" && accepted;
    }
    everything
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_used_where_it_is_named_and_not_refused() {
        let wants = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(value));
            wants_gzip(&headers)
        };
        for value in ["gzip", "deflate, GZIP;q=0.5", "br;q=1.0, gzip;q=0.1", "*", "gzip, *;q=0"] {
            assert!(wants(value), "{value}");
        }
        for value in ["", "deflate", "gzip;q=0", "gzip;q=0.000, *", "*;q=0", "identity"] {
            assert!(!wants(value), "{value}");
        }
        assert!(!wants_gzip(&HeaderMap::new()));
    }
}
