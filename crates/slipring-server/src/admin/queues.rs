//! Queues: list, make, show, change, delete, pause.

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
use crate::audit::{Act, Who};

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
    let (engine, audit) = (api.engine().clone(), api.audit().clone());
    let plain = plain_settings(&new.name);
    let there = engine.queue(&new.name).await.is_ok();
    let given = match &new.settings {
        None => None,
        Some(given) => {
            let settings = changed(&plain, given).map_err(Failure::invalid)?;
            check_dead_letter(&api, &settings).await?;
            Some(settings)
        }
    };
    let creating = api.to_the_end(async move {
        let queue = match given {
            None => engine.queue_or_create(&new.name, &plain).await?,
            Some(settings) => engine.create_queue(&new.name, settings).await?,
        };
        if !there {
            audit.queue(Act::Create, queue.name().as_str(), None, &who);
        }
        Ok::<_, Failure>(queue)
    });
    let queue = creating.await?;
    let status = if there { StatusCode::OK } else { StatusCode::CREATED };
    Ok((status, Json(shown(&queue).await?)))
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
    let queue = api.engine().queue(&name).await?;
    if changes.keys().any(|key| key == "dead_letter" || key == "max_attempts") {
        let wanted = changed(&queue.info().settings, &changes).map_err(Failure::invalid)?;
        check_dead_letter(&api, &wanted).await?;
    }
    let change = move |present: &QueueSettings| changed(present, &changes);
    changed_to_the_end(&api, &queue, Act::Configure, who, change).await
}

/// Changes settings of a queue and writes it down, also when the caller leaves meanwhile.
async fn changed_to_the_end(
    api: &Api,
    queue: &Queue,
    act: Act,
    who: Who,
    change: impl Fn(&QueueSettings) -> Result<QueueSettings, String> + Send + Sync + 'static,
) -> Result<Json<QueueView>, Failure> {
    let (changing, audit) = (queue.clone(), api.audit().clone());
    let acting = api.to_the_end(async move {
        changing.change(change).await?.map_err(Failure::invalid)?;
        audit.queue(act, changing.name().as_str(), None, &who);
        Ok::<_, Failure>(())
    });
    acting.await?;
    Ok(Json(shown(queue).await?))
}

pub(super) async fn delete(
    State(api): State<Api>,
    InPath(name): InPath<String>,
    By(who): By,
    Input(_): NoInput,
) -> Result<StatusCode, Failure> {
    let queue = api.engine().queue(&name).await?;
    let messages = queue.stats().await.ok().map(|stats| stats.total());
    let (engine, audit) = (api.engine().clone(), api.audit().clone());
    let deleting = api.to_the_end(async move {
        engine.delete_queue(&queue).await?;
        audit.queue(Act::Delete, &name, messages, &who);
        Ok::<_, Failure>(StatusCode::NO_CONTENT)
    });
    deleting.await
}

pub(super) async fn pause(
    State(api): State<Api>,
    InPath(name): InPath<String>,
    By(who): By,
    Input(pause): Input<Pause>,
) -> Result<Json<QueueView>, Failure> {
    let queue = api.engine().queue(&name).await?;
    let until = match pause.for_ms.map(std::time::Duration::from_millis) {
        Some(time) => {
            api.engine().limits().check_duration("duration_seconds_max", time)?;
            Some(api.engine().clock().now().after(time))
        }
        None => None,
    };
    let paused = move |present: &QueueSettings| {
        let present = present.clone();
        Ok(match until {
            Some(_) => QueueSettings { paused_until: until, ..present },
            None => QueueSettings { paused: true, ..present },
        })
    };
    changed_to_the_end(&api, &queue, Act::Pause, who, paused).await
}

pub(super) async fn resume(
    State(api): State<Api>,
    InPath(name): InPath<String>,
    By(who): By,
    Input(_): NoInput,
) -> Result<Json<QueueView>, Failure> {
    let queue = api.engine().queue(&name).await?;
    let resumed = |present: &QueueSettings| {
        Ok(QueueSettings { paused: false, paused_until: None, ..present.clone() })
    };
    changed_to_the_end(&api, &queue, Act::Resume, who, resumed).await
}
