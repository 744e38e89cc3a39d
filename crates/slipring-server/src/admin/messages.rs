//! Messages: send, receive, settle, look at, cancel, kick.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use slipring::lifecycle::Settlement;
use slipring::{Error, ErrorKind, MessageId, MessageState, PeekFilter, QueueId, ReceiveRequest};

use super::Api;
use super::failure::Failure;
use super::input::{InPath, Input, Params};
use super::model::{
    DeliveryView, MessageList, MessageView, Receive, ReceiveAnswer, Send, SendAnswer, SentView,
    Settle, SettleAnswer, SettledView,
};

/// Most messages of one receive or look, as whole bodies go into one answer.
const MESSAGES_MAX: u32 = 100;
/// Longest wait of a receive.
const WAIT_MAX: Duration = Duration::from_secs(600);
/// Most receipts of one call.
const RECEIPTS_MAX: usize = 1000;

pub(super) async fn send(
    State(api): State<Api>,
    InPath(name): InPath<String>,
    Input(send): Input<Send>,
) -> Result<Json<SendAnswer>, Failure> {
    let queue = api.engine().queue(&name).await?;
    let messages = send.messages.into_iter().map(|message| message.into_message());
    let messages = messages.collect::<Result<Vec<_>, Failure>>()?;
    let sent = queue.send_batch(messages).await?;
    let sent = sent.into_iter().map(|sent| SentView {
        id: sent.id.0,
        duplicate: sent.duplicate,
        due_ms: sent.due.map(|due| due.as_millis()),
    });
    Ok(Json(SendAnswer { sent: sent.collect() }))
}

pub(super) async fn receive(
    State(api): State<Api>,
    InPath(name): InPath<String>,
    Input(receive): Input<Receive>,
) -> Result<Json<ReceiveAnswer>, Failure> {
    let up_to = receive.up_to.unwrap_or(1);
    let wait = Duration::from_millis(receive.wait_ms.unwrap_or(0));
    if up_to > MESSAGES_MAX {
        return Err(Failure::invalid(format!("up_to is {up_to}; use 1 to {MESSAGES_MAX}")));
    }
    if wait > WAIT_MAX {
        let (asked, most) = (wait.as_millis(), WAIT_MAX.as_millis());
        return Err(Failure::invalid(format!("wait_ms is {asked}; use 0 to {most}")));
    }
    let queue = api.engine().queue(&name).await?;
    let mut request = ReceiveRequest::up_to(up_to).wait(wait);
    request.lease = receive.lease_ms.map(Duration::from_millis);
    let deliveries = tokio::select! {
        deliveries = queue.receive(request) => deliveries?,
        () = api.stopping() => Vec::new(),
    };
    let deliveries = deliveries.iter().map(|delivery| {
        DeliveryView::of(delivery, name.clone(), api.engine().seal(&delivery.receipt))
    });
    Ok(Json(ReceiveAnswer { deliveries: deliveries.collect() }))
}

pub(super) async fn ack(
    State(api): State<Api>,
    Input(settle): Input<Settle>,
) -> Result<Json<SettleAnswer>, Failure> {
    if settle.delay_ms.is_some() {
        return Err(Failure::invalid("delay_ms belongs to a nack"));
    }
    settle_all(&api, settle.receipts, Settlement::Ack).await
}

pub(super) async fn nack(
    State(api): State<Api>,
    Input(settle): Input<Settle>,
) -> Result<Json<SettleAnswer>, Failure> {
    let delay = settle.delay_ms.map(Duration::from_millis);
    if let Some(delay) = delay {
        api.engine().limits().check_duration("duration_seconds_max", delay)?;
    }
    settle_all(&api, settle.receipts, Settlement::Nack { delay, priority: None }).await
}

async fn settle_all(
    api: &Api,
    receipts: Vec<String>,
    how: Settlement,
) -> Result<Json<SettleAnswer>, Failure> {
    let count = receipts.len();
    if count == 0 || count > RECEIPTS_MAX {
        return Err(Failure::invalid(format!("{count} receipts; use 1 to {RECEIPTS_MAX}")));
    }
    let mut errors: Vec<Option<Error>> = vec![None; count];
    let mut by_queue: BTreeMap<QueueId, (Vec<usize>, Vec<_>)> = BTreeMap::new();
    for ((index, text), error) in receipts.iter().enumerate().zip(&mut errors) {
        match api.engine().unseal(text) {
            Ok(receipt) => {
                let (indices, entries) = by_queue.entry(receipt.queue).or_default();
                indices.push(index);
                entries.push((receipt, how));
            }
            Err(refusal) => *error = Some(refusal),
        }
    }
    for (id, (indices, entries)) in by_queue {
        let answers = settle_in(api, id, entries).await;
        for (index, answer) in indices.into_iter().zip(answers) {
            if let Some(error) = errors.get_mut(index) {
                *error = answer.err();
            }
        }
    }
    let results = receipts.into_iter().zip(errors);
    let results = results
        .map(|(receipt, error)| SettledView { receipt, error: error.map(Failure::from) })
        .collect();
    Ok(Json(SettleAnswer { results }))
}

/// Settles entries of one queue; answers one by one.
async fn settle_in(
    api: &Api,
    id: QueueId,
    entries: Vec<(slipring::Receipt, Settlement)>,
) -> Vec<Result<(), Error>> {
    let count = entries.len();
    let Some(queue) = api.queue_by_id(id).await else {
        let text = "the queue of this receipt does not exist any more";
        return vec![Err(Error::new(ErrorKind::QueueNotFound, text)); count];
    };
    match queue.settle(entries).await {
        Ok(answers) => answers.into_iter().map(|answer| answer.map(|_| ())).collect(),
        Err(error) => vec![Err(error); count],
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PeekQuery {
    state: Option<MessageState>,
    limit: Option<u32>,
}

pub(super) async fn peek(
    State(api): State<Api>,
    InPath(name): InPath<String>,
    Params(query): Params<PeekQuery>,
) -> Result<Json<MessageList>, Failure> {
    let limit = query.limit.unwrap_or(10);
    if limit == 0 || limit > MESSAGES_MAX {
        return Err(Failure::invalid(format!("limit is {limit}; use 1 to {MESSAGES_MAX}")));
    }
    let queue = api.engine().queue(&name).await?;
    let peeked = queue.peek(PeekFilter { state: query.state, limit }).await?;
    let messages = peeked.iter().map(|peeked| MessageView::peeked(peeked, name.clone()));
    Ok(Json(MessageList { messages: messages.collect() }))
}

pub(super) async fn lookup(
    State(api): State<Api>,
    InPath(id): InPath<u64>,
) -> Result<Json<MessageView>, Failure> {
    let Some(peeked) = api.engine().lookup(MessageId(id)).await? else {
        let text = format!("there is no message {id}");
        return Err(Error::new(ErrorKind::MessageGone, text).with("message", id).into());
    };
    let queue = api.queue_by_id(peeked.queue).await.map(|queue| queue.name().to_string());
    Ok(Json(MessageView::peeked(&peeked, queue.unwrap_or_default())))
}

pub(super) async fn cancel(
    State(api): State<Api>,
    InPath(id): InPath<u64>,
) -> Result<StatusCode, Failure> {
    api.engine().cancel(MessageId(id)).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn kick(
    State(api): State<Api>,
    InPath(id): InPath<u64>,
) -> Result<StatusCode, Failure> {
    api.engine().kick_message(MessageId(id)).await?;
    Ok(StatusCode::NO_CONTENT)
}
