//! What changes a queue or its messages from outside of the flow: settings, kicks, purges,
//! cancellations, redrives.
//!
//! The store does its part also when the caller goes away meanwhile, and then receives have to
//! hear of it all the same: these calls are tasks of their own.

use std::future::Future;
use std::sync::Arc;

use crate::admin::{ChosenMove, MoveRequest, Reconfigured};
use crate::clock::Timestamp;
use crate::error::{Error, Retry};
use crate::queue::{QueueId, QueueInfo, QueueSettings};

use super::isolated::{isolated, unanswered};
use super::queue::Queue;
use super::{Engine, EngineHandle};

impl EngineHandle {
    /// Runs a call to its end, also when who waits for it goes away. A shutdown waits for it.
    pub(super) async fn to_the_end<T: Send + 'static>(
        &self,
        call: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Error> {
        let registry = Arc::clone(&self.registry);
        let call = async move {
            let ended = isolated(call).await;
            // Messages may be ready all the same.
            if ended.as_ref().is_err_and(|error| error.retry() == Retry::Unknown) {
                registry.wake_all();
            }
            ended
        };
        let ended = self.tasks.spawn_on(call, &self.services.runtime).await;
        ended.unwrap_or_else(|_| Err(unanswered()))
    }
}

impl Queue {
    /// Makes up to `limit` parked messages ready, or delayed ones when none is parked; answers
    /// how many.
    ///
    /// # Errors
    /// `QueueNotFound`, storage errors.
    pub async fn kick(&self, limit: u32) -> Result<u64, Error> {
        let queue = self.clone();
        let call = async move {
            let services = &queue.engine.services;
            let kicked = services.store.kick(queue.core.id, limit, services.clock.now()).await;
            let kicked = kicked.map_err(|e| queue.named(e, "kick"))?;
            queue.core.receives.notify(kicked);
            Ok(kicked)
        };
        self.engine.to_the_end(call).await
    }

    /// Removes every message that is in the queue now (S14.5), in steps; `progress` hears how
    /// many have gone so far after each step. Answers how many went.
    ///
    /// # Errors
    /// `QueueNotFound`, storage errors; what went before the error stays gone.
    pub async fn purge(&self, mut progress: impl FnMut(u64) + Send) -> Result<u64, Error> {
        let sent_until = self.engine.services.clock.now();
        let mut total = 0;
        loop {
            let step = self.clone().purge_step(sent_until);
            let gone = self.engine.to_the_end(step).await?;
            if gone == 0 {
                return Ok(total);
            }
            total += gone;
            progress(total);
        }
    }

    async fn purge_step(self, sent_until: Timestamp) -> Result<u64, Error> {
        const STEP: u32 = 10_000;
        let gone = self.engine.services.store.purge(self.core.id, STEP, sent_until).await;
        // Room in flight, and groups that what went had kept back.
        self.core.receives.notify(u64::MAX);
        gone.map_err(|e| self.named(e, "purge"))
    }

    /// Replaces the queue's settings.
    ///
    /// # Errors
    /// `Invalid` or `LimitExceeded` naming the setting, `QueueNotFound`, storage errors.
    pub async fn configure(&self, settings: QueueSettings) -> Result<Arc<QueueInfo>, Error> {
        self.check_settings(&settings)?;
        let queue = self.clone();
        let call = async move {
            let services = &queue.engine.services;
            let store = async {
                let now = services.clock.now();
                let info = services.store.configure(queue.core.id, &settings, now).await;
                info.map_err(|e| queue.named(e, "configure"))
            };
            let (info, _, _seen) = queue.engine.change_list(store).await?;
            Ok(queue.configured(info))
        };
        self.engine.to_the_end(call).await
    }

