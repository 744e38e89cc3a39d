//! Loads (S15): parts are ordinary rows of the log whose numbers no lane has until the load is
//! published.

use std::borrow::Cow;
use std::collections::HashSet;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use slipring::clock::millis_ceil;
use slipring::store::Pass;
use slipring::{
    Error, ErrorKind, LoadId, LoadInfo, LoadPart, LoadState, LoadStore, NewMessage, PartInfo,
    QueueId, QueueSettings, Timestamp, load,
};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::constants;
use crate::escape;
use crate::fault::garbled;
use crate::pack::Packed;
use crate::patience::Patience;
use crate::queries;
use crate::rows::{maybe_moment, moment, number, queue, queue_to_sql, to_sql, value};
use crate::session::{Param, Session};
use crate::store::PostgresStore;

/// Parts whose numbers are reserved together, see the table `load_block`.
const BLOCK_PARTS: u64 = constants::LOAD_BLOCK_PARTS.unsigned_abs();
/// So many blocks are remembered as reserved; to reserve one again costs a call.
const BLOCKS_MAX: usize = 4096;
/// Most loads that one pass ends.
const PASS_LOADS_MAX: usize = 16;

/// Blocks that this process has reserved, with their load. The database may have lost one since,
/// for the commit of a reservation does not wait for its flush.
#[derive(Debug, Default)]
pub(crate) struct Reserved(Mutex<HashSet<(LoadId, u64)>>);

impl Reserved {
    /// Sees to it that a part has its numbers. Answers whether that is only remembered.
    async fn reserve(&self, session: &Session, load: LoadId, part: u32) -> Result<bool, Error> {
        let block = u64::from(part) / BLOCK_PARTS;
        if self.0.lock().contains(&(load, block)) {
            return Ok(true);
        }
        let (id, blocks) = (to_sql(load.0), vec![to_sql(block)]);
        let params: [Param<'_>; 2] = [(&id, Type::INT8), (&blocks, Type::INT8_ARRAY)];
        session.rows(&queries::LOAD_RESERVE, &params).await?;
        let mut reserved = self.0.lock();
        if reserved.len() >= BLOCKS_MAX {
            reserved.clear();
        }
        reserved.insert((load, block));
        Ok(false)
    }

    /// Forgets the blocks of a load: it is over, or they may be lost.
    fn forget(&self, load: LoadId) {
        self.0.lock().retain(|(of, _)| *of != load);
    }
}

/// The columns of a part. While messages are nothing but bodies of one priority and lease,
/// neighbours are packed, the other columns have one entry, and there are neither groups nor
/// headers.
struct Columns<'m> {
    rows: Packed<'m>,
    priorities: Vec<i64>,
    leases_ms: Vec<Option<i64>>,
    sizes: Vec<i64>,
    groups: Option<Vec<Option<Cow<'m, str>>>>,
    headers: Option<Vec<Option<String>>>,
}

