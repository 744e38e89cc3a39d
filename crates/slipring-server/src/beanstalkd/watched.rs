//! The tubes that a connection watches as queues: those that have one are received from, and of
//! those that have none the connection is told when they get one. Waiting makes no queue.

use std::collections::HashMap;
use std::sync::Arc;

use futures::FutureExt as _;
use slipring::{Delivery, Engine, Error, QueueId, ReceiveRequest, Several};
use tokio::sync::Notify;

use super::tube::Tube;
use super::tubes::TubeRef;

/// What a connection watches.
pub(super) struct Watched {
    /// Of the tubes that have a queue; `None` when none has.
    several: Option<Several>,
    by_queue: HashMap<QueueId, Arc<Tube>>,
    without: Vec<Want>,
    /// Told when one of those without a queue gets one.
    appeared: Arc<Notify>,
}

/// A connection's wish to hear of a tube's queue; dropping it takes it back.
struct Want {
    tube: Arc<Tube>,
    session: u64,
}

impl Drop for Want {
    fn drop(&mut self) {
        self.tube.unwant(self.session);
    }
}

impl Watched {
    /// Finds the queues of tubes. `session` is the connection's number, which no other has.
    ///
    /// # Errors
    /// Storage errors.
    pub(super) async fn find(
        tubes: &[TubeRef],
        session: u64,
        engine: &Engine,
    ) -> Result<Watched, Error> {
        let appeared = Arc::new(Notify::new());
        let mut queues = Vec::with_capacity(tubes.len());
        let (mut by_queue, mut without) = (HashMap::new(), Vec::new());
        let mut asked = false;
        for tube in tubes.iter().map(TubeRef::tube) {
            // First the wish, then the look: a queue that is made in between is heard of.
            tube.want(session, &appeared);
            let want = Want { tube: Arc::clone(tube), session };
            let mut found = tube.known_queue(engine);
            // The store is asked once: then the engine knows all queues there are.
            if found.is_none() && !std::mem::replace(&mut asked, true) {
                found = tube.existing_queue(engine).await?;
            }
            match found {
                Some(queue) => {
                    by_queue.insert(queue.id(), Arc::clone(tube));
                    queues.push(queue);
                }
                None => without.push(want),
            }
        }
        let several = (!queues.is_empty()).then(|| engine.several(&queues));
        Ok(Watched { several, by_queue, without, appeared })
    }

    /// The tube of a queue.
    pub(super) fn tube_of(&self, queue: QueueId) -> Option<&Arc<Tube>> {
        self.by_queue.get(&queue)
    }

    /// All the tubes.
    pub(super) fn tubes(&self) -> impl Iterator<Item = &Arc<Tube>> {
        self.by_queue.values().chain(self.without.iter().map(|want| &want.tube))
    }

    /// Ends when one of the tubes without a queue has got one: then they are to be found anew.
    pub(super) fn appeared(&self) -> Arc<Notify> {
        Arc::clone(&self.appeared)
    }

    /// Whether it was told that one of them has got a queue. Answers so once.
    pub(super) fn was_told(&self) -> bool {
        self.appeared.notified().now_or_never().is_some()
    }

    /// Whether one of the tubes without a queue has got one, told or not. Costs a look into the
    /// engine for each of them.
    pub(super) fn has_more(&self, engine: &Engine) -> bool {
        self.without.iter().any(|want| want.tube.known_queue(engine).is_some())
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
