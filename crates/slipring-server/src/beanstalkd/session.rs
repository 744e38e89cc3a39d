//! One connection: reading, taking commands in runs, writing, and what it holds.
//!
//! Everything it buffers is bounded: it reads only when all commands it has are done, and writes
//! out its replies whenever they pass a bound before it takes the next run.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use slipring::clock::Sleep;
use slipring::{Error, ErrorKind, Timestamp};
use slipring_wire::beanstalkd::{
    Command, Parser, Put, Refusal, Reply, TUBE_NAME_BYTES_MAX, TubeName,
};
use tokio_util::sync::CancellationToken;

use super::counters::Presence;
use super::failure::{refusal, word};
use super::flow::READ_BYTES_MIN;
use super::give_back::{give_back, give_back_rest};
use super::listener::Stream;
use super::measures::{self, Run};
use super::patience::Patience;
use super::reservations::Reservations;
use super::server::Shared;
use super::tubes::{Role, TubeRef};
use super::watched::Watched;
use crate::audit::{Act, Who};
use crate::budget::Room;
use crate::places::Place;

/// Replies are written out when they pass this, even in the middle of a pipeline.
pub(super) const OUT_BYTES_FULL: usize = 64 * 1024;

/// So many jobs the first receive of a connection may ask for, when their size is not known.
const RECEIVE_FIRST: usize = 16;

/// One answer asks for so much room at most before its bytes are fetched; what they weigh beyond
/// it is taken where it is free, as after a wait for jobs. To wait for all that a job might weigh
/// would keep the room from everybody.
const FETCHED_BYTES: usize = 4 << 20;

/// A tube in a list: its name with a hyphen, a space and a line end.
const LISTED_BYTES_MAX: usize = TUBE_NAME_BYTES_MAX + 3;

/// Most commands in one run.
pub(super) const RUN_MAX: usize = 1000;

/// What a connection is and holds.
pub(super) struct Session {
    pub(super) shared: Arc<Shared>,
    pub(super) stream: Stream,
    pub(super) stop: CancellationToken,
    pub(super) parser: Parser,
    /// The commands that are answered together, for the metrics.
    answered: Run,
    /// A command that was taken from the parser and turned out not to belong to the run.
    ahead: Option<Result<Command, Refusal>>,
    pub(super) out: BytesMut,
    pub(super) used: TubeRef,
    pub(super) watched: Vec<TubeRef>,
    /// Their queues, from the first reserve until another tube is watched or one is not any more.
    pub(super) queues: Option<Watched>,
    /// One of the queues turned out to be deleted.
    pub(super) lost_a_queue: bool,
    pub(super) held: Reservations,
    pub(super) presence: Presence,
    /// The client sends no more.
    pub(super) half_closed: bool,
    /// Nor is there anything left of what it has sent.
    pub(super) all_read: bool,
    pub(super) read_bytes: usize,
    /// For what has come of a command.
    pub(super) room: Room,
    /// For what is fetched to answer, and for replies that are not out yet.
    pub(super) leaving: Room,
    pub(super) patience: Patience,
    pub(super) place: Place,
    /// Fires at or before the first deadline of what is held.
    pub(super) lapse: Option<(Timestamp, Sleep)>,
    /// How many jobs the next receive may ask for; see `reserves`.
    pub(super) receive_most: usize,
    /// How many bytes the jobs of the last receive had, one with another.
    pub(super) job_bytes: usize,
}

impl Session {
    pub(super) fn new(
        shared: Arc<Shared>,
        stream: Stream,
        stop: CancellationToken,
        presence: Presence,
        place: Place,
    ) -> Session {
        let default = TubeName::default();
        let watched = shared.tubes.refer_known(&default, Role::Watch);
        Session {
            parser: Parser::new(shared.settings.job_bytes_max),
            used: shared.tubes.refer_known(&default, Role::Use),
            watched: vec![watched],
            queues: None,
            lost_a_queue: false,
            room: shared.arriving.room(),
            leaving: shared.leaving.room(),
            patience: Patience::new(shared.now()),
            place,
            shared,
            stream,
            stop,
            ahead: None,
            answered: Run::default(),
            out: BytesMut::new(),
            held: Reservations::default(),
            presence,
            half_closed: false,
            all_read: false,
            read_bytes: READ_BYTES_MIN,
            lapse: None,
            receive_most: RECEIVE_FIRST,
            job_bytes: 0,
        }
    }

