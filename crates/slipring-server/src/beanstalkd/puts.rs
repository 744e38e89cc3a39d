//! `put`: runs of puts as one send whose messages stand or fall alone.

use std::ops::ControlFlow;
use std::time::Duration;

use slipring::store::Sent;
use slipring::{Error, ErrorKind, NewMessage, Priority, Queue};
use slipring_wire::beanstalkd::{Put, Reply};

use super::server::Shared;
use super::session::{RUN_MAX, Session};
use super::tube::Tube;
use crate::resend::send_each;

/// A run ends when its bodies pass this.
const RUN_BYTES_MAX: usize = 1 << 20;

/// So often a run is sent again whose queue has gone: each time others have used and left it.
const AGAIN_MAX: usize = 10;

impl Session {
    pub(super) async fn puts(&mut self, first: Put) -> ControlFlow<()> {
        let mut bytes = first.body.len();
        let mut run = vec![message(first)];
        while run.len() < RUN_MAX && bytes < RUN_BYTES_MAX {
            let Some(put) = self.next_put() else { break };
            bytes += put.body.len();
            run.push(message(put));
        }
        self.shared.counters.put.add(run.len());
        self.presence.produces();
        if self.shared.is_draining() {
            for _ in 0..run.len() {
                self.say(&Reply::Draining)?;
            }
            return ControlFlow::Continue(());
        }
        let count = run.len();
        match send(&self.shared, self.used.tube(), run).await {
            Ok(replies) => {
                for reply in replies {
                    self.say(&reply)?;
                }
                ControlFlow::Continue(())
            }
            Err(error) => self.fail(&error, count),
        }
    }
}

async fn send(shared: &Shared, tube: &Tube, run: Vec<NewMessage>) -> Result<Vec<Reply>, Error> {
    let queue = match queue_of(shared, tube).await {
        Err(error) if error.kind() == ErrorKind::QueueNotFound => {
            return Ok(vec![refused(shared, &error); run.len()]);
        }
        found => found?,
    };
    // One that was empty may have gone a moment ago.
    let anew = || queue_of(shared, tube);
    let sent = send_each(&shared.engine, &queue, run, AGAIN_MAX, anew).await;
    let stored = sent.iter().filter(|sent| sent.is_ok()).count();
    shared.counters.total_jobs.add(stored);
    tube.jobs.add(stored);
    let reply = |sent: Result<Sent, Error>| match sent {
        Ok(sent) => Reply::Inserted { id: sent.id.0 },
        Err(error) => refused(shared, &error),
    };
    Ok(sent.into_iter().map(reply).collect())
}

/// How a put is answered that was not stored.
fn refused(shared: &Shared, error: &Error) -> Reply {
    match shared.reply_to(error) {
        // Others have deleted each queue that was there or was made for it.
        Reply::NotFound => Reply::OutOfMemory,
        reply => reply,
    }
}

/// The queue of a tube, made if there is none; where there is no room for a further one, one that
/// is not used any more makes room.
async fn queue_of(shared: &Shared, tube: &Tube) -> Result<Queue, Error> {
    let made = tube.queue(&shared.engine, &shared.queue_settings).await;
    let full = |error: &Error| {
        let names_it = |(key, value): &(&str, String)| *key == "limit" && value == "queues_max";
        error.kind() == ErrorKind::LimitExceeded && error.context().iter().any(names_it)
    };
    match made {
        Err(error) if full(&error) && shared.retire_for_room().await? => {
            tube.queue(&shared.engine, &shared.queue_settings).await
        }
        made => made,
    }
}

fn message(put: Put) -> NewMessage {
    NewMessage {
        priority: Priority(put.priority),
        delay: Some(Duration::from_secs(u64::from(put.delay))),
        lease: Some(Duration::from_secs(u64::from(put.time_to_run.max(1)))),
        ..NewMessage::new(put.body)
    }
}
