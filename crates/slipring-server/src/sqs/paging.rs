//! Lists in pages: a token names the last queue of the page before.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use slipring_wire::sqs::{Limits, SqsError};

/// One page of sorted names, and the token for the next one. Without `max_results` there is one
/// page of the largest size and no token, as in SQS.
pub(super) fn page(
    names: impl Iterator<Item = String>,
    max_results: Option<i64>,
    token: Option<&str>,
    limits: &Limits,
) -> Result<(Vec<String>, Option<String>), SqsError> {
    let after = token.map(last_of).transpose()?.unwrap_or_default();
    let most = usize::try_from(max_results.unwrap_or(limits.page_max)).unwrap_or(1);
    let mut rest = names.skip_while(|name| *name <= after);
    let page: Vec<String> = rest.by_ref().take(most).collect();
    let more = max_results.is_some() && rest.next().is_some();
    let token = page.last().filter(|_| more).map(|last| URL_SAFE_NO_PAD.encode(last));
    Ok((page, token))
}

fn last_of(token: &str) -> Result<String, SqsError> {
    let bytes = URL_SAFE_NO_PAD.decode(token).ok();
    bytes
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .ok_or_else(|| SqsError::bad_value(token, "NextToken", "It is not a token of this server."))
}
