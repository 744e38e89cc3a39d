//! `use`, `watch`, `ignore`, `pause-tube` and the lists: what concerns tubes as such.

use std::convert::Infallible;
use std::time::Duration;

use slipring::{Error, ErrorKind, QueueSettings};
use slipring_wire::beanstalkd::{Reply, TubeName, yaml};

use super::session::Session;
use super::tubes::Role;
use crate::audit::Act;

/// So many tubes a connection may watch whatever others do.
const WATCHED_ALWAYS: usize = 10;

impl Session {
    pub(super) async fn use_tube(&mut self, name: &TubeName) -> Reply {
        self.shared.counters.use_tube.add(1);
        if self.used.tube().name != *name {
            let shared = &self.shared;
            self.used = shared.tubes.refer(name, Role::Use, &shared.engine).await;
        }
        Reply::Using(name.clone())
    }

    pub(super) async fn watch(&mut self, name: &TubeName) -> Reply {
        self.shared.counters.watch.add(1);
        let known = self.shared.tubes.known(name);
        // One that nobody knows is not watched here; to look for it among a thousand costs more
        // than all the rest.
        if known.is_none() || self.place_of(name).is_none() {
            let shared = &self.shared;
            let settings = &shared.settings;
            let crowded = self.watched.len() >= WATCHED_ALWAYS
                && known.is_none()
                && shared.tubes.len() >= settings.tubes_max;
            if self.watched.len() >= settings.watched_max || crowded {
                return Reply::OutOfMemory;
            }
            let tube = shared.tubes.refer(name, Role::Watch, &shared.engine).await;
            self.watched.push(tube);
            self.queues = None;
        }
        Reply::Watching(self.watched.len() as u64)
    }

    pub(super) fn ignore(&mut self, name: &TubeName) -> Reply {
        self.shared.counters.ignore.add(1);
        match self.place_of(name) {
            Some(_) if self.watched.len() == 1 => return Reply::NotIgnored,
            // The original fills the gap with the last tube, and its lists show it.
            Some(place) => {
                self.watched.swap_remove(place);
                self.queues = None;
            }
            None => {}
        }
        Reply::Watching(self.watched.len() as u64)
    }

    fn place_of(&self, name: &TubeName) -> Option<usize> {
        self.watched.iter().position(|watched| watched.tube().name == *name)
    }

    pub(super) async fn list_tubes(&mut self) -> Result<Reply, Error> {
        self.shared.counters.list_tubes.add(1);
        let census = self.shared.tubes.census(&self.shared.engine).await?;
        Ok(Reply::Ok(yaml::list(&census.names)))
    }

    pub(super) fn list_tube_used(&mut self) -> Reply {
        self.shared.counters.list_tube_used.add(1);
        Reply::Using(self.used.tube().name.clone())
    }

    pub(super) fn list_tubes_watched(&mut self) -> Reply {
        self.shared.counters.list_tubes_watched.add(1);
        Reply::Ok(yaml::list(self.watched.iter().map(|watched| &watched.tube().name)))
    }

    pub(super) async fn pause_tube(
        &mut self,
        name: &TubeName,
        delay_seconds: u32,
    ) -> Result<Reply, Error> {
        let shared = &self.shared;
        shared.counters.pause_tube.add(1);
        let Some(tube) = shared.tubes.existing(name, &shared.engine).await? else {
            return Ok(Reply::NotFound);
        };
        let delay = Duration::from_secs(u64::from(delay_seconds));
        let paused_until = (!delay.is_zero()).then(|| shared.now().after(delay));
        let paused = |present: &QueueSettings| {
            Ok::<_, Infallible>(QueueSettings { paused_until, ..present.clone() })
        };
        let mut queue = tube.queue(&shared.engine, &shared.queue_settings).await?;
        let Ok(_) = match queue.change(paused).await {
            Err(error) if error.kind() == ErrorKind::QueueNotFound => {
                // Another server has deleted it; the tube is there all the same.
                shared.engine.note_deletions().await?;
                queue = tube.queue(&shared.engine, &shared.queue_settings).await?;
                queue.change(paused).await?
            }
            changed => changed?,
        };
        // One that holds jobs may have no record yet.
        let tube = shared.tubes.for_queue(&queue).unwrap_or(tube);
        tube.pauses.add(1);
        tube.pause_seconds.set(u64::from(delay_seconds));
        let act = if paused_until.is_some() { Act::Pause } else { Act::Resume };
        self.audit(act, name.as_str(), None);
        Ok(Reply::Paused)
    }
}
