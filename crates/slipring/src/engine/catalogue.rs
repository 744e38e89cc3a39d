//! The list of queues: creating, finding, deleting, and reading it anew.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::{MutexGuard, broadcast};

use crate::clock::Timestamp;
use crate::error::{Error, ErrorKind};
use crate::queue::{QueueId, QueueInfo, QueueName, QueueSettings};

use super::core::QueueCore;
use super::{Engine, EngineHandle, Listed, Queue};

/// A queue that others delete each time it was made is given up after so many.
const CREATIONS_MAX: u32 = 3;

impl Engine {
    /// Creates a queue, or returns the existing one with equal settings (S14.2).
    ///
    /// # Errors
    /// `Invalid` or `LimitExceeded` naming the setting, `QueueExists` naming those that differ,
    /// storage errors.
    pub async fn create_queue(&self, name: &str, settings: QueueSettings) -> Result<Queue, Error> {
        match self.create(name, &settings).await {
            Err(error) if error.kind() == ErrorKind::QueueExists => {
                // One that was made by a send is kept from now on, and is as if it had been made
                // by this call.
                if self.keep_if_made_by_a_send(name, &settings).await? {
                    return self.create(name, &settings).await;
                }
                Err(error)
            }
            created => created,
        }
    }

    async fn create(&self, name: &str, settings: &QueueSettings) -> Result<Queue, Error> {
        let name = QueueName::new(name)?;
        let services = &self.0.services;
        let refused = |error: Error| error.during("create_queue").with("queue", &name);
        services.limits.check_settings(settings).map_err(refused)?;
        let known = self.0.registry.by_name(&name).is_some();
        if !known && self.0.registry.len() >= services.limits.queues_max {
            let most = services.limits.queues_max as u64;
            return Err(refused(Error::limit("queues_max", most, most + 1)));
        }
        let (engine, wanted, asked) = (self.clone(), name.clone(), settings.clone());
        let call = async move {
            for _ in 0..CREATIONS_MAX {
                if let Some(queue) = engine.created(&name, &asked).await? {
                    return Ok(queue);
                }
            }
            Err(Error::queue_not_found(&name).during("create_queue"))
        };
        match self.0.to_the_end(call).await {
            Err(error) if error.kind() == ErrorKind::QueueExists => {
                Err(self.with_differences(error, &wanted, settings).await)
            }
            created => created,
        }
    }

    /// The queue that is there in the end; `None` where another has deleted it meanwhile.
    async fn created(
        &self,
        name: &QueueName,
        settings: &QueueSettings,
    ) -> Result<Option<Queue>, Error> {
        let services = &self.0.services;
        let store = async {
            let created = services.store.create_queue(name, settings, services.clock.now()).await;
            created.map_err(|e| e.during("create_queue"))
        };
        let ((info, new), moved, mut seen) = self.0.change_list(store).await?;
        let id = info.id;
        match self.0.registry.by_id(id) {
            Some(core) if core.is_newer(&info) => Ok(Some(self.handle(core))),
            // It may have been deleted since, and made again under another number.
            None if moved => {
                seen.changes = None;
                self.refresh_from(seen).await?;
                Ok(self.0.registry.by_id(id).map(|core| self.handle(core)))
            }
            _ => Ok(Some(self.enter(Arc::new(info), !new))),
        }
    }

    /// Says in which settings the queue that exists differs from the one that was asked for.
    async fn with_differences(
        &self,
        error: Error,
        name: &QueueName,
        asked: &QueueSettings,
    ) -> Error {
        if error.context().iter().any(|(key, _)| *key == "settings") {
            return error;
        }
        // It may be deleted by now, or the store may not answer: then the rest has to do.
        let Ok(queue) = self.queue(name.as_str()).await else { return error };
        let names = queue.info().settings.differences(asked);
        if names.is_empty() { error } else { error.with("settings", names.join(", ")) }
    }

    /// The queue of this name.
    ///
    /// # Errors
    /// `QueueNotFound`, `Invalid` for a name out of range, storage errors.
    pub async fn queue(&self, name: &str) -> Result<Queue, Error> {
        let name = QueueName::new(name)?;
        if let Some(core) = self.0.registry.by_name(&name) {
            return Ok(self.handle(core));
        }
        if self.capabilities().shared {
            // Another process may have made it a moment ago.
            self.refresh().await?;
            if let Some(core) = self.0.registry.by_name(&name) {
                return Ok(self.handle(core));
            }
        }
        Err(Error::queue_not_found(&name))
    }