    /// Serves the connection until it ends, then gives back what it holds.
    pub(super) async fn run(mut self) {
        // The reason does not matter: the connection is over.
        let _ = self.converse().await;
        self.take_lapsed();
        let held = self.held.take_all().map(|(_, reservation)| reservation).collect();
        let left = give_back(&self.shared, held).await;
        self.leave_tubes().await;
        let (shared, stop) = (Arc::clone(&self.shared), self.stop.clone());
        // Its place and its socket are free while the store cannot take the rest back.
        drop(self);
        give_back_rest(&shared, left, &stop).await;
    }

    async fn converse(&mut self) -> ControlFlow<()> {
        let shared = Arc::clone(&self.shared);
        let mut stretch = shared.turns.stretch();
        loop {
            while let Some(next) = self.next() {
                stretch.step().await;
                self.place.works();
                self.answered = Run::beginning_with(&next);
                stretch.through(self.dispatch(next)).await?;
                self.answered.over(&self.shared.ledger);
                self.patience.finished();
                if self.out.len() >= OUT_BYTES_FULL {
                    stretch.through(self.flush()).await?;
                }
                if self.stop.is_cancelled() {
                    break;
                }
            }
            self.make_room();
            stretch.through(self.flush()).await?;
            if self.all_read || self.stop.is_cancelled() {
                return ControlFlow::Break(());
            }
            stretch.through(self.read()).await?;
        }
    }

    async fn dispatch(&mut self, next: Result<Command, Refusal>) -> ControlFlow<()> {
        match next {
            Ok(Command::Put(put)) => self.puts(put).await,
            Ok(Command::Reserve) => self.reserves(None).await,
            Ok(Command::ReserveWithTimeout { seconds }) => {
                self.reserves(Some(Duration::from_secs(u64::from(seconds)))).await
            }
            Ok(command) if Session::settles(&command) => self.settle_run(command).await,
            Ok(Command::Touch { id }) => self.touches(id).await,
            Ok(Command::Quit) => {
                self.shared.counters.quit.add(1);
                let _ = self.flush().await;
                ControlFlow::Break(())
            }
            // Boxed: these are rare, and a waiting connection should not carry room for them.
            Ok(command) => Box::pin(self.single(command)).await,
            Err(refusal) if refusal.is_final() => {
                self.say(&Reply::from(refusal))?;
                let _ = self.flush().await;
                ControlFlow::Break(())
            }
            Err(refusal) => self.refuse(refusal),
        }
    }

    /// A command that makes no run.
    async fn single(&mut self, command: Command) -> ControlFlow<()> {
        // The room for what is fetched is there before, and until it is out.
        let fetches = self.fetched_bytes_max(&command);
        if let Some(bytes) = fetches {
            self.room_to_answer(bytes.min(FETCHED_BYTES)).await?;
        }
        let answer = match command {
            Command::Use(tube) => Ok(self.use_tube(&tube).await),
            Command::Watch(tube) => Ok(self.watch(&tube).await),
            Command::Ignore(tube) => Ok(self.ignore(&tube)),
            Command::ReserveJob { id } => self.reserve_job(id).await,
            Command::Peek { id } => self.peek(id).await,
            Command::PeekReady => self.peek_ready().await,
            Command::PeekDelayed => self.peek_delayed().await,
            Command::PeekBuried => self.peek_buried().await,
            Command::Kick { bound } => self.kick(bound).await,
            Command::KickJob { id } => self.kick_job(id).await,
            Command::StatsJob { id } => self.stats_job(id).await,
            Command::StatsTube(tube) => self.stats_tube(&tube).await,
            Command::Stats => self.stats().await,
            Command::ListTubes => self.list_tubes().await,
            Command::ListTubeUsed => Ok(self.list_tube_used()),
            Command::ListTubesWatched => Ok(self.list_tubes_watched()),
            Command::PauseTube { tube, delay } => self.pause_tube(&tube, delay).await,
            Command::Put(_)
            | Command::Reserve
            | Command::ReserveWithTimeout { .. }
            | Command::Delete { .. }
            | Command::Release { .. }
            | Command::Bury { .. }
            | Command::Touch { .. }
            | Command::Quit => Ok(Reply::InternalError),
        };
        match answer {
            Ok(reply) => self.say(&reply)?,
            Err(error) => self.fail(&error, 1)?,
        }
        if fetches.is_some() {
            self.fit_room();
        }
        ControlFlow::Continue(())
    }

