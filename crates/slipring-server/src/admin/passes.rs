//! What goes through a whole queue: purge, redrive, kick. The long ones answer with one JSON
//! object per line, so that the caller sees how far they are.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use futures::stream;
use slipring::{ChosenMove, Engine, Error, MessageId, MoveRequest, Retry};
use tokio::sync::mpsc::{self, Sender};
use tokio_util::sync::CancellationToken;

use super::Api;
use super::failure::Failure;
use super::input::{By, InPath, Input, NoInput};
use super::model::{Kick, Kicked, MovedView, Progress, Redrive};
use crate::audit::{Act, Deed, Who};

/// Messages of one step: small enough that others get their turn in between.
const STEP: u32 = 1_000;
/// Most messages of one kick.
const KICK_MAX: u32 = 10_000;

pub(super) async fn purge(
    State(api): State<Api>,
    InPath(name): InPath<String>,
    By(who): By,
    Input(_): NoInput,
) -> Result<Response, Failure> {
    let queue = api.engine().queue(&name).await?;
    let mut deed = api.audit().begin(Act::Purge, &name, who);
    Ok(in_lines(&api, api.stop(), move |lines| async move {
        let tell = |messages| {
            deed.so_far(messages);
            lines.report(Progress { messages, ..Progress::default() });
        };
        let purged = queue.purge(tell).await?;
        deed.done(purged);
        Ok(Progress { messages: purged, ..Progress::default() })
    }))
}

pub(super) async fn redrive(
    State(api): State<Api>,
    InPath(name): InPath<String>,
    By(who): By,
    Input(redrive): Input<Redrive>,
) -> Result<Response, Failure> {
    let queue = api.engine().queue(&name).await?;
    let target = match &redrive.target {
        Some(target) => Some(api.engine().queue(target).await?.id()),
        None => None,
    };
    if target == Some(queue.id()) {
        return Err(Failure::invalid("target is the queue itself; name another one"));
    }
    if let Some(ids) = redrive.ids {
        let messages: Vec<MessageId> = ids.into_iter().map(MessageId).collect();
        if messages.is_empty() || redrive.limit.is_some() {
            return Err(Failure::invalid("give ids, at least one, or a limit"));
        }
        let request = ChosenMove { source: queue.id(), target, messages };
        request.check()?;
        return Ok(move_chosen(&api, request, &name, who));
    }
    let there = queue.stats().await?;
    let steps = Steps {
        // What arrives while messages are moved is left alone, or a failing consumer could keep
        // the redrive going for ever.
        limit: redrive.limit.unwrap_or(u64::MAX).min(there.total()),
        free: redrive.limit.unwrap_or(u64::MAX).min(there.ready + there.parked),
    };
    let engine = api.engine().clone();
    let mut deed = api.audit().begin(Act::Redrive, &name, who);
    Ok(in_lines(&api, api.stop(), move |lines| async move {
        let request = MoveRequest { source: queue.id(), target, limit: STEP };
        let moved = move_all(&engine, request, &steps, &lines, &mut deed).await?;
        deed.done(moved);
        Ok(Progress { messages: moved, left: Some(steps.left(moved)), ..Progress::default() })
    }))
}

/// How far a redrive of all goes.
struct Steps {
    /// It ends when so many are moved.
    limit: u64,
    /// How many of those could be moved when it began.
    free: u64,
}

impl Steps {
    fn left(&self, moved: u64) -> u64 {
        self.free.saturating_sub(moved)
    }
}

async fn move_all(
    engine: &Engine,
    request: MoveRequest,
    steps: &Steps,
    lines: &Lines,
    deed: &mut Deed,
) -> Result<u64, Error> {
    let mut total = 0;
    while total < steps.limit {
        let step = u32::try_from(steps.limit - total).unwrap_or(STEP).min(STEP);
        let moved = engine.move_messages(MoveRequest { limit: step, ..request }).await?;
        if moved == 0 {
            break;
        }
        total += moved;
        deed.so_far(total);
        let left = Some(steps.left(total));
        lines.report(Progress { messages: total, left, ..Progress::default() });
    }
    Ok(total)
}

fn move_chosen(api: &Api, request: ChosenMove, name: &str, who: Who) -> Response {
    let deed = api.audit().begin(Act::Redrive, name, who);
    let (engine, api) = (api.engine().clone(), api.clone());
    // One step, which the engine takes also when the caller leaves or the server stops: it is
    // waited for.
    in_lines(&api.clone(), &CancellationToken::new(), move |_| async move {
        let ids = request.messages.clone();
        let acting = api.to_the_end(async move {
            let answers = engine.move_chosen(request).await?;
            let messages = answers.iter().filter(|answer| answer.is_ok()).count() as u64;
            deed.done(messages);
            Ok::<_, Error>((messages, answers))
        });
        let (messages, answers) = acting.await?;
        let mut results = Vec::with_capacity(answers.len());
        for (id, answer) in ids.into_iter().zip(answers) {
            let queue = match &answer {
                Ok(target) => api.queue_by_id(*target).await,
                Err(_) => Ok(None),
            };
            // It is moved, also where it cannot be said what the queue is called.
            let queue = queue.ok().flatten().map(|queue| queue.name().to_string());
            results.push(MovedView { id: id.0, queue, error: answer.err().map(Failure::from) });
        }
        Ok(Progress { messages, results: Some(results), ..Progress::default() })
    })
}

/// Where a long operation tells how far it is.
#[derive(Clone)]
struct Lines {
    to: Sender<Progress>,
    /// What it told last, for the last line where it fails.
    messages: Arc<AtomicU64>,
}

impl Lines {
    /// Tells how far it is, unless the reader is behind; the last line always arrives.
    fn report(&self, progress: Progress) {
        self.messages.store(progress.messages, Ordering::Relaxed);
        let _ = self.to.try_send(progress);
    }
}

