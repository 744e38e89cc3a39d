//! `kick` and `kick-job`.

use slipring::admin::{MessageState, PeekFilter};
use slipring::{Error, MessageId, Queue};
use slipring_wire::beanstalkd::Reply;

use super::failure::is_no_such_job;
use super::session::Session;
use crate::audit::Act;

/// So many kicked jobs get a note in their history; a kick of more is not noted for the rest.
const NOTED_MAX: u32 = 1000;

impl Session {
    pub(super) async fn kick(&mut self, bound: u32) -> Result<Reply, Error> {
        self.shared.counters.kick.add(1);
        let tube = self.used.tube();
        if bound == 0 {
            return Ok(Reply::KickedCount(0));
        }
        let kick = |queue: Queue| async move {
            let first = first_kickable(&queue, bound).await?;
            Ok((first, queue.kick(bound).await?))
        };
        let Some((first, kicked)) = tube.in_queue(&self.shared.engine, kick).await? else {
            return Ok(Reply::KickedCount(0));
        };
        // One job at a time is what workers do.
        if kicked > 1 {
            self.audit(Act::Kick, tube.name.as_str(), Some(kicked));
        }
        let noted = usize::try_from(kicked).unwrap_or(usize::MAX);
        for id in first.into_iter().take(noted) {
            tube.note(id, |history| history.kicks += 1);
        }
        Ok(Reply::KickedCount(kicked))
    }

    pub(super) async fn kick_job(&mut self, id: u64) -> Result<Reply, Error> {
        self.shared.counters.kick_job.add(1);
        let engine = &self.shared.engine;
        match engine.kick_message(MessageId(id)).await {
            Ok(queue) => {
                let queue = engine.queue_by_id(queue);
                if let Some(tube) = queue.and_then(|queue| self.shared.tubes.for_queue(&queue)) {
                    tube.note(id, |history| history.kicks += 1);
                }
                Ok(Reply::Kicked)
            }
            Err(error) if is_no_such_job(&error) => Ok(Reply::NotFound),
            Err(error) => Err(error),
        }
    }
}

/// The jobs that a kick will take, as far as they are noted: buried ones, or else delayed ones.
async fn first_kickable(queue: &Queue, bound: u32) -> Result<Vec<u64>, Error> {
    for state in [MessageState::Parked, MessageState::Delayed] {
        let filter = PeekFilter { state: Some(state), limit: bound.min(NOTED_MAX) };
        let found = queue.peek(filter).await?;
        if !found.is_empty() {
            return Ok(found.into_iter().map(|found| found.message.id.0).collect());
        }
    }
    Ok(Vec::new())
}
