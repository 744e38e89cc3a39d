//! `reserve`, `reserve-with-timeout` and `reserve-job`.
//!
//! A run of reserves takes what is there in one receive; what is left over waits one by one. While
//! a connection waits it still reads, so that a client that leaves does not go on waiting.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use slipring::engine::ReceiveRequest;
use slipring::{Clock, Delivery, Error, ErrorKind, MessageId, Timestamp};
use slipring_wire::beanstalkd::{Command, Reply};

use super::failure::is_no_such_job;
use super::flow::read_ahead;
use super::reservations::{Reservation, SAFETY_MARGIN};
use super::server::Shared;
use super::session::{OUT_BYTES_FULL, RUN_MAX, Session};
use super::tube::Tube;
use super::tubes::TubeRef;
use super::watched::Watched;
use crate::budget::FREE_BYTES;

/// Most jobs one receive asks for.
const RECEIVE_MAX: usize = 512;

/// A receive asks for so many jobs that bodies of the size seen last come to about this.
const RECEIVE_BYTES: usize = 512 * 1024;

/// While a reserve waits, so many bytes of commands behind it are read ahead: they need no room,
/// which one who waits could keep from others without end.
const READ_AHEAD_BYTES: usize = FREE_BYTES;

/// A look for jobs that is under way when a job of the connection begins to run out is waited for
/// so long at most, so that the client can still touch that job.
const GRACE: Duration = Duration::from_millis(500);
const GRACE_PARTS: u32 = 10;

/// How a wait for jobs ended.
enum Waited {
    Jobs(Vec<Delivery>),
    TimedOut,
    DeadlineSoon,
}

