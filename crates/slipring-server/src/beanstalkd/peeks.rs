//! `peek`, `peek-ready`, `peek-delayed`, `peek-buried`: looking at jobs without taking them.

use slipring::admin::{MessageState, PeekFilter};
use slipring::{Error, MessageId, Queue};
use slipring_wire::beanstalkd::Reply;

use super::server::Shared;
use super::session::Session;
use super::tube::Tube;

impl Session {
    pub(super) async fn peek(&mut self, id: u64) -> Result<Reply, Error> {
        self.shared.counters.peek.add(1);
        Ok(match self.shared.engine.lookup(MessageId(id)).await? {
            Some(found) => Reply::Found { id, body: found.message.body },
            None => Reply::NotFound,
        })
    }

    pub(super) async fn peek_ready(&mut self) -> Result<Reply, Error> {
        self.shared.counters.peek_ready.add(1);
        first_in_state(&self.shared, self.used.tube(), MessageState::Ready).await
    }

    pub(super) async fn peek_delayed(&mut self) -> Result<Reply, Error> {
        self.shared.counters.peek_delayed.add(1);
        first_in_state(&self.shared, self.used.tube(), MessageState::Delayed).await
    }

    pub(super) async fn peek_buried(&mut self) -> Result<Reply, Error> {
        self.shared.counters.peek_buried.add(1);
        first_in_state(&self.shared, self.used.tube(), MessageState::Parked).await
    }
}

/// The first job of a tube in a state.
async fn first_in_state(shared: &Shared, tube: &Tube, state: MessageState) -> Result<Reply, Error> {
    let first = PeekFilter { state: Some(state), limit: 1 };
    let peek = |queue: Queue| async move { queue.peek(first).await };
    let found = tube.in_queue(&shared.engine, peek).await?;
    Ok(match found.into_iter().flatten().next() {
        Some(found) => Reply::Found { id: found.message.id.0, body: found.message.body },
        None => Reply::NotFound,
    })
}
