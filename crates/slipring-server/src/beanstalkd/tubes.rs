//! The registry of tubes: a tube is there while a connection refers to it or a job is in it.
//!
//! References are counted here; whether a job is in it, the store says. The registry is locked
//! when tubes are used, watched, ignored or listed, never for a job.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use parking_lot::Mutex;
use slipring::{Engine, Error, ErrorKind, Queue, QueueName, QueueStats};
use slipring_wire::beanstalkd::TubeName;

use super::tube::Tube;

/// All tubes that are referenced, or were and may still hold jobs.
pub(super) struct Tubes {
    state: Mutex<State>,
    /// Keeps the default tube for ever.
    default: TubeName,
}

struct State {
    by_name: HashMap<TubeName, Arc<Tube>>,
    next: u64,
}

impl State {
    fn enter(&mut self, name: &TubeName) -> Arc<Tube> {
        let born = self.next;
        let tube = self.by_name.entry(name.clone()).or_insert_with(|| {
            self.next += 1;
            Arc::new(Tube::new(name.clone(), born))
        });
        Arc::clone(tube)
    }
}

/// How a connection refers to a tube.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Use,
    Watch,
}

/// A connection's reference to a tube; dropping it gives it up.
pub(super) struct TubeRef {
    tubes: Arc<Tubes>,
    tube: Arc<Tube>,
    role: Role,
}

impl TubeRef {
    pub(super) fn tube(&self) -> &Arc<Tube> {
        &self.tube
    }
}

impl Drop for TubeRef {
    fn drop(&mut self) {
        let mut state = self.tubes.state.lock();
        match self.role {
            Role::Use => self.tube.using.subtract(1),
            Role::Watch => self.tube.watching.subtract(1),
        }
        // One without a queue holds no jobs. Others are looked at when somebody asks for them.
        if !self.tube.has_queue() {
            self.tubes.drop_unreferenced(&mut state, &self.tube);
        }
    }
}

impl Tubes {
    pub(super) fn new() -> Tubes {
        let mut state = State { by_name: HashMap::new(), next: 0 };
        let default = TubeName::default();
        state.enter(&default);
        Tubes { state: Mutex::new(state), default }
    }

    fn drop_unreferenced(&self, state: &mut State, tube: &Arc<Tube>) {
        let known = state.by_name.get(&tube.name).is_some_and(|known| Arc::ptr_eq(known, tube));
        if known && !tube.is_referenced() && tube.name != self.default {
            state.by_name.remove(&tube.name);
        }
    }

    /// Refers to a tube, which begins to exist if it does not. The store is asked only about
    /// counters: where it cannot answer, they go on as they are, and the reference is there all the
    /// same. A client that puts or reserves without a look at this answer must not do so in another
    /// tube than the one it named.
    pub(super) async fn refer(
        self: &Arc<Tubes>,
        name: &TubeName,
        role: Role,
        engine: &Engine,
    ) -> TubeRef {
        // One that nobody referred to and that has run empty was gone: its counters begin anew.
        let idle = {
            let mut state = self.state.lock();
            match state.by_name.get(name).filter(|tube| !tube.is_referenced()) {
                Some(tube) => Arc::clone(tube),
                None => return self.refer_in(&mut state, name, role),
            }
        };
        if matches!(holds_jobs(&idle, engine).await, Ok(false)) {
            self.drop_unreferenced(&mut self.state.lock(), &idle);
        }
        self.refer_known(name, role)
    }

    /// Refers to a tube without looking whether it had run empty.
    pub(super) fn refer_known(self: &Arc<Tubes>, name: &TubeName, role: Role) -> TubeRef {
        self.refer_in(&mut self.state.lock(), name, role)
    }

    fn refer_in(self: &Arc<Tubes>, state: &mut State, name: &TubeName, role: Role) -> TubeRef {
        let tube = state.enter(name);
        match role {
            Role::Use => tube.using.add(1),
            Role::Watch => tube.watching.add(1),
        }
        TubeRef { tubes: Arc::clone(self), tube, role }
    }

    /// How many tubes are known.
    pub(super) fn len(&self) -> usize {
        self.state.lock().by_name.len()
    }

    /// Tells those who wait for a tube that has a queue now.
    pub(super) fn appeared(&self, name: &QueueName) {
        let name = name.as_str().parse().ok();
        if let Some(tube) = name.and_then(|name| self.known(&name)) {
            tube.has_appeared();
        }
    }