impl Session {
    /// A run of reserves that all wait equally long; `None` waits without end.
    pub(super) async fn reserves(&mut self, wait: Option<Duration>) -> ControlFlow<()> {
        let mut left = 1;
        while left < RUN_MAX && self.next_if(|command| same_reserve(command, wait)).is_some() {
            left += 1;
        }
        let counters = &self.shared.counters;
        let counter =
            if wait.is_none() { &counters.reserve } else { &counters.reserve_with_timeout };
        counter.add(left);
        self.presence.works();
        // When the wait of the first of them ends.
        let mut until = None;
        while left > 0 {
            self.take_lapsed();
            let now = self.shared.now();
            let margin = self.held.margin_begins(now);
            let soon = margin.is_some_and(|begins| begins <= now);
            let no_wait = soon || self.half_closed || wait.is_some_and(|wait| wait.is_zero());
            // Nothing is waited for before the replies so far are out.
            let waited = if no_wait || !self.out.is_empty() {
                let bytes = self.job_bytes.saturating_mul(self.ask_for(left) as usize);
                self.room_to_answer(bytes).await?;
                self.receive_now(left).await.map(Waited::Jobs)
            } else {
                let until = *until.get_or_insert(now.after(wait.unwrap_or(Duration::MAX)));
                self.wait_for_jobs(left, wait.map(|_| now.until(until))).await?
            };
            match waited {
                Ok(Waited::Jobs(jobs)) if !jobs.is_empty() => {
                    left -= jobs.len().min(left);
                    until = None;
                    self.hand_over(jobs);
                    if self.out.len() >= OUT_BYTES_FULL {
                        self.flush().await?;
                    }
                }
                Ok(Waited::Jobs(_)) if soon => left = self.say_times(&Reply::DeadlineSoon, left),
                Ok(Waited::Jobs(_)) if no_wait => left = self.say_times(&Reply::TimedOut, left),
                Ok(Waited::Jobs(_)) => self.flush().await?,
                Ok(Waited::TimedOut) => {
                    until = None;
                    left -= 1;
                    self.say(&Reply::TimedOut)?;
                }
                Ok(Waited::DeadlineSoon) => {
                    until = None;
                    left -= 1;
                    self.say(&Reply::DeadlineSoon)?;
                }
                Err(error) => {
                    self.fail(&error, left)?;
                    left = 0;
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// Answers all that is left of a run at once; nothing is left then.
    fn say_times(&mut self, reply: &Reply, times: usize) -> usize {
        for _ in 0..times {
            reply.write(&mut self.out);
        }
        0
    }

    /// How many jobs to ask for.
    fn ask_for(&self, wanted: usize) -> u32 {
        u32::try_from(wanted.min(self.receive_most)).unwrap_or(1)
    }

    /// Takes what is there.
    async fn receive_now(&mut self, wanted: usize) -> Result<Vec<Delivery>, Error> {
        loop {
            let jobs = self.receive_once(wanted).await?;
            if !jobs.is_empty() {
                return Ok(jobs);
            }
            // A tube may have lost its queue, or got one without being told yet: S5.5 holds for
            // the others, and for it. Each turn needs a queue that was deleted or made meanwhile.
            let engine = &self.shared.engine;
            let others = |all: &mut Watched| all.take_in_all(engine);
            if !self.lost_a_queue && !self.queues.as_mut().is_some_and(others) {
                return Ok(jobs);
            }
        }
    }

    async fn receive_once(&mut self, wanted: usize) -> Result<Vec<Delivery>, Error> {
        let request =
            ReceiveRequest { session: true, ..ReceiveRequest::up_to(self.ask_for(wanted)) };
        let engine = self.shared.engine.clone();
        let received = self.watched_queues().await?.receive(request, &engine).await;
        self.look_again_or(received.map(Some)).map(Option::unwrap_or_default)
    }

    /// Waits for at least one job, for the end of the wait, for the safety margin of a job that is
    /// held, or for the client to leave.
    async fn wait_for_jobs(
        &mut self,
        wanted: usize,
        wait: Option<Duration>,
    ) -> ControlFlow<(), Result<Waited, Error>> {
        if let Err(error) = self.watched_queues().await {
            return ControlFlow::Continue(Err(error));
        }
        // Out of the session, which reads while it is waited for.
        let Some(mut queues) = self.queues.take() else {
            return ControlFlow::Continue(Ok(Waited::Jobs(Vec::new())));
        };
        let mut waited = self.wait_for_jobs_of(&mut queues, wanted, wait).await?;
        // Who waited was not silent.
        self.patience.came(0, self.shared.now());
        // The end of a wait may come before the word of a queue that was made by then (S5.5).
        if matches!(waited, Ok(Waited::TimedOut)) && queues.take_in_all(&self.shared.engine) {
            waited = Ok(Waited::Jobs(Vec::new()));
        }
        if !self.lost_a_queue {
            self.queues = Some(queues);
        }
        ControlFlow::Continue(waited)
    }

    async fn wait_for_jobs_of(
        &mut self,
        queues: &mut Watched,
        wanted: usize,
        wait: Option<Duration>,
    ) -> ControlFlow<(), Result<Waited, Error>> {
        let request =
            ReceiveRequest { session: true, ..ReceiveRequest::up_to(self.ask_for(wanted)) };
        let shared = Arc::clone(&self.shared);
        let clock = shared.engine.clock();
        let margin = self.held.margin_to_wait_for(clock.now());
        let _waiting = Waiting::begin(&shared, queues);
        let appeared = queues.appeared();
        // The margin ends the receive like the end of its wait: a look that is under way then is
        // waited for, and takes nothing in vain; but not for long.
        let wait_ends = clock.now().after(wait.unwrap_or(Duration::MAX));
        let margin = margin.filter(|begins| *begins <= wait_ends);
        let until = margin.unwrap_or(wait_ends);
        let given_up = async {
            match margin {
                Some(begins) => grace(&**clock, begins).await,
                None => std::future::pending().await,
            }
        };
        // No jobs are taken while the room for answers is scarce.
        let receive = async {
            while shared.leaving.has_plenty_by(&**clock, until).await {
                let request = ReceiveRequest { wait: clock.now().until(until), ..request };
                tokio::select! {
                    jobs = queues.receive(request, &shared.engine) => return jobs,
                    () = shared.leaving.scarce() => {}
                }
            }
            Ok(Vec::new())
        };
        tokio::pin!(receive, given_up);
        loop {
            let Session { stream, parser, read_bytes, .. } = self;
            let read = tokio::select! {
                biased;
                // First: what others give back while the server stops is not for those who wait.
                () = self.stop.cancelled() => return ControlFlow::Break(()),
                jobs = &mut receive => {
                    return ControlFlow::Continue(self.waited(jobs, wait, margin));
                }
                () = &mut given_up => return ControlFlow::Continue(Ok(Waited::DeadlineSoon)),
                () = appeared.rung() => return ControlFlow::Continue(Ok(Waited::Jobs(Vec::new()))),
                read = read_ahead(stream, parser, *read_bytes, READ_AHEAD_BYTES, &**clock) => read,
            };
            match read {
                Ok(Some(bytes)) => self.has_read(bytes),
                Ok(None) => self.half_closed = true,
                Err(_) => return ControlFlow::Break(()),
            }
            if self.half_closed {
                return ControlFlow::Continue(Ok(Waited::TimedOut));
            }
        }
    }

    /// What the end of a receive that waited means. Where the job has run out whose safety margin
    /// begins at `margin`, there is reason to look again.
    fn waited(
        &mut self,
        jobs: Result<Vec<Delivery>, Error>,
        wait: Option<Duration>,
        margin: Option<Timestamp>,
    ) -> Result<Waited, Error> {
        let now = self.shared.now();
        let jobs = jobs.map(|jobs| (!jobs.is_empty()).then_some(jobs));
        match (self.look_again_or(jobs)?, margin) {
            (Some(jobs), _) => Ok(Waited::Jobs(jobs)),
            (None, Some(begins)) if begins <= now => match now < begins.after(SAFETY_MARGIN) {
                true => Ok(Waited::DeadlineSoon),
                false => Ok(Waited::Jobs(Vec::new())),
            },
            // Not the end of the wait, but a reason to look again.
            (None, _) if wait.is_none() || self.lost_a_queue => Ok(Waited::Jobs(Vec::new())),
            (None, _) => Ok(Waited::TimedOut),
        }
    }

    /// Forgets the queues of the watched tubes when one turned out to be deleted, and takes a
    /// limit on jobs in flight for an empty tube: both mean that there is nothing now.
    fn look_again_or<T>(&mut self, received: Result<Option<T>, Error>) -> Result<Option<T>, Error> {
        let error = match received {
            Err(error) => error,
            received => return received,
        };
        let in_flight = |(key, value): &(&str, String)| *key == "limit" && value == "in_flight_max";
        match error.kind() {
            ErrorKind::QueueNotFound => {
                self.queues = None;
                self.lost_a_queue = true;
                Ok(None)
            }
            ErrorKind::LimitExceeded if error.context().iter().any(in_flight) => Ok(None),
            _ => Err(error),
        }
    }

    /// The queues of all watched tubes that have one.
    async fn watched_queues(&mut self) -> Result<&mut Watched, Error> {
        match &mut self.queues {
            Some(queues) => queues.take_in(&self.shared.engine),
            None => {
                if self.lost_a_queue {
                    // The engine may still know a queue that another server has deleted.
                    self.shared.engine.note_deletions().await?;
                }
                let found = Watched::find(&self.watched, &self.shared.engine).await?;
                self.queues = Some(found);
                self.lost_a_queue = false;
            }
        }
        self.queues.as_mut().ok_or_else(|| Error::new(ErrorKind::Internal, "no tube is watched"))
    }

    /// Gives jobs to the client, and sizes the next receive by what these weighed.
    fn hand_over(&mut self, jobs: Vec<Delivery>) {
        let bytes: usize = jobs.iter().map(|job| job.message.body.len()).sum();
        let fitting = (RECEIVE_BYTES * jobs.len()) / bytes.max(1);
        self.job_bytes = bytes / jobs.len().max(1);
        // Twice the last number at most: one small job says little about the next hundred.
        self.receive_most = fitting.clamp(1, RECEIVE_MAX.min(2 * self.receive_most));
        for job in jobs {
            let queues = self.queues.as_ref();
            let tube = queues.and_then(|queues| queues.tube_of(job.receipt.queue));
            let tube = tube.or(self.watched.first().map(TubeRef::tube)).map(Arc::clone);
            if let Some(tube) = tube {
                self.take(job, tube);
            }
        }
        self.fit_room();
    }

    /// Holds one job and writes it out.
    fn take(&mut self, job: Delivery, tube: Arc<Tube>) {
        let id = job.message.id.0;
        Reply::Reserved { id, body: job.message.body }.write(&mut self.out);
        let reservation = Reservation { receipt: job.receipt, deadline: job.deadline, tube };
        self.held.insert(id, reservation);
    }

    pub(super) async fn reserve_job(&mut self, id: u64) -> Result<Reply, Error> {
        let shared = Arc::clone(&self.shared);
        shared.counters.reserve_job.add(1);
        let Some(found) = shared.engine.lookup(MessageId(id)).await? else {
            return Ok(Reply::NotFound);
        };
        let queue = shared.engine.queue_by_id(found.queue);
        let Some((queue, tube)) = queue.and_then(|queue| {
            let tube = shared.tubes.for_queue(&queue)?;
            Some((queue, tube))
        }) else {
            return Ok(Reply::NotFound);
        };
        let request = ReceiveRequest { session: true, ..ReceiveRequest::up_to(1) };
        match queue.claim_message(MessageId(id), request).await {
            Ok(job) => {
                self.presence.works();
                let body = job.message.body.clone();
                let reservation =
                    Reservation { receipt: job.receipt, deadline: job.deadline, tube };
                self.held.insert(id, reservation);
                Ok(Reply::Reserved { id, body })
            }
            Err(error) if is_no_such_job(&error) => Ok(Reply::NotFound),
            Err(error) => Err(error),
        }
    }
}

/// Ends so much later than a safety margin begins. Time in which the process is stopped counts as a
/// tenth at most: what a look has found meanwhile has only to be read.
async fn grace(clock: &dyn Clock, begins: Timestamp) {
    clock.sleep_until(begins).await;
    for _ in 0..GRACE_PARTS {
        clock.sleep_until(clock.now().after(GRACE / GRACE_PARTS)).await;
    }
}

fn same_reserve(command: Command, wait: Option<Duration>) -> Result<(), Command> {
    let same = match command {
        Command::Reserve => wait.is_none(),
        Command::ReserveWithTimeout { seconds } => {
            wait == Some(Duration::from_secs(u64::from(seconds)))
        }
        _ => false,
    };
    if same { Ok(()) } else { Err(command) }
}

/// Counts a connection as waiting, in all its tubes, for as long as it does.
struct Waiting<'a> {
    shared: &'a Shared,
    tubes: Vec<Arc<Tube>>,
}

impl<'a> Waiting<'a> {
    fn begin(shared: &'a Shared, watched: &Watched) -> Waiting<'a> {
        let tubes: Vec<Arc<Tube>> = watched.tubes().map(Arc::clone).collect();
        shared.counters.waiting.add(1);
        tubes.iter().for_each(|tube| tube.waiting.add(1));
        Waiting { shared, tubes }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.shared.counters.waiting.subtract(1);
        self.tubes.iter().for_each(|tube| tube.waiting.subtract(1));
    }
}
