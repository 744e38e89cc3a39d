//! Queues: list, make, show, change, delete, pause.

use std::convert::Infallible;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Map, Value};
use slipring::{ErrorKind, Queue, QueueSettings, QueueStats};

use crate::declared::{changed, dead_letter, is_there, plain_settings};

use super::Api;
use super::failure::Failure;
use super::input::{By, InPath, Input, NoInput, Params};
use super::model::{NewQueue, Pause, QueuePage, QueueView};
use crate::audit::Act;

/// Most queues on a page; each costs a look at its statistics.
const PAGE_MAX: usize = 1000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListQuery {
    #[serde(default)]
    prefix: String,
    #[serde(default)]
    after: String,
    limit: Option<usize>,
}

pub(super) async fn list(
    State(api): State<Api>,
    Params(query): Params<ListQuery>,
) -> Result<Json<QueuePage>, Failure> {
    let limit = query.limit.unwrap_or(PAGE_MAX);
    if limit == 0 || limit > PAGE_MAX {
        return Err(Failure::invalid(format!("limit is {limit}; use 1 to {PAGE_MAX}")));
    }
    let all = api.engine().queues().await?;
    let mut wanted = all.into_iter().filter(|queue| {
        let name = queue.name();
        name.as_str() > query.after.as_str() && name.as_str().starts_with(&query.prefix)
    });
    let mut page = QueuePage { queues: Vec::new(), next: None };
    let queues: Vec<Queue> = wanted.by_ref().take(limit).collect();
    let stats = api.engine().stats_of(&queues).await?;
    for (queue, stats) in queues.iter().zip(stats) {
        match stats {
            Ok(stats) => page.queues.push(view(queue, Some(stats))),
            // Deleted since the list was made.
            Err(error) if error.kind() == ErrorKind::QueueNotFound => {}
            Err(error) => {
                tracing::warn!(%error, "a queue is listed without its statistics");
                page.queues.push(view(queue, None));
            }
        }
    }
    if wanted.next().is_some() {
        // Also where it was deleted meanwhile: the page ends there.
        page.next = queues.last().map(|queue| queue.name().to_string());
    }
    Ok(Json(page))
}

async fn shown(queue: &Queue) -> Result<QueueView, slipring::Error> {
    let stats = queue.stats().await?;
    Ok(view(queue, Some(stats)))
}

fn view(queue: &Queue, stats: Option<QueueStats>) -> QueueView {
    let info = queue.info();
    QueueView {
        name: info.name.to_string(),
        id: info.id.0,
        created_at_ms: info.created_at.as_millis(),
        modified_at_ms: info.modified_at.as_millis(),
        waiting: queue.waiting() as u64,
        settings: info.settings.clone(),
        stats,
        counts: Some(queue.counts()),
    }
}

pub(super) async fn create(
    State(api): State<Api>,
    By(who): By,
    Input(new): Input<NewQueue>,
) -> Result<(StatusCode, Json<QueueView>), Failure> {
    api.clone()
        .to_the_end(async move {
            let engine = api.engine();
            let plain = plain_settings(&new.name);
            let there = engine.queue(&new.name).await.is_ok();
            let queue = match new.settings {
                None => engine.queue_or_create(&new.name, &plain).await?,
                Some(given) => {
                    let settings = changed(&plain, &given).map_err(Failure::invalid)?;
                    check_dead_letter(&api, &settings).await?;
                    engine.create_queue(&new.name, settings).await?
                }
            };
            let status = if there { StatusCode::OK } else { StatusCode::CREATED };
            if !there {
                api.audit().queue(Act::Create, queue.name().as_str(), None, &who);
            }
            Ok((status, Json(shown(&queue).await?)))
        })
        .await
}

/// A dead-letter queue is there, and messages get to it. The engine asks for neither: there a queue
/// may be named before it is made.
async fn check_dead_letter(api: &Api, settings: &QueueSettings) -> Result<(), Failure> {
    let Some(name) = dead_letter(settings).map_err(Failure::invalid)? else { return Ok(()) };
    if is_there(api.engine(), name).await? {
        return Ok(());
    }
    Err(Failure::invalid(format!(
        "dead_letter is {name}, and there is no such queue; create it first"
    )))
}

pub(super) async fn show(
    State(api): State<Api>,
    InPath(name): InPath<String>,
) -> Result<Json<QueueView>, Failure> {
    let queue = api.engine().queue(&name).await?;
    Ok(Json(shown(&queue).await?))
}

/// Changes the settings that are named; null brings back the default.
pub(super) async fn change(
    State(api): State<Api>,
    InPath(name): InPath<String>,
    By(who): By,
    Input(changes): Input<Map<String, Value>>,
) -> Result<Json<QueueView>, Failure> {
    api.clone()
        .to_the_end(async move {
            let queue = api.engine().queue(&name).await?;
            if changes.keys().any(|key| key == "dead_letter" || key == "max_attempts") {
                let wanted = changed(&queue.info().settings, &changes).map_err(Failure::invalid)?;
                check_dead_letter(&api, &wanted).await?;
            }
            queue.change(|present| changed(present, &changes)).await?.map_err(Failure::invalid)?;
            api.audit().queue(Act::Configure, &name, None, &who);
            Ok(Json(shown(&queue).await?))
        })
        .await
}

pub(super) async fn delete(
    State(api): State<Api>,
    InPath(name): InPath<String>,
    By(who): By,
    Input(_): NoInput,
) -> Result<StatusCode, Failure> {
    api.clone()
        .to_the_end(async move {
            let queue = api.engine().queue(&name).await?;
            let messages = queue.stats().await.ok().map(|stats| stats.total());
            api.engine().delete_queue(&queue).await?;
            api.audit().queue(Act::Delete, &name, messages, &who);
            Ok(StatusCode::NO_CONTENT)
        })
        .await
}

pub(super) async fn pause(
    State(api): State<Api>,
    InPath(name): InPath<String>,
    By(who): By,
    Input(pause): Input<Pause>,
) -> Result<Json<QueueView>, Failure> {
    api.clone()
        .to_the_end(async move {
            let queue = api.engine().queue(&name).await?;
            let until = match pause.for_ms.map(std::time::Duration::from_millis) {
                Some(time) => {
                    api.engine().limits().check_duration("duration_seconds_max", time)?;
                    Some(api.engine().clock().now().after(time))
                }
                None => None,
            };
            let paused = |present: &QueueSettings| {
                let present = present.clone();
                Ok::<_, Infallible>(match until {
                    Some(_) => QueueSettings { paused_until: until, ..present },
                    None => QueueSettings { paused: true, ..present },
                })
            };
            let Ok(_) = queue.change(paused).await?;
            api.audit().queue(Act::Pause, &name, None, &who);
            Ok(Json(shown(&queue).await?))
        })
        .await
}

pub(super) async fn resume(
    State(api): State<Api>,
    InPath(name): InPath<String>,
    By(who): By,
    Input(_): NoInput,
) -> Result<Json<QueueView>, Failure> {
    api.clone()
        .to_the_end(async move {
            let queue = api.engine().queue(&name).await?;
            let resumed = |present: &QueueSettings| {
                Ok::<_, Infallible>(QueueSettings {
                    paused: false,
                    paused_until: None,
                    ..present.clone()
                })
            };
            let Ok(_) = queue.change(resumed).await?;
            api.audit().queue(Act::Resume, &name, None, &who);
            Ok(Json(shown(&queue).await?))
        })
        .await
}