    /// Tells those who wait for any tube to look again.
    pub(super) fn some_appeared(&self) {
        let tubes: Vec<Arc<Tube>> = self.state.lock().by_name.values().cloned().collect();
        tubes.iter().filter(|tube| tube.is_wanted()).for_each(|tube| tube.has_appeared());
    }

    /// The tube's record, if there is one.
    pub(super) fn known(&self, name: &TubeName) -> Option<Arc<Tube>> {
        self.state.lock().by_name.get(name).cloned()
    }

    /// The record of a queue's tube, if there is one.
    pub(super) fn of_queue(&self, queue: &Queue) -> Option<Arc<Tube>> {
        self.known(&queue.name().as_str().parse().ok()?)
    }

    /// The record of a queue's tube, made if there is none.
    pub(super) fn for_queue(&self, queue: &Queue) -> Option<Arc<Tube>> {
        let name: TubeName = queue.name().as_str().parse().ok()?;
        Some(self.state.lock().enter(&name))
    }

    /// Forgets the tube of a queue that is gone, unless somebody refers to it.
    pub(super) fn forget(&self, queue: &Queue) {
        if let Some(tube) = self.of_queue(queue) {
            self.drop_unreferenced(&mut self.state.lock(), &tube);
        }
    }

    /// The tube, if it exists by the rule above.
    ///
    /// # Errors
    /// Storage errors.
    pub(super) async fn existing(
        &self,
        name: &TubeName,
        engine: &Engine,
    ) -> Result<Option<Arc<Tube>>, Error> {
        match self.known(name) {
            Some(tube) if tube.is_referenced() || tube.name == self.default => Ok(Some(tube)),
            Some(tube) => Ok(holds_jobs(&tube, engine).await?.then_some(tube)),
            None => {
                let tube = Arc::new(Tube::new(name.clone(), u64::MAX));
                Ok(holds_jobs(&tube, engine).await?.then_some(tube))
            }
        }
    }

    /// Every tube that exists, in the order of first mention, and what all of them hold. Asks the
    /// store about each queue; forgets tubes that have gone.
    ///
    /// # Errors
    /// Storage errors.
    pub(super) async fn census(&self, engine: &Engine) -> Result<Census, Error> {
        let mut total = QueueStats::default();
        let mut found: Vec<(u64, u64, TubeName)> = Vec::new();
        let queues = engine.queues().await?;
        let all = engine.stats_of(&queues).await?;
        for (queue, stats) in queues.iter().zip(all) {
            let stats = match stats {
                Err(error) if error.kind() == ErrorKind::QueueNotFound => continue,
                stats => stats?,
            };
            if stats.total() == 0 {
                continue;
            }
            total.ready += stats.ready;
            total.urgent += stats.urgent;
            total.delayed += stats.delayed;
            total.leased += stats.leased;
            total.parked += stats.parked;
            if let Ok(name) = queue.name().as_str().parse() {
                found.push((u64::MAX, queue.id().0, name));
            }
        }
        let mut state = self.state.lock();
        for (born, _, name) in &mut found {
            if let Some(tube) = state.by_name.get(name) {
                *born = tube.born;
            }
        }
        let alive: HashSet<&TubeName> = found.iter().map(|(_, _, name)| name).collect();
        state.by_name.retain(|name, tube| {
            tube.is_referenced() || *name == self.default || alive.contains(name)
        });
        let mut names: Vec<(u64, u64, TubeName)> = state
            .by_name
            .iter()
            .filter(|(name, _)| !alive.contains(name))
            .map(|(name, tube)| (tube.born, 0, name.clone()))
            .collect();
        drop(state);
        names.extend(found);
        names.sort();
        Ok(Census { names: names.into_iter().map(|(_, _, name)| name).collect(), total })
    }
}

/// All tubes there are, and what they hold together.
pub(super) struct Census {
    pub(super) names: Vec<TubeName>,
    pub(super) total: QueueStats,
}

async fn holds_jobs(tube: &Tube, engine: &Engine) -> Result<bool, Error> {
    let stats = tube.in_queue(engine, |queue| async move { queue.stats().await }).await?;
    Ok(stats.is_some_and(|stats| stats.total() > 0))
}
