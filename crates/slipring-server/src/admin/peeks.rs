//! Looking at the messages of a queue without taking them, page by page.

use axum::extract::State;
use axum::response::Response;
use memchr::memmem::Finder;
use serde::Deserialize;
use slipring::admin::Peeked;
use slipring::failures::{FAILURES_MAX, REASON_BYTES_MAX};
use slipring::{Error, ErrorKind, MessageState, PeekFilter};

use super::failure::Failure;
use super::input::{InPath, Params};
use super::messages::{MESSAGES_MAX, most_bytes};
use super::model::{MessageList, MessageView};
use super::{Api, answer};

/// A page ends when the bodies and failures of its messages pass this, but it has one at least.
const PAGE_BYTES_MAX: usize = 4 << 20;
/// So many messages of a queue are looked at, at most: those that are passed over are read, too.
const LOOKED_AT_MAX: u32 = 1_000;
/// A look by group or text reads bodies of about so many bytes, but looks at one page at least.
const SEARCHED_BYTES: u64 = 32 << 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PeekQuery {
    state: Option<MessageState>,
    limit: Option<u32>,
    /// How many messages to pass over: `next` of the page before.
    after: Option<u32>,
    /// Only messages of this group.
    group: Option<String>,
    /// Only messages whose body has these bytes in it.
    text: Option<String>,
}

/// The most that the failures of a message can have.
const FAILURES_BYTES_MAX: usize = FAILURES_MAX * REASON_BYTES_MAX;

/// What a message has in an answer, or nearly so.
fn weight(peeked: &Peeked) -> usize {
    let reasons = peeked.failures.iter().filter_map(|failed| failed.reason.as_ref());
    peeked.message.body.len() + reasons.map(|reason| reason.as_str().len()).sum::<usize>()
}

impl PeekQuery {
    fn is_selective(&self) -> bool {
        self.group.is_some() || self.text.is_some()
    }

    /// Messages one after the other until the page is full, and the place of the next one.
    fn page(&self, found: &[Peeked], limit: usize, after: usize) -> (Vec<usize>, Option<u32>) {
        let text = self.text.as_deref().map(Finder::new);
        let wanted = |peeked: &Peeked| {
            let group = peeked.message.group.as_deref();
            self.group.as_deref().is_none_or(|wanted| group == Some(wanted))
                && text.as_ref().is_none_or(|text| text.find(&peeked.message.body).is_some())
        };
        let (mut bytes, mut page) = (0, Vec::new());
        for (at, peeked) in found.iter().enumerate().skip(after) {
            if !wanted(peeked) {
                continue;
            }
            bytes += weight(peeked);
            if page.len() >= limit || !page.is_empty() && bytes > PAGE_BYTES_MAX {
                return (page, u32::try_from(at).ok());
            }
            page.push(at);
        }
        (page, None)
    }
}

pub(super) async fn peek(
    State(api): State<Api>,
    InPath(name): InPath<String>,
    Params(query): Params<PeekQuery>,
) -> Result<Response, Failure> {
    let (limit, after) = (query.limit.unwrap_or(10), query.after.unwrap_or(0));
    if limit == 0 || limit > MESSAGES_MAX {
        return Err(Failure::invalid(format!("limit is {limit}; use 1 to {MESSAGES_MAX}")));
    }
    if after > LOOKED_AT_MAX {
        return Err(Failure::invalid(format!("after is {after}; use 0 to {LOOKED_AT_MAX}")));
    }
    let queue = api.engine().queue(&name).await?;
    // One more than wanted tells whether there is a next page.
    let mut asked = (limit + after + 1).min(LOOKED_AT_MAX);
    let mut bytes = most_bytes(&queue, asked).await?;
    if query.is_selective() {
        let stats = queue.stats().await?;
        let each = (stats.bytes / stats.total().max(1)).max(1);
        let fitting = u32::try_from(SEARCHED_BYTES / each).unwrap_or(LOOKED_AT_MAX);
        asked = asked.max(fitting.min(LOOKED_AT_MAX));
        // By their mean, for the most that they can have is the room of all answers.
        bytes = usize::try_from(each * u64::from(asked)).unwrap_or(usize::MAX);
    }
    bytes = bytes.saturating_add(FAILURES_BYTES_MAX * asked as usize);
    let mut room = answer::room(&api, bytes).await?;
    let found = queue.peek(PeekFilter { state: query.state, limit: asked }).await?;
    let searched = query.is_selective().then_some(u32::try_from(found.len()).unwrap_or(asked));
    room.shrink(found.iter().map(weight).sum());
    // Bodies may be large: they are searched where nothing else waits. The room goes along, for
    // the search goes on when the client leaves.
    let search = api.leaving().beside(move || {
        let (page, next) = query.page(&found, limit as usize, after as usize);
        (found, page, next, room)
    });
    let failed = |error| Error::new(ErrorKind::Internal, "a search failed").caused_by(error);
    let (found, page, next, mut room) = search.await.map_err(failed)?;
    let page = page.into_iter().filter_map(|at| found.get(at));
    let bytes = page.clone().map(weight).sum();
    let messages: Vec<_> = page.map(|peeked| MessageView::peeked(peeked, name.clone())).collect();
    drop(found);
    room.shrink(bytes);
    answer::json(&api, MessageList { messages, next, searched }, bytes, room).await
}