    /// The queue of this name, created with `settings` when there is none.
    ///
    /// # Errors
    /// As [`Engine::create_queue`].
    pub async fn queue_or_create(
        &self,
        name: &str,
        settings: &QueueSettings,
    ) -> Result<Queue, Error> {
        let checked = QueueName::new(name)?;
        if self.0.registry.by_name(&checked).is_some() {
            self.keep_if_made_by_a_send(name, settings).await?;
        }
        // It may have gone meanwhile.
        if let Some(core) = self.0.registry.by_name(&checked) {
            return Ok(self.handle(core));
        }
        match self.create_queue(name, settings.clone()).await {
            Err(error) if error.kind() == ErrorKind::QueueExists => self.queue(name).await,
            answer => answer,
        }
    }

    /// Takes the attribute of a queue away that was made by a send, for one who asks for it by
    /// these settings; answers whether it had it.
    async fn keep_if_made_by_a_send(
        &self,
        name: &str,
        asked: &QueueSettings,
    ) -> Result<bool, Error> {
        let flag = QueueSettings::MADE_BY_A_SEND;
        if asked.attributes.contains_key(flag) {
            return Ok(false);
        }
        let queue = match self.queue(name).await {
            Ok(queue) => queue,
            Err(error) if error.kind() == ErrorKind::QueueNotFound => return Ok(true),
            Err(error) => return Err(error),
        };
        if !queue.info().settings.attributes.contains_key(flag) {
            return Ok(false);
        }
        let without = |present: &QueueSettings| {
            let mut settings = present.clone();
            settings.attributes.remove(flag);
            Ok::<_, Infallible>(settings)
        };
        match queue.change(without).await {
            Ok(Ok(_)) => Ok(true),
            Err(error) if error.kind() == ErrorKind::QueueNotFound => {
                self.note_deletions().await?;
                Ok(true)
            }
            Err(error) => Err(error),
        }
    }

    /// Forgets the queues that were deleted by now, by this process or another one. For who was
    /// told `QueueNotFound` by the store.
    ///
    /// # Errors
    /// Storage errors.
    pub async fn note_deletions(&self) -> Result<(), Error> {
        if self.capabilities().shared {
            return self.refresh().await;
        }
        // Who deletes forgets the queue before this one has its turn.
        drop(self.0.catalogue.lock().await);
        Ok(())
    }

    /// The queue of this name, if this engine knows it; asks no store.
    pub fn known_queue(&self, name: &str) -> Option<Queue> {
        let name = QueueName::new(name).ok()?;
        self.0.registry.by_name(&name).map(|core| self.handle(core))
    }

    /// The names of queues that this engine gets to know from now on, made by itself or by others.
    /// One who is too slow misses some, and is told so.
    pub fn new_queues(&self) -> broadcast::Receiver<QueueName> {
        self.0.new_queues.subscribe()
    }

    /// How many queues this engine has got to know so far. While the number stays, a name of which
    /// [`Engine::known_queue`] knew none has none.
    pub fn queues_seen(&self) -> u64 {
        self.0.queues_seen.load(Ordering::Acquire)
    }

    /// The queue of this number, if this engine knows it.
    pub fn queue_by_id(&self, id: QueueId) -> Option<Queue> {
        self.0.registry.by_id(id).map(|core| self.handle(core))
    }

    /// All queues, by name.
    ///
    /// # Errors
    /// Storage errors.
    pub async fn queues(&self) -> Result<Vec<Queue>, Error> {
        if self.capabilities().shared {
            self.refresh().await?;
        }
        Ok(self.known_queues())
    }

    /// Deletes a queue with all that is in it (S4.2); its receives end with `QueueNotFound`.
    ///
    /// # Errors
    /// `QueueNotFound`, storage errors.
    pub async fn delete_queue(&self, queue: &Queue) -> Result<(), Error> {
        let (handle, core) = (Arc::clone(&self.0), Arc::clone(&queue.core));
        let call = async move {
            let store = async {
                let deleted = handle.services.store.delete_queue(core.id).await;
                deleted.map_err(|e| e.during("delete_queue"))
            };
            let ((), _, mut seen) = handle.change_list(store).await?;
            seen.epoch += 1;
            handle.registry.remove(&core);
            Ok(())
        };
        self.0.to_the_end(call).await
    }

