//! Administration of the memory store: queues, inspection, bulk moves.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_trait::async_trait;

use crate::admin::{AdminStore, ChosenMove, MoveRequest, PeekFilter, Peeked, Reconfigured};
use crate::clock::Timestamp;
use crate::error::{Error, ErrorKind};
use crate::lease::ReceiptKey;
use crate::lifecycle;
use crate::message::MessageId;
use crate::queue::{QueueId, QueueInfo, QueueName, QueueSettings, QueueStats};
use crate::waits::NamedMutex;

use super::moves::is_movable;
use super::queue::{QueueState, gone};
use super::{MemoryStore, Queue, held, lock_both};

#[async_trait]
impl AdminStore for MemoryStore {
    async fn receipt_key(&self) -> Result<ReceiptKey, Error> {
        self.check_open()?;
        Ok(self.key.clone())
    }

    async fn create_queue(
        &self,
        name: &QueueName,
        settings: &QueueSettings,
        now: Timestamp,
    ) -> Result<(QueueInfo, bool), Error> {
        self.check_open()?;
        let mut names = self.names.write();
        if let Some(queue) = names.get(name) {
            let info = QueueInfo::clone(&queue.state.lock().info);
            if info.settings == *settings {
                return Ok((info, false));
            }
            let text = format!("queue {name} exists with other settings");
            return Err(Error::new(ErrorKind::QueueExists, text).with("queue", name));
        }
        let id = QueueId(self.next_queue.fetch_add(1, Ordering::Relaxed));
        let (name, settings) = (name.clone(), settings.clone());
        let info = QueueInfo { id, name, settings, created_at: now, modified_at: now };
        let state = QueueState::new(
            info.clone(),
            Arc::clone(&self.directory),
            Arc::clone(&self.next_message),
        );
        let state = NamedMutex::new(Arc::clone(&self.lock_class), state);
        let queue = Arc::new(Queue { id, state });
        self.queues.insert(id.0, Arc::clone(&queue));
        names.insert(info.name.clone(), queue);
        Ok((info, true))
    }

    async fn configure(
        &self,
        queue: QueueId,
        settings: &QueueSettings,
        now: Timestamp,
    ) -> Result<QueueInfo, Error> {
        let queue = self.queue(queue)?;
        let mut state = queue.lock()?;
        state.configure(settings, now)
    }

    async fn reconfigure(
        &self,
        queue: QueueId,
        seen: Timestamp,
        settings: &QueueSettings,
        now: Timestamp,
    ) -> Result<Reconfigured, Error> {
        let queue = self.queue(queue)?;
        let mut state = queue.lock()?;
        if state.info.modified_at != seen {
            return Ok(Reconfigured::Others(QueueInfo::clone(&state.info)));
        }
        state.configure(settings, now).map(Reconfigured::Done)
    }

    async fn delete_queue(&self, queue: QueueId) -> Result<(), Error> {
        let queue = self.queue(queue)?;
        let mut names = self.names.write();
        let mut state = queue.lock()?;
        names.remove(&state.info.name);
        self.queues.remove(queue.id.0);
        drop(names);
        state.deleted = true;
        while let Some(id) = state.messages.keys().next().copied() {
            state.remove(id);
        }
        drop(state);
        self.loads.end_of_queue(queue.id);
        Ok(())
    }

    async fn delete_if_empty(&self, queue: QueueId, seen: Timestamp) -> Result<bool, Error> {
        let queue = self.queue(queue)?;
        // A load that is begun after this look has nothing that is published; it ends with its
        // queue.
        if self.loads.has_open(queue.id) {
            return Ok(false);
        }
        let mut names = self.names.write();
        let mut state = queue.lock()?;
        let empty = state.messages.is_empty() && state.remembered.next_end().is_none();
        if !empty || state.info.modified_at != seen {
            return Ok(false);
        }
        names.remove(&state.info.name);
        self.queues.remove(queue.id.0);
        state.deleted = true;
        drop((state, names));
        self.loads.end_of_queue(queue.id);
        Ok(true)
    }

    async fn queues(&self) -> Result<Vec<Arc<QueueInfo>>, Error> {
        self.check_open()?;
        Ok(self.all().iter().map(|queue| Arc::clone(&queue.state.lock().info)).collect())
    }