    /// How many bytes at most a command fetches to be answered, if these are many.
    fn fetched_bytes_max(&self, command: &Command) -> Option<usize> {
        let shared = &self.shared;
        match command {
            Command::ReserveJob { .. }
            | Command::Peek { .. }
            | Command::PeekReady
            | Command::PeekDelayed
            | Command::PeekBuried => Some(shared.settings.job_bytes_max as usize),
            Command::ListTubes => {
                let tubes = shared.tubes.len() + shared.engine.known_queue_count();
                Some(tubes.saturating_mul(LISTED_BYTES_MAX))
            }
            Command::ListTubesWatched => Some(self.watched.len() * LISTED_BYTES_MAX),
            _ => None,
        }
    }

    fn note_refusal(&self, reply: &Reply) {
        if let Some(code) = refusal(reply) {
            self.shared.refusals.note(code, || self.stream.peer());
        }
    }

    /// Writes down what this connection did to a queue.
    pub(super) fn audit(&self, act: Act, queue: &str, messages: Option<u64>) {
        let peer = self.stream.peer();
        let who = Who { protocol: "beanstalkd", peer, ..Who::default() };
        self.shared.audit.queue(act, queue, messages, &who);
    }

    fn refuse(&mut self, refusal: Refusal) -> ControlFlow<()> {
        if !matches!(refusal, Refusal::BadFormat | Refusal::UnknownCommand) {
            // The command line was in order: it counts as a put.
            self.shared.counters.put.add(1);
            if refusal == Refusal::ExpectedCrlf {
                self.presence.produces();
            }
        }
        self.say(&Reply::from(refusal))
    }

    /// The next command that has come whole.
    fn next(&mut self) -> Option<Result<Command, Refusal>> {
        if let Some(ahead) = self.ahead.take() {
            return Some(ahead);
        }
        let next = self.parser.next()?;
        if let Ok(command) = &next {
            tracing::trace!(
                protocol = "beanstalkd",
                command = word(command),
                peer = self.stream.peer().map(tracing::field::display),
                "a request"
            );
        }
        Some(next)
    }

    /// The next command if it is what `take` wants; otherwise it stays next.
    pub(super) fn next_if<T>(
        &mut self,
        take: impl FnOnce(Command) -> Result<T, Command>,
    ) -> Option<T> {
        match self.next()? {
            Ok(command) => match (measures::number(&command), take(command)) {
                (number, Ok(wanted)) => {
                    self.answered.take(number);
                    Some(wanted)
                }
                (_, Err(other)) => {
                    self.ahead = Some(Ok(other));
                    None
                }
            },
            refused => {
                self.ahead = Some(refused);
                None
            }
        }
    }

    /// The next command if it is a put.
    pub(super) fn next_put(&mut self) -> Option<Put> {
        self.next_if(|command| match command {
            Command::Put(put) => Ok(put),
            other => Err(other),
        })
    }

    pub(super) fn say(&mut self, reply: &Reply) -> ControlFlow<()> {
        measures::said(&self.shared.ledger, reply, 1);
        self.note_refusal(reply);
        reply.write(&mut self.out);
        ControlFlow::Continue(())
    }

    /// Answers `times` commands with an error of the engine. An engine that is closed ends the
    /// connection.
    pub(super) fn fail(&mut self, error: &Error, times: usize) -> ControlFlow<()> {
        if error.kind() == ErrorKind::Closed {
            return ControlFlow::Break(());
        }
        let reply = self.shared.reply_to(error);
        measures::said(&self.shared.ledger, &reply, times);
        for _ in 0..times {
            self.note_refusal(&reply);
            reply.write(&mut self.out);
        }
        ControlFlow::Continue(())
    }

    /// Counts reservations that ran out and forgets them; the engine makes the jobs ready.
    pub(super) fn take_lapsed(&mut self) {
        let now = self.shared.now();
        if self.lapse.as_ref().is_some_and(|(at, _)| *at <= now) {
            self.lapse = None;
        }
        for (id, reservation) in self.held.take_lapsed(now) {
            self.shared.counters.job_timeouts.add(1);
            reservation.tube.note(id, |history| history.timeouts += 1);
        }
    }

    /// Gives up the tubes that it watches; there may be a thousand.
    async fn leave_tubes(&mut self) {
        let shared = Arc::clone(&self.shared);
        let mut stretch = shared.turns.stretch();
        while let Some(tube) = self.watched.pop() {
            stretch.step().await;
            drop(tube);
        }
    }
}