    /// Deletes a queue in which there is nothing, neither a message nor what is remembered of one,
    /// and whose settings are those that this engine knows; answers whether it did. Its receives
    /// end with `QueueNotFound` then, and so does a send that comes later: none is lost. Does
    /// nothing on a store that cannot, see [`crate::Capabilities::deletes_if_empty`].
    ///
    /// # Errors
    /// `QueueNotFound`, storage errors.
    pub async fn delete_queue_if_empty(&self, queue: &Queue) -> Result<bool, Error> {
        if !self.capabilities().deletes_if_empty {
            return Ok(false);
        }
        let (handle, core) = (Arc::clone(&self.0), Arc::clone(&queue.core));
        let call = async move {
            let mut seen = handle.catalogue.lock().await;
            let modified = core.info().modified_at;
            let deleted = handle.services.store.delete_if_empty(core.id, modified).await;
            let deleted = deleted.map_err(|e| e.during("delete_queue"))?;
            if deleted {
                seen.epoch += 1;
                handle.registry.remove(&core);
            }
            Ok(deleted)
        };
        self.0.to_the_end(call).await
    }

    /// Takes over the store's list of queues: new ones, changed settings, deletions. Costs one look
    /// at the store's count of changes when it has not moved since the last time.
    pub(super) async fn refresh(&self) -> Result<(), Error> {
        self.refresh_from(self.0.catalogue.lock().await).await
    }

    /// The same with the lock of the list, and what was seen of it last.
    pub(super) async fn refresh_from(&self, mut seen: MutexGuard<'_, Listed>) -> Result<(), Error> {
        let handle = &self.0;
        let changes = handle.services.store.queue_changes().await?;
        // Taken out until the list is there: who fails or goes away meanwhile has not seen it.
        let before = seen.changes.take();
        if before == Some(changes) {
            seen.changes = before;
            return Ok(());
        }
        let infos = handle.services.store.queues().await?;
        seen.changes = Some(changes);
        seen.epoch += 1;
        // By the name as well: a database that has lost its last changes in a failover may have
        // given the number of a queue again.
        let alive: HashMap<QueueId, &QueueName> =
            infos.iter().map(|info| (info.id, &info.name)).collect();
        let known = handle.registry.all();
        for gone in known.iter().filter(|core| alive.get(&core.id) != Some(&&core.info().name)) {
            handle.registry.remove(gone);
        }
        // At the start the deadlines of all queues are taken over together.
        let late = before.is_some() || handle.registry.len() > 0;
        for info in infos {
            self.enter(info, late);
        }
        Ok(())
    }

    /// Enters a queue, or brings it up to date. `holds_some` says that a new one may hold messages
    /// with deadlines already.
    fn enter(&self, info: Arc<QueueInfo>, holds_some: bool) -> Queue {
        let registry = &self.0.registry;
        let paused_until = info.settings.paused_until;
        let mut new = false;
        let name = info.name.clone();
        let core = registry.put(info, |info| {
            new = true;
            // Before it can be found by its name.
            self.0.queues_seen.fetch_add(1, Ordering::Release);
            QueueCore::new(info, &self.0.services, registry)
        });
        if new {
            // Nobody may be listening.
            let _ = self.0.new_queues.send(name);
        }
        if new && holds_some && core.schedule.queue.is_some() {
            core.schedule.due_at(Timestamp::from_millis(0));
            core.schedule.expire_at(Timestamp::from_millis(0));
        }
        if let Some(until) = paused_until.filter(|_| new) {
            core.schedule.due_at(until);
        }
        self.handle(core)
    }

    pub(super) fn handle(&self, core: Arc<QueueCore>) -> Queue {
        Queue { engine: Arc::clone(&self.0), core }
    }
}

impl EngineHandle {
    /// Changes the list of queues in the store. Answers also whether queues may have left the
    /// registry meanwhile, and the lock under which the store's answer is to be taken in.
    ///
    /// A store with transactions of users may wait long for one of these. Calls that read the list
    /// do not wait with it.
    pub(super) async fn change_list<T>(
        &self,
        store: impl Future<Output = Result<T, Error>>,
    ) -> Result<(T, bool, MutexGuard<'_, Listed>), Error> {
        let mut seen = self.catalogue.lock().await;
        let before = seen.epoch;
        let changed = if self.services.store.capabilities().transactions {
            drop(seen);
            let changed = store.await?;
            seen = self.catalogue.lock().await;
            changed
        } else {
            store.await?
        };
        let moved = seen.epoch != before;
        Ok((changed, moved, seen))
    }
}
