//! A queue inside the engine: its settings, its combiners and its receives.

use std::sync::Arc;

use parking_lot::RwLock;

use crate::error::Error;
use crate::queue::{QueueId, QueueInfo};

use super::Services;
use super::combiner::{Combiner, CombinerClasses};
use super::counts::Counts;
use super::receives::{ReceiveParts, Receives};
use super::registry::Registry;
use super::schedule::Schedule;
use super::turns::{ExtendTurn, SendTurn, SettleTurn, TurnParts};

/// What the engine keeps for a queue.
pub(super) struct QueueCore {
    pub(super) id: QueueId,
    info: RwLock<Arc<QueueInfo>>,
    pub(super) sends: Arc<Combiner<SendTurn>>,
    pub(super) settlements: Arc<Combiner<SettleTurn>>,
    pub(super) extensions: Arc<Combiner<ExtendTurn>>,
    pub(super) receives: Arc<Receives>,
    pub(super) schedule: Arc<Schedule>,
    pub(super) counts: Arc<Counts>,
}

impl QueueCore {
    pub(super) fn new(
        info: Arc<QueueInfo>,
        services: &Services,
        registry: &Arc<Registry>,
    ) -> Arc<QueueCore> {
        let capabilities = services.store.capabilities();
        let turnstile = services.turnstile();
        let schedule = services.schedule_of(info.id);
        let counts = Arc::new(Counts::default());
        let receive_parts = ReceiveParts {
            store: Arc::clone(&services.store),
            clock: Arc::clone(&services.clock),
            runtime: services.runtime.clone(),
            timers: services.timers_of(info.id),
            schedule: Arc::clone(&schedule),
            doubts: Arc::clone(&services.doubts),
            waiters_max: services.limits.waiters_max,
            call_max: services.call_max(),
            turnstile: Arc::clone(&turnstile),
            counts: Arc::clone(&counts),
        };
        let receives = Receives::new(info.id, receive_parts, &services.waits);
        let parts = TurnParts {
            queue: info.id,
            fifo: info.settings.fifo,
            store: Arc::clone(&services.store),
            clock: Arc::clone(&services.clock),
            receives: Arc::clone(&receives),
            schedule: Arc::clone(&schedule),
            registry: Arc::clone(registry),
            counts: Arc::clone(&counts),
            along: capabilities.appends_and_claims && !capabilities.calls_one_by_one,
        };
        let classes = |lock, turn| CombinerClasses { lock, turn };
        Arc::new(QueueCore {
            id: info.id,
            info: RwLock::new(info),
            sends: services.combiner(
                SendTurn(parts.clone()),
                &turnstile,
                &classes("send_combiner_lock", "send_turn"),
            ),
            settlements: services.combiner(
                SettleTurn(parts.clone()),
                &turnstile,
                &classes("settle_combiner_lock", "settle_turn"),
            ),
            extensions: services.combiner(
                ExtendTurn(parts),
                &turnstile,
                &classes("extend_combiner_lock", "extend_turn"),
            ),
            receives,
            schedule,
            counts,
        })
    }

    /// The queue's settings and names at the moment.
    pub(super) fn info(&self) -> Arc<QueueInfo> {
        Arc::clone(&self.info.read())
    }

    /// Whether what is known of the queue is later than `info`.
    pub(super) fn is_newer(&self, info: &QueueInfo) -> bool {
        self.info.read().modified_at > info.modified_at
    }

    /// Takes over changed settings; a queue that may hand out again lets its receives look.
    pub(super) fn update(&self, info: Arc<QueueInfo>) {
        let before = std::mem::replace(&mut *self.info.write(), Arc::clone(&info));
        // Of very many queues most are as they were.
        if !Arc::ptr_eq(&before, &info) && before.settings != info.settings {
            if let Some(until) = info.settings.paused_until {
                self.schedule.due_at(until);
            }
            self.receives.notify(u64::MAX);
        }
    }

    /// Ends the receives with `error` and refuses what comes later with it, and sends: the number
    /// may be another queue's by then.
    pub(super) fn close(&self, error: &Error) {
        if self.schedule.queue.is_some() {
            self.schedule.retire();
        }
        self.receives.close(error.clone(), Some(error.clone()));
        self.sends.close(error.clone());
    }

    /// Refuses new calls, ends waits with nothing, and answers the calls that are in.
    pub(super) async fn shut_down(&self) {
        self.receives.close(Error::closed(), None);
        self.sends.close(Error::closed());
        self.settlements.close(Error::closed());
        self.extensions.close(Error::closed());
        self.sends.drained().await;
        self.settlements.drained().await;
        self.extensions.drained().await;
        self.receives.drained().await;
    }
}
