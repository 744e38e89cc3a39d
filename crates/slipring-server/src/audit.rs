//! The audit: what somebody did to a queue or a store as a whole, as a line of the log and, where
//! there is one, of the audit file. Messages that come and go are no acts.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::net::IpAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use parking_lot::Mutex;
use serde::Serialize;
use slipring::{Clock, Timestamp};

use crate::failures::Throttle;

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// A queue was made.
    Create,
    /// Settings, tags or policies of a queue were changed.
    Configure,
    /// A queue was deleted with all that was in it.
    Delete,
    /// All messages of a queue were removed.
    Purge,
    /// A queue hands out nothing for a time, or until it is resumed.
    Pause,
    /// A paused queue goes on.
    Resume,
    /// Dead letters were moved.
    Redrive,
    /// A redrive was asked to end.
    CancelRedrive,
    /// Several parked or delayed messages were made ready at once.
    Kick,
    /// A file was written anew without the space it does not need.
    Compact,
    /// A database that was restored elsewhere was taken into use.
    Import,
}

impl Act {
    fn name(self) -> &'static str {
        match self {
            Act::Create => "create",
            Act::Configure => "configure",
            Act::Delete => "delete",
            Act::Purge => "purge",
            Act::Pause => "pause",
            Act::Resume => "resume",
            Act::Redrive => "redrive",
            Act::CancelRedrive => "cancel_redrive",
            Act::Kick => "kick",
            Act::Compact => "compact",
            Act::Import => "import",
        }
    }
}

/// Who acts, and from where.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Who {
    /// `sqs`, `beanstalkd`, `admin`, `command line`, or `configuration` for a server's own file.
    pub protocol: &'static str,
    /// The client's address; none for who has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer: Option<IpAddr>,
    /// Who it is shown to be: `admin_token`, or the user of a command line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    /// The access key id that an SQS client names. Nothing was shown for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access_key: Option<String>,
}

/// How far an act is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// One that takes time has begun.
    Started,
    Done,
    /// It ended before it was done: by an error, by whoever asked for it, or with the server.
    BrokenOff,
}

impl Outcome {
    fn name(self) -> &'static str {
        match self {
            Outcome::Started => "started",
            Outcome::Done => "done",
            Outcome::BrokenOff => "broken_off",
        }
    }
}

/// One line of the file.
#[derive(Debug, Serialize)]
struct Line<'a> {
    timestamp: String,
    act: &'static str,
    outcome: &'static str,
    /// A queue's name, or where a store is.
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    store: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    messages: Option<u64>,
    #[serde(flatten)]
    who: &'a Who,
}

/// Writes acts down. Cheap to clone.
#[derive(Clone)]
pub struct Audit {
    clock: Arc<dyn Clock>,
    file: Option<Arc<AuditFile>>,
}

impl std::fmt::Debug for Audit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Audit").field("file", &self.file).finish_non_exhaustive()
    }
}

impl Audit {
    /// An audit by this clock; without a file its acts stand in the log only.
    pub fn new(clock: Arc<dyn Clock>, file: Option<AuditFile>) -> Audit {
        Audit { clock, file: file.map(Arc::new) }
    }

    /// How many lines of the file could not be written; nothing without a file.
    pub(crate) fn failures(&self) -> Option<u64> {
        self.file.as_ref().map(|file| file.failures())
    }

    /// Writes down what was done to a queue, and to how many messages where that is known.
    pub fn queue(&self, act: Act, queue: &str, messages: Option<u64>, who: &Who) {
        self.write(act, Outcome::Done, (Some(queue), None), messages, who);
    }

    /// Writes down that an act begins that takes time; its end is written by what is answered.
    pub(crate) fn begin(&self, act: Act, queue: &str, who: Who) -> Deed {
        self.begin_on(act, Subject { queue: Some(queue.to_owned()), store: None }, Some(0), who)
    }

    /// The same for an act on a store as a whole.
    pub fn begin_store(&self, act: Act, store: &str, who: Who) -> Deed {
        self.begin_on(act, Subject { queue: None, store: Some(store.to_owned()) }, None, who)
    }