    /// Changes some of the queue's settings: what others change at the same time, here or in
    /// another process, stays (S14.6). `change` gets the present settings, again when another
    /// was faster; what it answers in place of new ones is answered.
    ///
    /// # Errors
    /// As [`Queue::configure`].
    pub async fn change<E>(
        &self,
        change: impl Fn(&QueueSettings) -> Result<QueueSettings, E>,
    ) -> Result<Result<Arc<QueueInfo>, E>, Error> {
        let mut before = self.info();
        loop {
            let settings = match change(&before.settings) {
                Ok(settings) => settings,
                Err(refusal) => return Ok(Err(refusal)),
            };
            match self.reconfigure(before.modified_at, settings).await? {
                (true, info) => return Ok(Ok(info)),
                (false, info) => before = info,
            }
        }
    }

    /// Replaces settings that were read at `seen`; answers whether it did, and the present ones.
    async fn reconfigure(
        &self,
        seen: Timestamp,
        settings: QueueSettings,
    ) -> Result<(bool, Arc<QueueInfo>), Error> {
        self.check_settings(&settings)?;
        let queue = self.clone();
        let call = async move {
            let services = &queue.engine.services;
            let store = async {
                let (id, now) = (queue.core.id, services.clock.now());
                let done = services.store.reconfigure(id, seen, &settings, now).await;
                done.map_err(|e| queue.named(e, "configure"))
            };
            let (done, _, _seen) = queue.engine.change_list(store).await?;
            Ok(match done {
                Reconfigured::Done(info) => (true, queue.configured(info)),
                Reconfigured::Others(info) => (false, queue.configured(info)),
            })
        };
        self.engine.to_the_end(call).await
    }

    fn check_settings(&self, settings: &QueueSettings) -> Result<(), Error> {
        self.limits().check_settings(settings).map_err(|e| self.named(e, "configure"))
    }

    /// Takes in the settings that the store has now, if no later ones were taken in since.
    fn configured(&self, info: QueueInfo) -> Arc<QueueInfo> {
        let info = Arc::new(info);
        if self.core.is_newer(&info) {
            return info;
        }
        if let Some(until) = info.settings.paused_until {
            self.core.schedule.due_at(until);
        }
        self.core.update(Arc::clone(&info));
        info
    }
}

impl Engine {
    /// Moves a bounded number of messages between queues (redrive); answers how many. Zero means
    /// there is nothing left to move.
    ///
    /// # Errors
    /// `QueueNotFound`, storage errors.
    pub async fn move_messages(&self, request: MoveRequest) -> Result<u64, Error> {
        let handle = Arc::clone(&self.0);
        let call = async move {
            let now = handle.services.clock.now();
            let moved = handle.services.store.move_messages(request, now).await;
            let moved = moved.map_err(|e| e.during("move_messages"))?;
            let mut total = 0;
            for (target, count) in moved {
                total += count;
                if let Some(core) = handle.registry.by_id(target) {
                    core.receives.notify(count);
                }
            }
            Ok(total)
        };
        self.0.to_the_end(call).await
    }

    /// Moves chosen messages between queues (redrive); answers one by one where each is now.
    ///
    /// # Errors
    /// `LimitExceeded` for more than [`crate::admin::CHOSEN_MAX`] messages, `QueueNotFound`,
    /// `Invalid` when source and target are the same, storage errors. For an entry `MessageGone`
    /// when it is not in the source, `WrongState` when it is leased or delayed, `QueueNotFound`
    /// when it has no queue to go back to.
    pub async fn move_chosen(
        &self,
        request: ChosenMove,
    ) -> Result<Vec<Result<QueueId, Error>>, Error> {
        request.check()?;
        let handle = Arc::clone(&self.0);
        let call = async move {
            let now = handle.services.clock.now();
            let moved = handle.services.store.move_chosen(&request, now).await;
            let moved = moved.map_err(|e| e.during("move_chosen"))?;
            for target in moved.iter().flatten() {
                if let Some(core) = handle.registry.by_id(*target) {
                    core.receives.notify(1);
                }
            }
            Ok(moved)
        };
        self.0.to_the_end(call).await
    }
}
