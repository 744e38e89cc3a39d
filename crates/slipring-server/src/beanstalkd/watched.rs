//! The tubes that a connection watches as queues: those that have one are received from, and of
//! those that have none the connection is told when they get one. Waiting makes no queue.
//!
//! A queue that appears is added to the others: the connection keeps its place in these, and only
//! the new one is looked into.

use std::collections::HashMap;
use std::sync::Arc;

use futures::FutureExt as _;
use parking_lot::Mutex;
use slipring::{Delivery, Engine, Error, Queue, QueueId, ReceiveRequest, Several};
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use super::tube::Tube;
use super::tubes::TubeRef;

/// What a connection watches.
pub(super) struct Watched {
    /// Of the tubes that have a queue; `None` when none has.
    several: Option<Several>,
    by_queue: HashMap<QueueId, Arc<Tube>>,
    /// Those that have none, by their places in the order of first mention.
    without: HashMap<u64, Want>,
    appeared: Arc<Appeared>,
    /// The engine's count of queues before all tubes were looked for.
    looked_at: u64,
}

/// The tubes that have got a queue since a connection last looked.
#[derive(Default)]
pub(super) struct Appeared {
    tubes: Mutex<Vec<Arc<Tube>>>,
    rung: Notify,
}

impl Appeared {
    /// Tells the connection of a tube.
    pub(super) fn tell(&self, tube: &Arc<Tube>) {
        self.tubes.lock().push(Arc::clone(tube));
        self.rung.notify_one();
    }

    /// Ends when there is a tube that the connection was not told of before.
    pub(super) fn rung(&self) -> Notified<'_> {
        self.rung.notified()
    }
}

/// A connection's wish to hear of a tube's queue; dropping it takes it back.
struct Want {
    tube: Arc<Tube>,
    appeared: Arc<Appeared>,
}

impl Want {
    fn new(tube: &Arc<Tube>, appeared: &Arc<Appeared>) -> Want {
        tube.want(appeared);
        Want { tube: Arc::clone(tube), appeared: Arc::clone(appeared) }
    }
}

impl Drop for Want {
    fn drop(&mut self) {
        self.tube.unwant(&self.appeared);
    }
}

impl Watched {
    /// Finds the queues of tubes.
    ///
    /// # Errors
    /// Storage errors.
    pub(super) async fn find(tubes: &[TubeRef], engine: &Engine) -> Result<Watched, Error> {
        let mut watched = Watched {
            several: None,
            by_queue: HashMap::new(),
            without: HashMap::new(),
            appeared: Arc::default(),
            looked_at: engine.queues_seen(),
        };
        let mut queues = Vec::with_capacity(tubes.len());
        let mut asked = false;
        for tube in tubes.iter().map(TubeRef::tube) {
            // First the wish, then the look: a queue that is made in between is heard of.
            let want = Want::new(tube, &watched.appeared);
            let mut found = tube.known_queue(engine);
            // The store is asked once: then the engine knows all queues there are.
            if found.is_none() && !std::mem::replace(&mut asked, true) {
                found = tube.existing_queue(engine).await?;
            }
            match found {
                Some(queue) => {
                    watched.by_queue.insert(queue.id(), Arc::clone(tube));
                    queues.push(queue);
                }
                None => {
                    watched.without.insert(tube.born, want);
                }
            }
        }
        watched.several = (!queues.is_empty()).then(|| engine.several(&queues));
        Ok(watched)
    }

    /// Takes in the tubes of which the connection was told that they have a queue.
    pub(super) fn take_in(&mut self, engine: &Engine) {
        // What is told from here on rings again.
        let _ = self.appeared.rung().now_or_never();
        let told = std::mem::take(&mut *self.appeared.tubes.lock());
        for tube in told {
            // The old wish is gone before there is a new one.
            if self.without.remove(&tube.born).is_none() {
                continue;
            }
            // The queue may be gone by now, and come again.
            let want = Want::new(&tube, &self.appeared);
            match tube.known_queue(engine) {
                Some(queue) => self.add(queue, tube, engine),
                None => {
                    self.without.insert(tube.born, want);
                }
            }
        }
    }

    /// Takes in those of the tubes without a queue that have got one, told or not; answers whether
    /// there are any. Costs a look into the engine for each of these tubes if the engine has met a
    /// queue since the last time.
    pub(super) fn take_in_all(&mut self, engine: &Engine) -> bool {
        let met = engine.queues_seen();
        if std::mem::replace(&mut self.looked_at, met) == met {
            return false;
        }
        let found = |(born, want): (&u64, &Want)| Some((*born, want.tube.known_queue(engine)?));
        let found: Vec<(u64, Queue)> = self.without.iter().filter_map(found).collect();
        let some = !found.is_empty();
        for (born, queue) in found {
            if let Some(want) = self.without.remove(&born) {
                self.add(queue, Arc::clone(&want.tube), engine);
            }
        }
        some
    }

    fn add(&mut self, queue: Queue, tube: Arc<Tube>, engine: &Engine) {
        self.by_queue.insert(queue.id(), tube);
        match &mut self.several {
            Some(several) => several.add(&queue),
            None => self.several = Some(engine.several(&[queue])),
        }
    }

    /// The tube of a queue.
    pub(super) fn tube_of(&self, queue: QueueId) -> Option<&Arc<Tube>> {
        self.by_queue.get(&queue)
    }

    /// All the tubes.
    pub(super) fn tubes(&self) -> impl Iterator<Item = &Arc<Tube>> {
        self.by_queue.values().chain(self.without.values().map(|want| &want.tube))
    }

    /// Where the connection is told of tubes that have got a queue.
    pub(super) fn appeared(&self) -> Arc<Appeared> {
        Arc::clone(&self.appeared)
    }

    /// Receives from those that have a queue; without any, nothing comes.
    ///
    /// # Errors
    /// As [`Several::receive`].
    pub(super) async fn receive(
        &mut self,
        request: ReceiveRequest,
        engine: &Engine,
    ) -> Result<Vec<Delivery>, Error> {
        match &mut self.several {
            Some(several) => several.receive(request).await,
            None => {
                if !request.wait.is_zero() {
                    let clock = engine.clock();
                    clock.sleep_until(clock.now().after(request.wait)).await;
                }
                Ok(Vec::new())
            }
        }
    }
}
