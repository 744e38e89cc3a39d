//! Fetching large bodies that are about to be removed into memory, by a reader.
//!
//! SQLite reads every page of a body to remove it. From a disk that takes a hundred times as long
//! as from memory, and a removal holds the writer.

use rusqlite::MAIN_DB;
use slipring::QueueId;

use crate::fault::Outcome;
use crate::image;
use crate::open::PAGE_BYTES;
use crate::position::{SEQ_MAX, from_sql, position, to_sql};
use crate::reader::Reader;
use crate::room::STEP_BYTES;
use crate::statements::Query;

/// A step is so many messages at most.
const STEP_MESSAGES_MAX: u64 = 1000;
/// One look reads so much of a body, or an eighth of it: each look walks the pages from the first.
const PART_BYTES: u64 = 1 << 20;
const PARTS_MAX: u64 = 8;
/// So much is read at a time.
const READ_BYTES: usize = 64 << 10;

/// A body outside the page of its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Body {
    table: &'static str,
    id: u64,
    bytes: u64,
}

/// What one look reads of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    body: Body,
    from: u64,
    until: u64,
}

impl Body {
    /// The looks that read all of it.
    pub(crate) fn parts(self) -> impl Iterator<Item = Part> {
        let bytes = PART_BYTES.max(self.bytes.div_ceil(PARTS_MAX));
        let part = move |n| Part { body: self, from: n * bytes, until: (n + 1) * bytes };
        (0..self.bytes.div_ceil(bytes)).map(part)
    }
}

impl Reader<'_> {
    /// The large bodies among what the next step of a purge or of retention removes, at most. What
    /// was sent later than such a step wants is named too; nothing comes of that.
    pub(crate) fn first_to_go(&mut self, queue: QueueId) -> Outcome<Vec<Body>> {
        let mut first = First::default();
        for lane in image::lanes(&self.db, queue)? {
            let mut statement = self.db.get(Query::LogSums)?;
            let (from, until) = (position(lane.id, 0), position(lane.id, SEQ_MAX));
            let mut rows = statement.query([from, until, STEP_MESSAGES_MAX].map(to_sql))?;
            while !first.is_full()
                && let Some(row) = rows.next()?
            {
                first.add("message", from_sql(row.get(0)?), from_sql(row.get(1)?));
            }
        }
        if !first.is_full() {
            let values = [to_sql(queue.0), i64::MAX, to_sql(STEP_MESSAGES_MAX)];
            let mut statement = self.db.get(Query::ItemSizes)?;
            let mut rows = statement.query(values)?;
            while !first.is_full()
                && let Some(row) = rows.next()?
            {
                first.add("item", from_sql(row.get(0)?), from_sql(row.get(1)?));
            }
        }
        Ok(first.bodies)
    }

    /// The same of the deleted queue that is cleared away next.
    pub(crate) fn first_to_clear(&mut self) -> Outcome<Vec<Body>> {
        let queue = self.db.first(Query::DeletedQueue, (), |row| row.get::<_, i64>(0))?;
        queue.map_or(Ok(Vec::new()), |queue| self.first_to_go(QueueId(from_sql(queue))))
    }

    /// Reads a part of a body and forgets it; fails where the message is gone.
    pub(crate) fn fetch(&mut self, part: Part) -> Outcome<()> {
        let Part { body, mut from, until } = part;
        let connection = self.db.connection();
        let blob = connection.blob_open(MAIN_DB, body.table, "body", to_sql(body.id), true)?;
        let mut buffer = vec![0; READ_BYTES];
        while from < until {
            let read = blob.read_at(&mut buffer, usize::try_from(from).unwrap_or(usize::MAX))?;
            if read == 0 {
                break;
            }
            from += read as u64;
        }
        Ok(())
    }
}

/// The first messages of a queue, up to a step.
#[derive(Default)]
struct First {
    bodies: Vec<Body>,
    bytes: u64,
    messages: u64,
}

impl First {
    fn is_full(&self) -> bool {
        self.bytes >= STEP_BYTES || self.messages >= STEP_MESSAGES_MAX
    }

    fn add(&mut self, table: &'static str, id: u64, bytes: u64) {
        self.messages += 1;
        self.bytes += bytes;
        if bytes > PAGE_BYTES {
            self.bodies.push(Body { table, id, bytes });
        }
    }
}
