//! Messages: send, receive, settle, look at, cancel, kick.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use slipring::lifecycle::Settlement;
use slipring::{
    Delivery, Error, ErrorKind, MessageId, Queue, QueueId, Reason, Receipt, ReceiveRequest,
};

use super::failure::Failure;
use super::input::{InPath, Input, NoInput};
use super::model::{
    DeliveryView, Extend, MessageView, Receive, ReceiveAnswer, Send, SendAnswer, SentView, Settle,
    SettleAnswer, SettledView,
};
use super::routes::Polled;
use super::{Api, answer};
use crate::budget::Room;

/// Most messages of one receive or look, as whole bodies go into one answer.
pub(super) const MESSAGES_MAX: u32 = 100;
/// What a single message is expected to have before it is looked at.
const LOOKED_UP_BYTES: usize = 1 << 20;
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
) -> Result<Response, Failure> {
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
    let (deliveries, mut room) = receive_from(&api, &queue, request).await?;
    let bytes = deliveries.iter().map(|delivery| delivery.message.body.len()).sum();
    room.shrink(bytes);
    // Of a receive that waited, too: others find less room, whether there is any for this one.
    room.grow(bytes);
    let deliveries = deliveries.iter().map(|delivery| {
        DeliveryView::of(delivery, name.clone(), api.engine().seal(&delivery.receipt))
    });
    let answer = ReceiveAnswer { deliveries: deliveries.collect() };
    let mut response = answer::json(&api, answer, bytes, room).await?;
    if !wait.is_zero() {
        response.extensions_mut().insert(Polled);
    }
    Ok(response)
}

/// Receives. What is there at once has room before it is fetched; who waits is given nothing while
/// the room is scarce.
async fn receive_from(
    api: &Api,
    queue: &Queue,
    request: ReceiveRequest,
) -> Result<(Vec<Delivery>, Room), Failure> {
    if request.wait.is_zero() {
        let room = answer::room(api, most_bytes(queue, request.up_to).await?).await?;
        return Ok((queue.receive(request).await?, room));
    }
    let clock = &**api.engine().clock();
    let until = clock.now().after(request.wait);
    let receive = |wait| queue.receive(ReceiveRequest { wait, ..request });
    tokio::select! {
        received = api.leaving().while_plenty(clock, until, receive) => {
            Ok((received.unwrap_or_else(|| Ok(Vec::new()))?, api.leaving().room()))
        }
        () = api.stop().cancelled() => Ok((Vec::new(), api.leaving().room())),
    }
}

/// The most bytes that so many messages of a queue can have.
pub(super) async fn most_bytes(queue: &Queue, messages: u32) -> Result<usize, Failure> {
    let each = queue.info().settings.message_bytes_max;
    let held = queue.stats().await?.bytes;
    Ok(usize::try_from(each.saturating_mul(messages.into()).min(held)).unwrap_or(usize::MAX))
}

pub(super) async fn ack(
    State(api): State<Api>,
    Input(settle): Input<Settle>,
) -> Result<Json<SettleAnswer>, Failure> {
    if settle.delay_ms.is_some() || settle.reason.is_some() {
        return Err(Failure::invalid("delay_ms and reason belong to a nack"));
    }
    each(&api, settle.receipts, Lease::Settle(Settlement::Ack)).await
}

pub(super) async fn nack(
    State(api): State<Api>,
    Input(settle): Input<Settle>,
) -> Result<Json<SettleAnswer>, Failure> {
    let delay = settle.delay_ms.map(Duration::from_millis);
    if let Some(delay) = delay {
        api.engine().limits().check_duration("duration_seconds_max", delay)?;
    }
    let reason = settle.reason.as_deref().map(Reason::new);
    let how = Settlement::Nack { delay, priority: None, reason };
    each(&api, settle.receipts, Lease::Settle(how)).await
}

