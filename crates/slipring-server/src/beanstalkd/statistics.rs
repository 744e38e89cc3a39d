//! `stats`, `stats-tube` and `stats-job`.

use slipring::admin::MessageState;
use slipring::{Error, MessageId, Queue, Timestamp};
use slipring_wire::beanstalkd::stats::{JobStats, ServerStats, TubeStats, Word};
use slipring_wire::beanstalkd::{Reply, TubeName};

use crate::process::cpu_times;

use super::server::Shared;
use super::session::Session;

impl Session {
    pub(super) async fn stats(&mut self) -> Result<Reply, Error> {
        self.shared.counters.stats.add(1);
        // What the system has already told, such as connections that have closed, is taken in
        // before it is counted: the original does one thing after another.
        tokio::task::yield_now().await;
        Ok(Reply::Ok(server_stats(&self.shared).await?.to_yaml()))
    }

    pub(super) async fn stats_tube(&mut self, name: &TubeName) -> Result<Reply, Error> {
        let shared = &self.shared;
        shared.counters.stats_tube.add(1);
        let Some(tube) = shared.tubes.existing(name, &shared.engine).await? else {
            return Ok(Reply::NotFound);
        };
        let mut stats = TubeStats {
            name: name.as_str().to_string(),
            total_jobs: tube.jobs.get(),
            current_using: tube.using.get(),
            current_watching: tube.watching.get(),
            current_waiting: tube.waiting.get(),
            cmd_delete: tube.deletes.get(),
            cmd_pause_tube: tube.pauses.get(),
            ..TubeStats::default()
        };
        let look = |queue: Queue| async move { queue.stats().await.map(|held| (queue, held)) };
        if let Some((queue, held)) = tube.in_queue(&shared.engine, look).await? {
            stats.current_jobs_urgent = held.urgent;
            stats.current_jobs_ready = held.ready;
            stats.current_jobs_reserved = held.leased;
            stats.current_jobs_delayed = held.delayed;
            stats.current_jobs_buried = held.parked;
            let now = shared.now();
            if let Some(until) = queue.info().settings.paused_until.filter(|until| *until > now) {
                stats.pause_time_left = now.until(until).as_secs();
                // A pause from before the start, or by other means, is known by its end only.
                stats.pause = tube.pause_seconds.get().max(stats.pause_time_left);
            }
        }
        Ok(Reply::Ok(stats.to_yaml()))
    }

    pub(super) async fn stats_job(&mut self, id: u64) -> Result<Reply, Error> {
        self.take_lapsed();
        let shared = &self.shared;
        shared.counters.stats_job.add(1);
        let Some(found) = shared.engine.lookup(MessageId(id)).await? else {
            return Ok(Reply::NotFound);
        };
        let Some(queue) = shared.engine.queue_by_id(found.queue) else {
            return Ok(Reply::NotFound);
        };
        let now = shared.now();
        let message = &found.message;
        let tube = shared.tubes.of_queue(&queue);
        let history = tube.map(|tube| tube.history(id)).unwrap_or_default();
        let lease = message.lease.unwrap_or(queue.info().settings.visibility_timeout);
        let stats = JobStats {
            id,
            tube: queue.name().as_str().to_string(),
            state: Word(state_name(found.state).to_string()),
            pri: u64::from(message.priority.0),
            age: message.sent_at.until(now).as_secs(),
            delay: message.delay.as_secs(),
            ttr: lease.as_secs(),
            time_left: time_left(found.state, found.until, now),
            file: 0,
            reserves: u64::from(message.attempts),
            timeouts: u64::from(history.timeouts),
            releases: u64::from(history.releases),
            buries: u64::from(history.buries),
            kicks: u64::from(history.kicks),
        };
        Ok(Reply::Ok(stats.to_yaml()))
    }
}

fn state_name(state: MessageState) -> &'static str {
    match state {
        MessageState::Ready => "ready",
        MessageState::Delayed => "delayed",
        MessageState::Leased => "reserved",
        MessageState::Parked => "buried",
    }
}

fn time_left(state: MessageState, until: Option<Timestamp>, now: Timestamp) -> u64 {
    match (state, until) {
        (MessageState::Leased | MessageState::Delayed, Some(until)) => now.until(until).as_secs(),
        _ => 0,
    }
}

async fn server_stats(shared: &Shared) -> Result<ServerStats, Error> {
    let census = shared.tubes.census(&shared.engine).await?;
    let counters = &shared.counters;
    let (user, system) = cpu_times();
    Ok(ServerStats {
        current_jobs_urgent: census.total.urgent,
        current_jobs_ready: census.total.ready,
        current_jobs_reserved: census.total.leased,
        current_jobs_delayed: census.total.delayed,
        current_jobs_buried: census.total.parked,
        cmd_put: counters.put.get(),
        cmd_peek: counters.peek.get(),
        cmd_peek_ready: counters.peek_ready.get(),
        cmd_peek_delayed: counters.peek_delayed.get(),
        cmd_peek_buried: counters.peek_buried.get(),
        cmd_reserve: counters.reserve.get(),
        cmd_reserve_with_timeout: counters.reserve_with_timeout.get(),
        cmd_delete: counters.delete.get(),
        cmd_release: counters.release.get(),
        cmd_use: counters.use_tube.get(),
        cmd_watch: counters.watch.get(),
        cmd_ignore: counters.ignore.get(),
        cmd_bury: counters.bury.get(),
        cmd_kick: counters.kick.get(),
        cmd_touch: counters.touch.get(),
        cmd_stats: counters.stats.get(),
        cmd_stats_job: counters.stats_job.get(),
        cmd_stats_tube: counters.stats_tube.get(),
        cmd_list_tubes: counters.list_tubes.get(),
        cmd_list_tube_used: counters.list_tube_used.get(),
        cmd_list_tubes_watched: counters.list_tubes_watched.get(),
        cmd_pause_tube: counters.pause_tube.get(),
        job_timeouts: counters.job_timeouts.get(),
        total_jobs: counters.total_jobs.get(),
        max_job_size: u64::from(shared.settings.job_bytes_max),
        current_tubes: census.names.len() as u64,
        current_connections: counters.connections.get(),
        current_producers: counters.producers.get(),
        current_workers: counters.workers.get(),
        current_waiting: counters.waiting.get(),
        total_connections: counters.connections_total.get(),
        pid: u64::from(std::process::id()),
        version: shared.settings.version.clone(),
        rusage_utime: user,
        rusage_stime: system,
        uptime: shared.started.until(shared.now()).as_secs(),
        draining: shared.is_draining(),
        id: Word(shared.id.clone()),
        hostname: shared.machine.hostname.clone(),
        os: shared.machine.os.clone(),
        platform: shared.machine.platform.clone(),
        // There is no log file: the store is a database.
        binlog_oldest_index: 0,
        binlog_current_index: 0,
        binlog_records_migrated: 0,
        binlog_records_written: 0,
        binlog_max_size: 0,
    })
}
