//! Queues themselves: creating, configuring, listing.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;
use slipring::{
    Error, ErrorKind, QueueId, QueueInfo, QueueName, QueueSettings, Reconfigured, Timestamp,
};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::escape;
use crate::fault::garbled;
use crate::queries;
use crate::rows::{moment, queue, queue_to_sql, to_sql, value};
use crate::seats::Seat;
use crate::session::{Param, Session};

/// Creates a queue, or answers the one that exists with equal settings; the flag says whether it
/// is new.
pub(crate) async fn create_queue(
    session: &Session,
    name: &QueueName,
    settings: &QueueSettings,
    now: Timestamp,
) -> Result<(QueueInfo, bool), Error> {
    let (settings, now) = (to_json(settings)?, to_sql(now.as_millis()));
    let name = name.as_str();
    let params = [(&name as _, Type::TEXT), (&settings as _, Type::JSONB), (&now as _, Type::INT8)];
    let row = session.row(&queries::CREATE_QUEUE, &params).await?;
    let row = row.ok_or_else(|| garbled("no queue"))?;
    Ok((info(&row)?, value(&row, 5)?))
}

/// Replaces a queue's settings, with `seen` only if they have not changed since.
pub(crate) async fn configure(
    session: &Session,
    queue: QueueId,
    seen: Option<Timestamp>,
    settings: &QueueSettings,
    now: Timestamp,
) -> Result<Reconfigured, Error> {
    let (settings, now) = (to_json(settings)?, to_sql(now.as_millis()));
    let seen = seen.map(|seen| to_sql(seen.as_millis()));
    let id = queue_to_sql(queue);
    let params: [Param<'_>; 4] =
        [(&id, Type::INT4), (&settings, Type::JSONB), (&now, Type::INT8), (&seen, Type::INT8)];
    let row = session.row_of(Seat::Queue(queue), &queries::CONFIGURE, &params).await?;
    let row = row.ok_or_else(|| Error::queue_not_found(queue))?;
    let present = info(&row)?;
    Ok(match value(&row, 5)? {
        true => Reconfigured::Done(present),
        false => Reconfigured::Others(present),
    })
}

/// The queues as they were listed last: of a hundred thousand few have changed the next time.
#[derive(Default)]
pub(crate) struct Listed(Mutex<Arc<List>>);

#[derive(Default)]
struct List {
    /// Since when the server runs that has answered it.
    server: Option<Timestamp>,
    queues: HashMap<QueueId, Arc<QueueInfo>>,
}

impl Listed {
    /// All queues, by name. Reads the numbers and times of all, and the settings of those that are
    /// new or have changed.
    pub(crate) async fn queues(&self, session: &Session) -> Result<Vec<Arc<QueueInfo>>, Error> {
        let known = Arc::clone(&self.0.lock());
        let mut queues = Vec::new();
        let mut unknown = Vec::new();
        let mut server = None;
        for row in &session.rows(&queries::QUEUE_VERSIONS, &[]).await? {
            let (id, created, modified) = (queue(row, 0)?, moment(row, 1)?, moment(row, 2)?);
            server = Some(moment(row, 3)?);
            match known.queues.get(&id).filter(|_| known.server == server) {
                Some(info) if (info.created_at, info.modified_at) == (created, modified) => {
                    queues.push(Arc::clone(info));
                }
                _ => unknown.push(queue_to_sql(id)),
            }
        }
        if !unknown.is_empty() {
            let params: [Param<'_>; 1] = [(&unknown, Type::INT4_ARRAY)];
            for row in &session.rows(&queries::QUEUES, &params).await? {
                queues.push(Arc::new(info(row)?));
            }
        }
        queues.sort_unstable_by(|one, other| one.name.as_str().cmp(other.name.as_str()));
        let listed = queues.iter().map(|info| (info.id, Arc::clone(info))).collect();
        *self.0.lock() = Arc::new(List { server, queues: listed });
        Ok(queues)
    }
}

fn info(row: &Row) -> Result<QueueInfo, Error> {
    Ok(QueueInfo {
        id: queue(row, 0)?,
        name: QueueName::new(value(row, 1)?)?,
        settings: from_json(value(row, 1)?, value(row, 2)?)?,
        created_at: moment(row, 3)?,
        modified_at: moment(row, 4)?,
    })
}

fn to_json(settings: &QueueSettings) -> Result<Value, Error> {
    let escaped = QueueSettings {
        attributes: mapped(settings, |text| escape::to_sql(text).into_owned()),
        ..settings.clone()
    };
    serde_json::to_value(escaped).map_err(garbled)
}

fn from_json(queue: &str, json: Value) -> Result<QueueSettings, Error> {
    let settings: QueueSettings = serde_json::from_value(json).map_err(|error| {
        let text = "the settings of a queue cannot be read: put them right with slipring.configure";
        Error::new(ErrorKind::Internal, text).with("queue", queue).caused_by(error)
    })?;
    let attributes = mapped(&settings, |text| escape::from_sql(text).into_owned());
    Ok(QueueSettings { attributes, ..settings })
}

fn mapped(
    settings: &QueueSettings,
    each: impl Fn(&str) -> String,
) -> std::collections::BTreeMap<String, String> {
    settings.attributes.iter().map(|(key, value)| (each(key), each(value))).collect()
}
