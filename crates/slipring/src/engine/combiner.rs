//! Flat combining (law 2): calls that wait at the same time go into one store call.
//!
//! The first caller's turn starts at once; those who arrive meanwhile form the next batch. Nobody
//! waits for a timer to fill a batch. A turn runs as a task of its own, so a caller that goes
//! away takes no other call with it.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{Notify, oneshot};

use crate::clock::monotonic_ns;
use crate::error::{Error, Retry};
use crate::limits::Limits;
use crate::waits::{NamedMutex, WaitClass, Waits};

use super::isolated::unanswered;
use super::portions::CallSize;
use super::turnstile::Turnstile;

/// Turns under way at a time: a second one keeps a store busy that takes calls in while it writes.
const TURNS_MAX: u32 = 2;
/// Where calls go one after another, a turn that takes longer does not hold up others: a second
/// one may begin beside it.
const TURN_PATIENCE: Duration = Duration::from_millis(100);

/// What a combiner does with the calls it gathered.
pub(super) trait Turn: Send + Sync + 'static {
    /// What a caller brings.
    type Request: Send + 'static;
    /// What a caller gets.
    type Answer: Send + 'static;
    /// Bytes that a request takes while it waits.
    fn bytes(request: &Self::Request) -> u64;
    /// How much of a store call a request is.
    fn size(request: &Self::Request) -> CallSize;
    /// Runs all requests and answers them in order, one answer for each.
    fn run(
        &self,
        requests: Vec<Self::Request>,
    ) -> impl Future<Output = Vec<Self::Answer>> + Send + '_;
}

/// Gathers the calls of one queue and kind.
pub(super) struct Combiner<T: Turn> {
    turn: T,
    runtime: Handle,
    turnstile: Arc<Turnstile>,
    calls_max: usize,
    bytes_max: u64,
    /// The largest turn; bounds how long others wait behind it in the store.
    turn_max: CallSize,
    state: NamedMutex<State<T>>,
    waiting: Arc<WaitClass>,
    room: Notify,
    idle: Notify,
}

struct State<T: Turn> {
    calls: VecDeque<Call<T>>,
    bytes: u64,
    turns: u32,
    /// Turns that have used up their patience.
    late: u32,
    /// What further calls are refused with.
    closed: Option<Error>,
}

struct Call<T: Turn> {
    request: T::Request,
    bytes: u64,
    size: CallSize,
    slot: oneshot::Sender<T::Answer>,
    since_ns: u64,
}

/// The names of a combiner's two wait classes: its lock, and the wait for a turn.
pub(super) struct CombinerClasses {
    pub(super) lock: &'static str,
    pub(super) turn: &'static str,
}

impl<T: Turn> Combiner<T> {
    pub(super) fn new(
        turn: T,
        runtime: Handle,
        turnstile: Arc<Turnstile>,
        (limits, turn_max): (&Limits, CallSize),
        waits: &Waits,
        classes: &CombinerClasses,
    ) -> Arc<Combiner<T>> {
        let state = State { calls: VecDeque::new(), bytes: 0, turns: 0, late: 0, closed: None };
        Arc::new(Combiner {
            turn,
            runtime,
            turnstile,
            calls_max: limits.combiner_requests_max.max(1),
            bytes_max: limits.combiner_bytes_max,
            turn_max,
            state: NamedMutex::new(waits.class(classes.lock), state),
            waiting: waits.class(classes.turn),
            room: Notify::new(),
            idle: Notify::new(),
        })
    }

    /// Brings a request and waits for its answer. When the combiner is full the caller waits to
    /// get in (S12.3). Dropping the future does not undo a call that got in.
    pub(super) async fn call(self: &Arc<Self>, request: T::Request) -> Result<T::Answer, Error> {
        let (bytes, size) = (T::bytes(&request), T::size(&request));
        let (slot, answer) = oneshot::channel();
        let mut call = Call { request, bytes, size, slot, since_ns: monotonic_ns() };
        while let Err(refused) = self.enter(call)? {
            call = refused;
            let room = self.room.notified();
            tokio::pin!(room);
            // Registered before the second look, so that room made in between is not missed.
            room.as_mut().enable();
            match self.enter(call)? {
                Ok(()) => break,
                Err(refused) => call = refused,
            }
            room.await;
        }
        answer.await.map_err(|_| self.unanswered())
    }

    /// Refuses further calls with `error`; those that are in are still answered.
    pub(super) fn close(&self, error: Error) {
        self.state.lock().closed = Some(error);
        self.room.notify_waiters();
    }

    /// Waits until no call is in and no turn runs.
    pub(super) async fn drained(&self) {
        loop {
            let idle = self.idle.notified();
            tokio::pin!(idle);
            idle.as_mut().enable();
            {
                let state = self.state.lock();
                if state.turns == 0 && state.calls.is_empty() {
                    return;
                }
            }
            idle.await;
        }
    }