/// Runs `work` and answers with its lines, the last of which it answers itself. It ends early when
/// the caller leaves or at `stop`; what was done by then stays done.
fn in_lines<F>(api: &Api, stop: &CancellationToken, work: impl FnOnce(Lines) -> F) -> Response
where
    F: Future<Output = Result<Progress, Error>> + std::marker::Send + 'static,
{
    let (to, reader) = mpsc::channel(1);
    let lines = Lines { to, messages: Arc::default() };
    let work = work(lines.clone());
    let (api, stop) = (api.clone(), stop.clone());
    let acting = api.0.acts.token();
    tokio::spawn(async move {
        let result = tokio::select! {
            result = work => result.map_err(|error| {
                api.note(&error);
                Failure::from(error)
            }),
            // The engine ends the step that it is at.
            () = stop.cancelled() => Err(Error::closed().with_retry(Retry::Unknown).into()),
            () = lines.to.closed() => return,
        };
        // Its end is written down; nobody has to wait for whoever reads the last line.
        drop(acting);
        let last = match result {
            Ok(progress) => Progress { done: true, ..progress },
            Err(error) => {
                let messages = lines.messages.load(Ordering::Relaxed);
                Progress { messages, error: Some(error), ..Progress::default() }
            }
        };
        // Nobody reads when the caller has left.
        let _ = lines.to.send(last).await;
    });
    let body = stream::unfold(reader, |mut reader| async move {
        let line = reader.recv().await?;
        Some((Ok::<Bytes, Infallible>(in_json(&line)), reader))
    });
    ([(CONTENT_TYPE, "application/x-ndjson")], Body::from_stream(body)).into_response()
}

fn in_json(line: &Progress) -> Bytes {
    // A number, a flag and texts always fit JSON.
    let mut text = serde_json::to_vec(line).unwrap_or_default();
    text.push(b'\n');
    text.into()
}

pub(super) async fn kick(
    State(api): State<Api>,
    InPath(name): InPath<String>,
    By(who): By,
    Input(kick): Input<Kick>,
) -> Result<Json<Kicked>, Failure> {
    let limit = kick.limit.unwrap_or(KICK_MAX);
    if limit == 0 || limit > KICK_MAX {
        return Err(Failure::invalid(format!("limit is {limit}; use 1 to {KICK_MAX}")));
    }
    let queue = api.engine().queue(&name).await?;
    let audit = api.audit().clone();
    let kicking = api.to_the_end(async move {
        let kicked = queue.kick(limit).await?;
        if kicked > 1 {
            audit.queue(Act::Kick, &name, Some(kicked), &who);
        }
        Ok::<_, Failure>(Json(Kicked { kicked }))
    });
    kicking.await
}

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;
    use axum::http::Request;
    use serde_json::{Value, json};
    use slipring::stores::MemoryStore;
    use slipring::{EngineOptions, NewMessage, QueueSettings};
    use slipring_conformance::fault::{Fault, FaultyStore, Verb};
    use tokio_util::task::TaskTracker;

    use crate::admin::{MayRetry, Parts, protocol};
    use crate::audit::Audit;
    use crate::budget::Budget;
    use crate::deadlines::Deadlines;

    use super::*;

    /// More than any call here takes of a runtime with one thread.
    const TURNS: usize = 200;

    fn stopped_by(engine: &Engine, stop: &CancellationToken) -> Api {
        let parts = Parts {
            protocols: Vec::new(),
            stop: stop.clone(),
            leaving: Budget::new(1 << 20, 0),
            deadlines: Deadlines::default(),
            audit: Audit::new(Arc::clone(engine.clock()), None),
            caller: protocol(),
            acts: TaskTracker::new(),
        };
        Api::new(engine.clone(), parts)
    }

    /// The last line of a redrive of one message when the server stops in the middle of its step.
    async fn stopped_at(verb: Verb, body: impl FnOnce(MessageId) -> Value) -> Progress {
        let store = FaultyStore::new(MemoryStore::shared());
        let engine = Engine::open(store.clone(), EngineOptions::default()).await.unwrap();
        let queue = engine.create_queue("q", QueueSettings::default()).await.unwrap();
        engine.create_queue("target", QueueSettings::default()).await.unwrap();
        let sent = queue.send(NewMessage::new("x")).await.unwrap();
        let stop = CancellationToken::new();
        let api = stopped_by(&engine, &stop);
        store.plan(verb, 1, Fault::HangAfter);
        let request = Request::post("/v1/queues/q/redrive");
        let request = request.header(CONTENT_TYPE, "application/json");
        let request = request.body(Bytes::from(body(sent.id).to_string())).unwrap();
        let answer = api.call(request).await;
        store.hanging(1).await;
        stop.cancel();
        for _ in 0..TURNS {
            tokio::task::yield_now().await;
        }
        store.release();
        let lines = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
        let last = lines.trim_ascii_end().rsplit(|byte| *byte == b'\n').next().unwrap();
        serde_json::from_slice(last).unwrap()
    }

    #[tokio::test]
    async fn a_stop_breaks_no_step_of_chosen_messages_off_and_leaves_open_what_another_did() {
        let chosen = |id: MessageId| json!({ "target": "target", "ids": [id.0] });
        let last = stopped_at(Verb::MoveChosen, chosen).await;
        assert_eq!((last.done, last.messages), (true, 1), "{last:?}");
        let last = stopped_at(Verb::MoveMessages, |_| json!({ "target": "target" })).await;
        assert_eq!((last.done, last.messages), (false, 0), "{last:?}");
        assert_eq!(last.error.unwrap().retry, MayRetry::Unknown);
    }
}