pub(super) async fn extend(
    State(api): State<Api>,
    Input(extend): Input<Extend>,
) -> Result<Json<SettleAnswer>, Failure> {
    let time = extend.lease_ms.map(Duration::from_millis);
    if let Some(time) = time {
        api.engine().limits().check_duration("duration_seconds_max", time)?;
    }
    each(&api, extend.receipts, Lease::Extend(time)).await
}

/// What becomes of leases.
enum Lease {
    /// They end.
    Settle(Settlement),
    /// They last for so long from now on, or for the message's or the queue's time.
    Extend(Option<Duration>),
}

impl Lease {
    async fn of(
        &self,
        queue: &Queue,
        receipts: Vec<Receipt>,
    ) -> Result<Vec<Result<(), Error>>, Error> {
        let receipts = receipts.into_iter();
        Ok(match self {
            Lease::Settle(how) => {
                let answers =
                    queue.settle(receipts.map(|receipt| (receipt, how.clone())).collect());
                answers.await?.into_iter().map(|answer| answer.map(drop)).collect()
            }
            Lease::Extend(time) => {
                let answers = queue.extend(receipts.map(|receipt| (receipt, *time)).collect());
                answers.await?.into_iter().map(|answer| answer.map(drop)).collect()
            }
        })
    }
}

/// Ends or prolongs leases of any queues, queue by queue; answers one by one.
async fn each(
    api: &Api,
    receipts: Vec<String>,
    lease: Lease,
) -> Result<Json<SettleAnswer>, Failure> {
    let count = receipts.len();
    if count == 0 || count > RECEIPTS_MAX {
        return Err(Failure::invalid(format!("{count} receipts; use 1 to {RECEIPTS_MAX}")));
    }
    let mut errors: Vec<Option<Error>> = vec![None; count];
    let mut by_queue: BTreeMap<QueueId, (Vec<usize>, Vec<Receipt>)> = BTreeMap::new();
    for ((index, text), error) in receipts.iter().enumerate().zip(&mut errors) {
        match api.engine().unseal(text) {
            Ok(receipt) => {
                let (indices, entries) = by_queue.entry(receipt.queue).or_default();
                indices.push(index);
                entries.push(receipt);
            }
            Err(refusal) => *error = Some(refusal),
        }
    }
    for (id, (indices, entries)) in by_queue {
        let answers = match api.queue_by_id(id).await {
            Ok(Some(queue)) => lease.of(&queue, entries).await,
            Err(error) => Err(error),
            Ok(None) => {
                let text = "the queue of this receipt does not exist any more";
                Err(Error::new(ErrorKind::QueueNotFound, text))
            }
        };
        let answers = answers.unwrap_or_else(|error| vec![Err(error); indices.len()]);
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

pub(super) async fn lookup(
    State(api): State<Api>,
    InPath(id): InPath<u64>,
) -> Result<Response, Failure> {
    let mut room = answer::room(&api, LOOKED_UP_BYTES).await?;
    let Some(peeked) = api.engine().lookup(MessageId(id)).await? else {
        let text = format!("there is no message {id}");
        return Err(Error::new(ErrorKind::MessageGone, text).with("message", id).into());
    };
    let queue = api.queue_by_id(peeked.queue).await?.map(|queue| queue.name().to_string());
    room.shrink(peeked.message.body.len());
    let view = MessageView::peeked(&peeked, queue.unwrap_or_default());
    Ok(answer::holding(Json(view).into_response(), room))
}

pub(super) async fn cancel(
    State(api): State<Api>,
    InPath(id): InPath<u64>,
    Input(_): NoInput,
) -> Result<StatusCode, Failure> {
    api.engine().cancel(MessageId(id)).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn kick(
    State(api): State<Api>,
    InPath(id): InPath<u64>,
    Input(_): NoInput,
) -> Result<StatusCode, Failure> {
    api.engine().kick_message(MessageId(id)).await?;
    Ok(StatusCode::NO_CONTENT)
}
