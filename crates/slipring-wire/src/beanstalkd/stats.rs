//! The three statistics texts, key by key in the order of the original.
//!
//! Filling them in is the server's business; here is only what they are called and how they look.

use std::time::Duration;

use bytes::Bytes;

use super::yaml::Map;

/// A value that is written without quotes although it is no number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word(pub String);

/// How a value is written.
trait Scalar {
    fn write(&self, key: &str, map: &mut Map);
}

impl Scalar for u64 {
    fn write(&self, key: &str, map: &mut Map) {
        map.number(key, *self);
    }
}

impl Scalar for String {
    fn write(&self, key: &str, map: &mut Map) {
        map.string(key, self);
    }
}

impl Scalar for Word {
    fn write(&self, key: &str, map: &mut Map) {
        map.word(key, &self.0);
    }
}

impl Scalar for bool {
    fn write(&self, key: &str, map: &mut Map) {
        map.word(key, if *self { "true" } else { "false" });
    }
}

impl Scalar for Duration {
    fn write(&self, key: &str, map: &mut Map) {
        map.word(key, &format!("{}.{:06}", self.as_secs(), self.subsec_micros()));
    }
}

/// Makes a struct with one field per key and its text.
macro_rules! stats {
    ($(#[$doc:meta])* $name:ident {
        $($(#[$field_doc:meta])* $field:ident: $kind:ty = $key:literal,)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $kind,)*
        }

        impl $name {
            /// The text as it stands in an `OK` reply.
            pub fn to_yaml(&self) -> Bytes {
                let mut map = Map::begin();
                $(Scalar::write(&self.$field, $key, &mut map);)*
                map.finish()
            }
        }
    };
}

stats! {
    /// What `stats` answers.
    ServerStats {
        /// Ready jobs with a priority below [`URGENT_BELOW`](super::URGENT_BELOW).
        current_jobs_urgent: u64 = "current-jobs-urgent",
        /// Ready jobs.
        current_jobs_ready: u64 = "current-jobs-ready",
        /// Reserved jobs.
        current_jobs_reserved: u64 = "current-jobs-reserved",
        /// Delayed jobs.
        current_jobs_delayed: u64 = "current-jobs-delayed",
        /// Buried jobs.
        current_jobs_buried: u64 = "current-jobs-buried",
        /// `put` commands since the start.
        cmd_put: u64 = "cmd-put",
        /// `peek` commands.
        cmd_peek: u64 = "cmd-peek",
        /// `peek-ready` commands.
        cmd_peek_ready: u64 = "cmd-peek-ready",
        /// `peek-delayed` commands.
        cmd_peek_delayed: u64 = "cmd-peek-delayed",
        /// `peek-buried` commands.
        cmd_peek_buried: u64 = "cmd-peek-buried",
        /// `reserve` commands.
        cmd_reserve: u64 = "cmd-reserve",
        /// `reserve-with-timeout` commands.
        cmd_reserve_with_timeout: u64 = "cmd-reserve-with-timeout",
        /// `delete` commands.
        cmd_delete: u64 = "cmd-delete",
        /// `release` commands.
        cmd_release: u64 = "cmd-release",
        /// `use` commands.
        cmd_use: u64 = "cmd-use",
        /// `watch` commands.
        cmd_watch: u64 = "cmd-watch",
        /// `ignore` commands.
        cmd_ignore: u64 = "cmd-ignore",
        /// `bury` commands.
        cmd_bury: u64 = "cmd-bury",
        /// `kick` commands.
        cmd_kick: u64 = "cmd-kick",
        /// `touch` commands.
        cmd_touch: u64 = "cmd-touch",
        /// `stats` commands, this one included.
        cmd_stats: u64 = "cmd-stats",
        /// `stats-job` commands.
        cmd_stats_job: u64 = "cmd-stats-job",
        /// `stats-tube` commands.
        cmd_stats_tube: u64 = "cmd-stats-tube",
        /// `list-tubes` commands.
        cmd_list_tubes: u64 = "cmd-list-tubes",
        /// `list-tube-used` commands.
        cmd_list_tube_used: u64 = "cmd-list-tube-used",
        /// `list-tubes-watched` commands.
        cmd_list_tubes_watched: u64 = "cmd-list-tubes-watched",
        /// `pause-tube` commands.
        cmd_pause_tube: u64 = "cmd-pause-tube",
        /// Reservations that ran out since the start.
        job_timeouts: u64 = "job-timeouts",
        /// Jobs put since the start.
        total_jobs: u64 = "total-jobs",
        /// The body limit in bytes.
        max_job_size: u64 = "max-job-size",
        /// Tubes that hold jobs or are referenced.
        current_tubes: u64 = "current-tubes",
        /// Open connections.
        current_connections: u64 = "current-connections",
        /// Open connections that have put a job.
        current_producers: u64 = "current-producers",
        /// Open connections that have reserved.
        current_workers: u64 = "current-workers",
        /// Open connections that wait in a reserve.
        current_waiting: u64 = "current-waiting",
        /// Connections since the start.
        total_connections: u64 = "total-connections",
        /// The process id of the server.
        pid: u64 = "pid",
        /// The version of the server.
        version: String = "version",
        /// User CPU time of the process.
        rusage_utime: Duration = "rusage-utime",
        /// System CPU time of the process.
        rusage_stime: Duration = "rusage-stime",
        /// Seconds since the start.
        uptime: u64 = "uptime",
        /// Index of the oldest log file, 0 without one.
        binlog_oldest_index: u64 = "binlog-oldest-index",
        /// Index of the current log file, 0 without one.
        binlog_current_index: u64 = "binlog-current-index",
        /// Log records rewritten by compaction.
        binlog_records_migrated: u64 = "binlog-records-migrated",
        /// Log records written.
        binlog_records_written: u64 = "binlog-records-written",
        /// The size limit of a log file in bytes.
        binlog_max_size: u64 = "binlog-max-size",
        /// Whether `put` is refused.
        draining: bool = "draining",
        /// A random id of this server process.
        id: Word = "id",
        /// The name of the machine.
        hostname: String = "hostname",
        /// The version of its operating system.
        os: String = "os",
        /// Its architecture.
        platform: String = "platform",
    }
}

stats! {
    /// What `stats-tube` answers.
    TubeStats {
        /// The tube.
        name: String = "name",
        /// Ready jobs with a priority below [`URGENT_BELOW`](super::URGENT_BELOW).
        current_jobs_urgent: u64 = "current-jobs-urgent",
        /// Ready jobs.
        current_jobs_ready: u64 = "current-jobs-ready",
        /// Reserved jobs.
        current_jobs_reserved: u64 = "current-jobs-reserved",
        /// Delayed jobs.
        current_jobs_delayed: u64 = "current-jobs-delayed",
        /// Buried jobs.
        current_jobs_buried: u64 = "current-jobs-buried",
        /// Jobs put into the tube since the start.
        total_jobs: u64 = "total-jobs",
        /// Open connections that use the tube.
        current_using: u64 = "current-using",
        /// Open connections that watch the tube.
        current_watching: u64 = "current-watching",
        /// Open connections that wait for a job of the tube.
        current_waiting: u64 = "current-waiting",
        /// Jobs of the tube that were deleted.
        cmd_delete: u64 = "cmd-delete",
        /// `pause-tube` commands for the tube.
        cmd_pause_tube: u64 = "cmd-pause-tube",
        /// Seconds the tube was paused for, 0 if it is not paused.
        pause: u64 = "pause",
        /// Seconds until the pause ends.
        pause_time_left: u64 = "pause-time-left",
    }
}

stats! {
    /// What `stats-job` answers.
    JobStats {
        /// The job.
        id: u64 = "id",
        /// Its tube.
        tube: String = "tube",
        /// Its state.
        state: Word = "state",
        /// Its priority.
        pri: u64 = "pri",
        /// Seconds since it was put.
        age: u64 = "age",
        /// Seconds of delay it was last given.
        delay: u64 = "delay",
        /// Seconds a reservation lasts.
        ttr: u64 = "ttr",
        /// Seconds until it is ready again, if it is reserved or delayed.
        time_left: u64 = "time-left",
        /// The log file it is in, 0 without one.
        file: u64 = "file",
        /// How often it was reserved.
        reserves: u64 = "reserves",
        /// How often a reservation of it ran out.
        timeouts: u64 = "timeouts",
        /// How often it was released.
        releases: u64 = "releases",
        /// How often it was buried.
        buries: u64 = "buries",
        /// How often it was kicked.
        kicks: u64 = "kicks",
    }
}