    fn begin_on(&self, act: Act, subject: Subject, messages: Option<u64>, who: Who) -> Deed {
        self.write(act, Outcome::Started, subject.names(), None, &who);
        Deed { audit: self.clone(), act, subject, who, messages, done: false }
    }

    fn write(
        &self,
        act: Act,
        outcome: Outcome,
        (queue, store): (Option<&str>, Option<&str>),
        messages: Option<u64>,
        who: &Who,
    ) {
        let (act, outcome) = (act.name(), outcome.name());
        tracing::info!(
            act,
            outcome,
            queue,
            store,
            messages,
            protocol = who.protocol,
            peer = who.peer.map(tracing::field::display),
            principal = who.principal,
            access_key = who.access_key,
            "an administrative act"
        );
        let Some(file) = &self.file else { return };
        let now = self.clock.now();
        let timestamp = humantime::format_rfc3339_millis(UNIX_EPOCH + since_epoch(now));
        let timestamp = timestamp.to_string();
        file.append(&Line { timestamp, act, outcome, queue, store, messages, who }, now);
    }
}

fn since_epoch(now: Timestamp) -> Duration {
    Duration::from_millis(now.as_millis())
}

/// What an act is done to.
#[derive(Debug)]
struct Subject {
    queue: Option<String>,
    store: Option<String>,
}

impl Subject {
    fn names(&self) -> (Option<&str>, Option<&str>) {
        (self.queue.as_deref(), self.store.as_deref())
    }
}

/// An act under way. When it is dropped, its end is written down.
#[derive(Debug)]
pub struct Deed {
    audit: Audit,
    act: Act,
    subject: Subject,
    who: Who,
    messages: Option<u64>,
    done: bool,
}

impl Deed {
    /// So many messages so far.
    pub(crate) fn so_far(&mut self, messages: u64) {
        self.messages = Some(messages);
    }

    /// All of it is done, with so many messages.
    pub(crate) fn done(mut self, messages: u64) {
        self.so_far(messages);
        self.done = true;
    }

    /// All of it is done, by an act that counts no messages.
    pub fn finished(mut self) {
        self.done = true;
    }
}

impl Drop for Deed {
    fn drop(&mut self) {
        let outcome = if self.done { Outcome::Done } else { Outcome::BrokenOff };
        self.audit.write(self.act, outcome, self.subject.names(), self.messages, &self.who);
    }
}

/// A file that lines of JSON are appended to.
#[derive(Debug)]
pub struct AuditFile {
    path: PathBuf,
    state: Mutex<State>,
    failures: AtomicU64,
    throttle: Throttle,
}

#[derive(Debug)]
struct State {
    file: File,
    /// The last line may not be whole.
    torn: bool,
}

impl AuditFile {
    /// Opens a file for appending; a new one has mode 0600.
    ///
    /// # Errors
    /// What the system says, also of a pipe that nobody reads.
    pub fn open(path: &Path) -> io::Result<AuditFile> {
        let mut options = OpenOptions::new();
        // A pipe must hold up neither the start nor an act; regular files do not know the flag.
        options.append(true).create(true).mode(0o600).custom_flags(libc::O_NONBLOCK);
        let state = State { file: options.open(path)?, torn: false };
        Ok(AuditFile {
            path: path.to_owned(),
            state: Mutex::new(state),
            failures: AtomicU64::new(0),
            throttle: Throttle::default(),
        })
    }

    /// How many lines could not be written.
    pub fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    /// Hands a line to the system. A failure is logged and counted: what was done is done.
    fn append(&self, line: &Line<'_>, now: Timestamp) {
        let Err(error) = self.try_append(line) else { return };
        let failures = self.failures.fetch_add(1, Ordering::Relaxed) + 1;
        if self.throttle.pass(now).is_some() {
            let path = self.path.display();
            tracing::error!(%path, %error, failures, "an act is not in the audit file");
        }
    }