impl<'m> Columns<'m> {
    fn of(messages: &'m [NewMessage]) -> Result<Columns<'m>, Error> {
        let terms = |message: &NewMessage| (message.priority, message.lease);
        let first = messages.first().map(terms);
        let bare = |message: &NewMessage| message.group.is_none() && message.headers.is_none();
        let plain = messages.iter().all(|m| bare(m) && Some(terms(m)) == first);
        let shown = if plain { messages.get(..1).unwrap_or_default() } else { messages };
        let size = |message: &NewMessage| message.size_bytes();
        let sizes = match plain {
            true => vec![to_sql(messages.iter().map(size).sum())],
            false => messages.iter().map(|message| to_sql(size(message))).collect(),
        };
        let mut headers = Vec::new();
        if !plain {
            for message in messages {
                let text = message.headers.as_deref().map(escape::headers_to_sql);
                headers.push(text.transpose()?);
            }
        }
        let group = |message: &'m NewMessage| message.group.as_deref().map(escape::to_sql);
        let lease = |message: &NewMessage| message.lease.map(|lease| to_sql(millis_ceil(lease)));
        Ok(Columns {
            rows: if plain { Packed::of(messages) } else { Packed::single(messages) },
            priorities: shown.iter().map(|message| i64::from(message.priority.0)).collect(),
            leases_ms: shown.iter().map(lease).collect(),
            sizes,
            groups: (!plain).then(|| messages.iter().map(group).collect()),
            headers: (!plain).then_some(headers),
        })
    }
}

async fn append(session: &Session, part: &LoadPart) -> Result<bool, Error> {
    let columns = Columns::of(&part.messages)?;
    let packs = (!columns.rows.counts.is_empty()).then_some(&columns.rows);
    let sizes = part.messages.iter().map(NewMessage::size_bytes).enumerate();
    let (at, largest) = sizes.max_by_key(|(_, size)| *size).unwrap_or_default();
    let (id, number) = (to_sql(part.load.0), i64::from(part.part));
    let checksum = i64::from_ne_bytes(part.checksum.to_ne_bytes());
    let (now, largest) = (to_sql(part.now.as_millis()), to_sql(largest));
    let count = i32::try_from(part.messages.len()).unwrap_or(i32::MAX);
    let at = i32::try_from(at).unwrap_or(i32::MAX);
    let params: [Param<'_>; 15] = [
        (&id, Type::INT8),
        (&number, Type::INT8),
        (&checksum, Type::INT8),
        (&now, Type::INT8),
        (&columns.rows.bodies, Type::BYTEA_ARRAY),
        (&columns.priorities, Type::INT8_ARRAY),
        (&columns.leases_ms, Type::INT8_ARRAY),
        (&columns.groups, Type::TEXT_ARRAY),
        (&columns.headers, Type::TEXT_ARRAY),
        (&packs.map(|packs| &packs.counts), Type::INT4_ARRAY),
        (&packs.map(|packs| &packs.each_bytes), Type::INT4_ARRAY),
        (&columns.sizes, Type::INT8_ARRAY),
        (&count, Type::INT4),
        (&largest, Type::INT8),
        (&at, Type::INT4),
    ];
    let row = session.row(&queries::LOAD_APPEND, &params).await?;
    value(&row.ok_or_else(|| garbled("no row"))?, 0)
}

/// Ends loads that nobody goes on with, some at a time; answers when the next one is over.
pub(crate) async fn prune(session: &Session, now: Timestamp) -> Result<Option<Timestamp>, Error> {
    let kept_ms = millis_ceil(load::KEPT);
    let until = to_sql(now.as_millis().saturating_sub(kept_ms));
    for _ in 0..PASS_LOADS_MAX {
        let params: [Param<'_>; 1] = [(&until, Type::INT8)];
        let rows = match session
            .turn(&queries::LOAD_PRUNE, &params, Patience::of(Duration::ZERO))
            .await
        {
            // Another server was faster, or it was published meanwhile.
            Err(error) if matches!(error.kind(), ErrorKind::LoadGone | ErrorKind::WrongState) => {
                return Ok(Some(now));
            }
            rows => rows?,
        };
        // Somebody appends to it, or has its queue: the next pass tries again.
        let Some(rows) = rows else { return Ok(None) };
        let row = rows.into_iter().next().ok_or_else(|| garbled("no row"))?;
        if value::<Option<bool>>(&row, 0)? != Some(true) {
            let touched = maybe_moment(&row, 1)?;
            return Ok(touched.map(|touched| touched.after(load::KEPT)));
        }
    }
    Ok(Some(now))
}

/// What a pass has done, with the moment at which the next load is over.
pub(crate) fn with_next(pass: Pass, next: Option<Timestamp>) -> Pass {
    Pass { next: [pass.next, next].into_iter().flatten().min(), ..pass }
}

fn info(row: &Row) -> Result<LoadInfo, Error> {
    Ok(LoadInfo {
        id: LoadId(number(row, 0)?),
        queue: queue(row, 1)?,
        state: if value(row, 2)? { LoadState::Published } else { LoadState::Open },
        begun_at: moment(row, 3)?,
        touched_at: moment(row, 4)?,
        parts: number(row, 5)?,
        messages: number(row, 6)?,
        bytes: number(row, 7)?,
    })
}

#[async_trait]
impl LoadStore for PostgresStore {
    async fn begin_load(&self, queue: QueueId, now: Timestamp) -> Result<LoadInfo, Error> {
        let (id, at) = (queue_to_sql(queue), to_sql(now.as_millis()));
        let params: [Param<'_>; 2] = [(&id, Type::INT4), (&at, Type::INT8)];
        let row = self.session.row(&queries::LOAD_BEGIN, &params).await?;
        let id = LoadId(number(&row.ok_or_else(|| garbled("no row"))?, 0)?);
        let (state, begun_at, touched_at) = (LoadState::Open, now, now);
        Ok(LoadInfo { id, queue, state, parts: 0, messages: 0, bytes: 0, begun_at, touched_at })
    }

    async fn append_load(&self, part: LoadPart) -> Result<bool, Error> {
        // How large a message may be is the queue's setting, which the function looks at.
        let any_size = QueueSettings { message_bytes_max: u64::MAX, ..QueueSettings::default() };
        load::check_part(&part.messages, &any_size)?;
        let remembered = self.reserved.reserve(&self.session, part.load, part.part).await?;
        match append(&self.session, &part).await {
            // A crash or a failover may have taken the reservation away. To reserve a block that is
            // there changes nothing, and what else may be wrong with the part is said again.
            Err(error) if remembered && error.kind() == ErrorKind::Invalid => {
                self.reserved.forget(part.load);
                self.reserved.reserve(&self.session, part.load, part.part).await?;
                append(&self.session, &part).await
            }
            answer => answer,
        }
    }

    async fn publish_load(
        &self,
        load: LoadId,
        messages: u64,
        now: Timestamp,
    ) -> Result<LoadInfo, Error> {
        let (id, count, at) = (to_sql(load.0), to_sql(messages), to_sql(now.as_millis()));
        let params: [Param<'_>; 3] = [(&id, Type::INT8), (&count, Type::INT8), (&at, Type::INT8)];
        let row = self.session.row(&queries::LOAD_PUBLISH, &params).await?;
        self.reserved.forget(load);
        info(&row.ok_or_else(|| garbled("no row"))?)
    }

    async fn abandon_load(&self, load: LoadId) -> Result<(), Error> {
        let id = to_sql(load.0);
        self.session.rows(&queries::LOAD_ABANDON, &[(&id, Type::INT8)]).await?;
        self.reserved.forget(load);
        Ok(())
    }

    async fn loads(&self) -> Result<Vec<LoadInfo>, Error> {
        self.session.rows(&queries::LOADS, &[]).await?.iter().map(info).collect()
    }

    async fn load_parts(
        &self,
        load: LoadId,
        from: u32,
        limit: u32,
    ) -> Result<Vec<PartInfo>, Error> {
        let (id, from, limit) = (to_sql(load.0), i64::from(from), i64::from(limit));
        let params: [Param<'_>; 3] = [(&id, Type::INT8), (&from, Type::INT8), (&limit, Type::INT8)];
        let rows = self.session.rows(&queries::LOAD_PARTS, &params).await?;
        let part = |row: &Row| {
            Ok(PartInfo {
                part: u32::try_from(number(row, 0)?).map_err(garbled)?,
                messages: number(row, 1)?,
                checksum: u64::from_ne_bytes(value::<i64>(row, 2)?.to_ne_bytes()),
            })
        };
        rows.iter().map(part).collect()
    }
}
