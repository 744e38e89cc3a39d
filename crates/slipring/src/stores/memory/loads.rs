//! Loads of the memory store: parts are kept aside until their load is published.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use parking_lot::MutexGuard;

use crate::clock::Timestamp;
use crate::error::Error;
use crate::load::{self, LoadId, LoadInfo, LoadPart, LoadState, LoadStore, PartInfo};
use crate::message::{NewMessage, Priority};
use crate::queue::QueueId;
use crate::waits::{NamedMutex, WaitClass};

use super::MemoryStore;

/// The loads of a store. The lock comes before that of a queue.
#[derive(Debug)]
pub(super) struct Loads {
    all: NamedMutex<BTreeMap<LoadId, Kept>>,
    next: AtomicU64,
}

#[derive(Debug)]
struct Kept {
    info: LoadInfo,
    parts: BTreeMap<u32, Part>,
    priorities: BTreeSet<Priority>,
}

#[derive(Debug)]
struct Part {
    checksum: u64,
    messages: Vec<NewMessage>,
}

impl Loads {
    pub(super) fn new(class: &Arc<WaitClass>) -> Loads {
        Loads { all: NamedMutex::new(Arc::clone(class), BTreeMap::new()), next: AtomicU64::new(1) }
    }

    /// Ends what was not touched for so long that it is not kept any more.
    pub(super) fn forget(&self, now: Timestamp) {
        self.all.lock().retain(|_, load| load.info.touched_at.after(load::KEPT) > now);
    }

    /// Whether a queue has a load that is open.
    pub(super) fn has_open(&self, queue: QueueId) -> bool {
        let all = self.all.lock();
        all.values().any(|load| load.info.queue == queue && load.info.state == LoadState::Open)
    }

    /// Ends the loads of a queue that is deleted.
    pub(super) fn end_of_queue(&self, queue: QueueId) {
        self.all.lock().retain(|_, load| load.info.queue != queue);
    }
}

impl Kept {
    /// Takes in a part; answers whether it was not there.
    fn take_in(&mut self, part: LoadPart) -> Result<bool, Error> {
        let LoadPart { part, checksum, now, messages, .. } = part;
        if let Some(known) = self.parts.get(&part) {
            let same = known.checksum == checksum && known.messages.len() == messages.len();
            return if same { Ok(false) } else { Err(load::other_part(self.info.id, part)) };
        }
        let mut priorities = self.priorities.clone();
        for (index, message) in messages.iter().enumerate() {
            priorities.insert(message.priority);
            if priorities.len() > load::PRIORITIES_MAX {
                return Err(load::too_many_priorities(index));
            }
        }
        self.priorities = priorities;
        self.info.parts += 1;
        self.info.messages += messages.len() as u64;
        self.info.bytes += messages.iter().map(NewMessage::size_bytes).sum::<u64>();
        self.info.touched_at = now;
        self.parts.insert(part, Part { checksum, messages });
        Ok(true)
    }
}

/// The load with a number, which has to be open.
fn open<'a>(
    loads: &'a mut MutexGuard<'_, BTreeMap<LoadId, Kept>>,
    id: LoadId,
) -> Result<&'a mut Kept, Error> {
    let load = loads.get_mut(&id).ok_or_else(|| load::gone(id))?;
    match load.info.state {
        LoadState::Open => Ok(load),
        LoadState::Published => Err(load::published(id)),
    }
}

#[async_trait]
impl LoadStore for MemoryStore {
    async fn begin_load(&self, queue: QueueId, now: Timestamp) -> Result<LoadInfo, Error> {
        let queue = self.queue(queue)?;
        let mut loads = self.loads.all.lock();
        let state = queue.lock()?;
        load::check_queue(&state.info.settings)
            .map_err(|error| error.with("queue", &state.info.name))?;
        let of_queue = loads.values().filter(|load| load.info.queue == queue.id);
        let open = of_queue.filter(|load| load.info.state == LoadState::Open).count();
        if open >= load::OPEN_MAX {
            return Err(load::too_many(open as u64).with("queue", &state.info.name));
        }
        let info = LoadInfo {
            id: LoadId(self.loads.next.fetch_add(1, Ordering::Relaxed)),
            queue: queue.id,
            state: LoadState::Open,
            parts: 0,
            messages: 0,
            bytes: 0,
            begun_at: now,
            touched_at: now,
        };
        let (parts, priorities) = (BTreeMap::new(), BTreeSet::new());
        loads.insert(info.id, Kept { info, parts, priorities });
        Ok(info)
    }

    async fn append_load(&self, part: LoadPart) -> Result<bool, Error> {
        self.check_open()?;
        let mut loads = self.loads.all.lock();
        let load = open(&mut loads, part.load)?;
        let queue = self.queue(load.info.queue)?;
        let info = Arc::clone(&queue.lock()?.info);
        load::check_part(&part.messages, &info.settings)
            .and_then(|()| load.take_in(part))
            .map_err(|error| error.with("queue", &info.name))
    }

    async fn publish_load(
        &self,
        load: LoadId,
        messages: u64,
        now: Timestamp,
    ) -> Result<LoadInfo, Error> {
        self.check_open()?;
        let mut loads = self.loads.all.lock();
        let kept = loads.get_mut(&load).ok_or_else(|| load::gone(load))?;
        if kept.info.messages != messages {
            return Err(load::other_count(load, kept.info.messages, messages));
        }
        if kept.info.state == LoadState::Published {
            return Ok(kept.info);
        }
        let queue = self.queue(kept.info.queue)?;
        let mut state = queue.lock()?;
        let of_part = |part: &Part| part.messages.clone();
        let all = kept.parts.values().flat_map(of_part).collect();
        state.append_unit(all, now)?;
        kept.info.state = LoadState::Published;
        kept.info.touched_at = now;
        kept.parts.clear();
        Ok(kept.info)
    }

    async fn abandon_load(&self, load: LoadId) -> Result<(), Error> {
        self.check_open()?;
        let mut loads = self.loads.all.lock();
        open(&mut loads, load)?;
        loads.remove(&load);
        Ok(())
    }

    async fn loads(&self) -> Result<Vec<LoadInfo>, Error> {
        self.check_open()?;
        Ok(self.loads.all.lock().values().map(|load| load.info).collect())
    }

    async fn load_parts(
        &self,
        load: LoadId,
        from: u32,
        limit: u32,
    ) -> Result<Vec<PartInfo>, Error> {
        self.check_open()?;
        let mut loads = self.loads.all.lock();
        let parts = open(&mut loads, load)?.parts.range(from..).take(limit as usize);
        let info = |(number, part): (&u32, &Part)| PartInfo {
            part: *number,
            messages: part.messages.len() as u64,
            checksum: part.checksum,
        };
        Ok(parts.map(info).collect())
    }
}