    fn try_append(&self, line: &Line<'_>) -> io::Result<()> {
        let mut state = self.state.lock();
        let mut bytes = Vec::new();
        if state.torn {
            bytes.push(b'\n');
        }
        serde_json::to_writer(&mut bytes, line)?;
        bytes.push(b'\n');
        // In one call, so that lines of several processes do not mix.
        let written = state.file.write_all(&bytes);
        state.torn = written.is_err();
        written
    }
}

#[cfg(test)]
mod tests {
    use slipring::ManualClock;

    use super::*;

    fn who() -> Who {
        Who { protocol: "sqs", peer: Some([203, 0, 113, 9].into()), ..Who::default() }
    }

    fn audit(path: &Path) -> (Audit, ManualClock) {
        let clock = ManualClock::at(Timestamp::from_millis(1_700_000_000_123));
        let file = AuditFile::open(path).unwrap();
        (Audit::new(Arc::new(clock.clone()), Some(file)), clock)
    }

    fn lines(path: &Path) -> Vec<String> {
        std::fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn an_act_is_one_line_of_json_that_is_there_at_once() {
        // S16.5
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit");
        std::fs::write(&path, "before\n").unwrap();
        let (audit, _) = audit(&path);
        audit.queue(Act::Kick, "a\"\nb", Some(3), &who());
        let kick = "{\"timestamp\":\"2023-11-14T22:13:20.123Z\",\"act\":\"kick\",\
                    \"outcome\":\"done\",\"queue\":\"a\\\"\\nb\",\"messages\":3,\
                    \"protocol\":\"sqs\",\"peer\":\"203.0.113.9\"}";
        assert_eq!(lines(&path), ["before", kick]);
        let principal = Some("me".to_owned());
        let me = Who { protocol: "command line", principal, ..Who::default() };
        audit.begin_store(Act::Compact, "sqlite:a.db", me).finished();
        let compact = "\"outcome\":\"done\",\"store\":\"sqlite:a.db\",\
                       \"protocol\":\"command line\",\"principal\":\"me\"}";
        assert!(lines(&path)[3].ends_with(compact), "{:?}", lines(&path));
    }

    #[test]
    fn what_takes_time_has_a_line_for_its_start_and_one_for_its_end() {
        // S16.5
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit");
        let (audit, _) = audit(&path);
        audit.begin(Act::Purge, "q", who()).done(7);
        let mut broken = audit.begin(Act::Redrive, "q", who());
        broken.so_far(2);
        drop(broken);
        let ends = ["started", "done", "started", "broken_off"];
        for (line, end) in lines(&path).iter().zip(ends) {
            assert!(line.contains(&format!("\"outcome\":\"{end}\"")), "{line}");
        }
        let lines = lines(&path);
        assert!(lines[1].contains("\"messages\":7") && lines[3].contains("\"messages\":2"));
    }

    #[test]
    fn a_line_that_cannot_be_written_is_counted_and_the_next_one_stands_alone() {
        // S16.5
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit");
        let (audit, clock) = audit(&path);
        let file = audit.file.as_ref().unwrap();
        // Only for reading: the system refuses to write.
        let broken = File::open(&path).unwrap();
        let whole = std::mem::replace(&mut file.state.lock().file, broken);
        audit.queue(Act::Delete, "q", None, &who());
        audit.queue(Act::Delete, "q", None, &who());
        assert_eq!((file.failures(), lines(&path).len()), (2, 0));
        file.state.lock().file = whole;
        clock.advance(Duration::from_secs(1));
        audit.queue(Act::Pause, "q", None, &who());
        assert_eq!(file.failures(), 2);
        assert!(lines(&path).last().unwrap().starts_with("{\"timestamp\""));
    }

    #[test]
    fn a_file_cut_by_others_goes_on_at_its_new_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit");
        let (audit, _) = audit(&path);
        audit.queue(Act::Delete, "q", None, &who());
        File::options().write(true).truncate(true).open(&path).unwrap();
        audit.queue(Act::Resume, "q", None, &who());
        assert_eq!(lines(&path).len(), 1);
        assert!(lines(&path)[0].contains("resume"));
    }
}
