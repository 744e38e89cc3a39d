//! What goes through a whole queue: purge, redrive, kick. The long ones answer with one JSON
//! object per line, so that the caller sees how far they are.

use std::convert::Infallible;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use futures::stream;
use slipring::{Engine, Error, MoveRequest};
use tokio::sync::mpsc::{self, Sender};

use super::Api;
use super::failure::Failure;
use super::input::{By, InPath, Input};
use super::model::{Kick, Kicked, Progress, Redrive};
use crate::audit::{Act, Deed};

/// Messages of one step: small enough that others get their turn in between.
const STEP: u32 = 1_000;
/// Most messages of one kick.
const KICK_MAX: u32 = 10_000;

pub(super) async fn purge(
    State(api): State<Api>,
    InPath(name): InPath<String>,
    By(who): By,
) -> Result<Response, Failure> {
    let queue = api.engine().queue(&name).await?;
    let mut deed = api.audit().begin(Act::Purge, &name, who);
    Ok(in_lines(&api, move |lines| async move {
        let tell = |messages| {
            deed.so_far(messages);
            report(&lines, messages);
        };
        let purged = queue.purge(tell).await?;
        deed.done(purged);
        Ok(purged)
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
    // What arrives while messages are moved is left alone, or a failing consumer could keep the
    // redrive going for ever.
    let there = queue.stats().await?;
    let limit = redrive.limit.unwrap_or(u64::MAX).min(there.total());
    let engine = api.engine().clone();
    let mut deed = api.audit().begin(Act::Redrive, &name, who);
    Ok(in_lines(&api, move |lines| async move {
        let request = MoveRequest { source: queue.id(), target, limit: STEP };
        let moved = move_all(&engine, request, limit, &lines, &mut deed).await?;
        deed.done(moved);
        Ok(moved)
    }))
}

async fn move_all(
    engine: &Engine,
    request: MoveRequest,
    limit: u64,
    lines: &Sender<Progress>,
    deed: &mut Deed,
) -> Result<u64, Error> {
    let mut total = 0;
    while total < limit {
        let step = u32::try_from(limit - total).unwrap_or(STEP).min(STEP);
        let moved = engine.move_messages(MoveRequest { limit: step, ..request }).await?;
        if moved == 0 {
            break;
        }
        total += moved;
        deed.so_far(total);
        report(lines, total);
    }
    Ok(total)
}

/// Tells how far it is, unless the reader is behind; the last line always arrives.
fn report(lines: &Sender<Progress>, messages: u64) {
    let _ = lines.try_send(Progress { messages, ..Progress::default() });
}

/// Runs `work` and answers with its lines. It ends early when the caller leaves or the server
/// stops; what was done by then stays done.
fn in_lines<F>(api: &Api, work: impl FnOnce(Sender<Progress>) -> F) -> Response
where
    F: Future<Output = Result<u64, Error>> + std::marker::Send + 'static,
{
    let (lines, reader) = mpsc::channel(1);
    let work = work(lines.clone());
    let api = api.clone();
    tokio::spawn(async move {
        let result = tokio::select! {
            result = work => result.map_err(|error| {
                api.note(&error);
                Failure::from(error)
            }),
            () = api.stop().cancelled() => Err(Failure::stopping()),
            () = lines.closed() => return,
        };
        let last = match result {
            Ok(messages) => Progress { messages, done: true, error: None },
            Err(error) => Progress { error: Some(error), ..Progress::default() },
        };
        // Nobody reads when the caller has left.
        let _ = lines.send(last).await;
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
    let kicked = queue.kick(limit).await?;
    if kicked > 1 {
        api.audit().queue(Act::Kick, &name, Some(kicked), &who);
    }
    Ok(Json(Kicked { kicked }))
}