    async fn stats(&self, queue: QueueId, _now: Timestamp) -> Result<QueueStats, Error> {
        Ok(self.queue(queue)?.lock()?.stats())
    }

    async fn peek(
        &self,
        queue: QueueId,
        filter: PeekFilter,
        _now: Timestamp,
    ) -> Result<Vec<Peeked>, Error> {
        Ok(self.queue(queue)?.lock()?.peek(filter))
    }

    async fn lookup(&self, message: MessageId, _now: Timestamp) -> Result<Option<Peeked>, Error> {
        Ok(self.with_message(message, |state| state.show(message))?.flatten())
    }

    async fn cancel(&self, message: MessageId, _now: Timestamp) -> Result<QueueId, Error> {
        let cancelled = self.with_message(message, |state| {
            let stored = state.messages.get(&message).ok_or_else(|| gone(message))?;
            if !lifecycle::free_to_take(stored.state) {
                return Err(held(message));
            }
            state.remove(message);
            Ok(state.info.id)
        })?;
        cancelled.unwrap_or_else(|| Err(gone(message)))
    }

    async fn kick(&self, queue: QueueId, limit: u32, now: Timestamp) -> Result<u64, Error> {
        let queue = self.queue(queue)?;
        let mut state = queue.lock()?;
        let limit = limit as usize;
        let parked = state.orders.parked.iter().map(|(_, id)| *id);
        let mut ids: Vec<MessageId> = parked.take(limit).collect();
        if ids.is_empty() {
            ids.extend(state.orders.delayed.iter().map(|(_, id)| *id).take(limit));
        }
        Ok(ids.into_iter().filter(|id| state.kick(*id, now)).count() as u64)
    }

    async fn kick_message(&self, message: MessageId, now: Timestamp) -> Result<QueueId, Error> {
        let kicked = self.with_message(message, |state| {
            state.kick(message, now).then_some(state.info.id).ok_or_else(|| {
                let text = format!("message {message} is neither parked nor delayed");
                Error::new(ErrorKind::WrongState, text).with("message", message)
            })
        })?;
        kicked.unwrap_or_else(|| Err(gone(message)))
    }

    async fn purge(&self, queue: QueueId, limit: u32, sent_until: Timestamp) -> Result<u64, Error> {
        let queue = self.queue(queue)?;
        let mut state = queue.lock()?;
        state.remembered.forget_sent(sent_until);
        let sent = state.messages.values().map(|stored| &stored.message);
        let goes = sent.filter(|message| message.sent_at <= sent_until).map(|message| message.id);
        let ids: Vec<MessageId> = goes.take(limit as usize).collect();
        Ok(ids.into_iter().filter(|id| state.remove(*id)).count() as u64)
    }

    async fn move_messages(
        &self,
        request: MoveRequest,
        _now: Timestamp,
    ) -> Result<Vec<(QueueId, u64)>, Error> {
        let (source, target) = self.ends(request.source, request.target)?;
        let mut moved = Vec::new();
        for (target, ids) in self.movable(&source, target.as_ref(), request.limit)? {
            let (mut from, mut to) = lock_both(&source, &target);
            let free = |from: &QueueState, id| from.messages.get(&id).is_some_and(is_movable);
            let mut count = 0;
            for id in ids {
                if !to.deleted && free(&from, id) {
                    from.move_to(id, &mut to, false);
                    count += 1;
                }
            }
            if count > 0 {
                moved.push((target.id, count));
            }
        }
        Ok(moved)
    }

    async fn move_chosen(
        &self,
        request: &ChosenMove,
        _now: Timestamp,
    ) -> Result<Vec<Result<QueueId, Error>>, Error> {
        let (source, target) = self.ends(request.source, request.target)?;
        let ids = request.messages.iter();
        Ok(ids.map(|id| self.move_one(&source, target.as_ref(), *id)).collect())
    }

    async fn check(&self) -> Result<(), Error> {
        self.check_open()
    }

    async fn close(&self) -> Result<(), Error> {
        self.closed.store(true, Ordering::Release);
        Ok(())
    }
}