    fn enter(self: &Arc<Self>, call: Call<T>) -> Result<Result<(), Call<T>>, Error> {
        let mut state = self.state.lock();
        if let Some(error) = &state.closed {
            return Err(error.clone());
        }
        let fits = state.bytes == 0 || state.bytes + call.bytes <= self.bytes_max;
        if state.calls.len() >= self.calls_max || !fits {
            return Ok(Err(call));
        }
        state.bytes += call.bytes;
        state.calls.push_back(call);
        if state.turns < self.turns_allowed(&state) {
            state.turns += 1;
            drop(state);
            self.begin();
        }
        Ok(Ok(()))
    }

    /// Begins a turn that is counted.
    fn begin(self: &Arc<Self>) {
        let turn = TurnGuard { combiner: Arc::clone(self), begun: false, over: false };
        self.runtime.spawn(turn.take());
    }

    /// Ends a turn that the runtime has dropped, for it has ended: the calls that are in are given
    /// up, and further ones are refused.
    fn give_up(&self) {
        let mut state = self.state.lock();
        state.turns -= 1;
        state.bytes = 0;
        state.calls.clear();
        state.closed.get_or_insert_with(Error::closed);
        drop(state);
        self.room.notify_waiters();
        self.idle.notify_waiters();
    }

    /// The error of a call that a fault, or the end of the runtime, has left without an answer.
    fn unanswered(&self) -> Error {
        let closed = self.state.lock().closed.clone();
        closed.map_or_else(unanswered, |error| error.with_retry(Retry::Unknown))
    }

    /// Waits for a turn, and lets another one begin when it takes too long.
    async fn watched(
        self: &Arc<Self>,
        run: impl Future<Output = Vec<T::Answer>>,
    ) -> Vec<T::Answer> {
        if !self.turnstile.is_one_by_one() {
            return run.await;
        }
        tokio::pin!(run);
        if let Ok(answers) = tokio::time::timeout(TURN_PATIENCE, run.as_mut()).await {
            return answers;
        }
        let _late = LateTurn::new(self);
        run.await
    }

    fn turns_allowed(&self, state: &State<T>) -> u32 {
        if self.turnstile.is_one_by_one() && state.late == 0 { 1 } else { TURNS_MAX }
    }

    /// Takes the calls of the next turn. When there are none the turn is over: it is given back
    /// under the same lock under which callers look whether they have to start one.
    #[allow(clippy::type_complexity)]
    fn gather(&self) -> Option<(Vec<T::Request>, Vec<oneshot::Sender<T::Answer>>)> {
        let mut state = self.state.lock();
        let ready = state.calls.len();
        // One that began beside a late turn ends with it; the other goes on with what waits.
        if ready == 0 || state.turns > self.turns_allowed(&state) {
            state.turns -= 1;
            return None;
        }
        let now_ns = monotonic_ns();
        let mut requests = Vec::with_capacity(ready);
        let mut slots = Vec::with_capacity(ready);
        let mut so_far = CallSize::ZERO;
        let fits = |call: &Call<T>, so_far| self.turn_max.admits(so_far, call.size);
        while state.calls.front().is_some_and(|call| fits(call, so_far))
            && let Some(call) = state.calls.pop_front()
        {
            state.bytes -= call.bytes;
            so_far = so_far.and(call.size);
            self.waiting.waited(now_ns.saturating_sub(call.since_ns));
            requests.push(call.request);
            slots.push(call.slot);
        }
        Some((requests, slots))
    }
}

/// A turn that is counted. When it ends by a fault another one goes on with the calls that still
/// wait.
struct TurnGuard<T: Turn> {
    combiner: Arc<Combiner<T>>,
    begun: bool,
    over: bool,
}

impl<T: Turn> TurnGuard<T> {
    async fn take(mut self) {
        self.begun = true;
        let combiner = &self.combiner;
        loop {
            let _pass = combiner.turnstile.pass(|| combiner.state.lock().calls.len()).await;
            let Some((requests, slots)) = combiner.gather() else { break };
            combiner.room.notify_waiters();
            let answers = combiner.watched(combiner.turn.run(requests)).await;
            for (slot, answer) in slots.into_iter().zip(answers) {
                // A caller that went away needs no answer.
                let _ = slot.send(answer);
            }
        }
        combiner.idle.notify_waiters();
        self.over = true;
    }
}

impl<T: Turn> Drop for TurnGuard<T> {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        // One that is dropped without a fault, or before it began, has no runtime any more.
        if self.begun && std::thread::panicking() {
            self.combiner.begin();
        } else {
            self.combiner.give_up();
        }
    }
}

/// A turn that has used up its patience; it is late until this is dropped.
struct LateTurn<'a, T: Turn>(&'a Combiner<T>);

impl<'a, T: Turn> LateTurn<'a, T> {
    fn new(combiner: &'a Arc<Combiner<T>>) -> LateTurn<'a, T> {
        let mut state = combiner.state.lock();
        state.late += 1;
        if !state.calls.is_empty() && state.turns < combiner.turns_allowed(&state) {
            state.turns += 1;
            drop(state);
            combiner.begin();
        }
        LateTurn(combiner)
    }
}

impl<T: Turn> Drop for LateTurn<'_, T> {
    fn drop(&mut self) {
        self.0.state.lock().late -= 1;
    }
}
