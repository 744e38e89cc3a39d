//! What both baselines have in common: one list for the whole process, one lock that creating,
//! cancelling and firing take, and one thread that fires.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result};
use slipring::waits::{NamedMutex, Waits};
use slipring::{WaitClass, WaitSnapshot};

use super::contender::{Alarm, Contender, Sink};
use super::list::{Key, List};
use crate::time::monotonic_ns;

/// The system timer under the lists goes on in steps: 64 in a second, which was the default of the
/// published system's platform.
const TICK_NS: u64 = 1_000_000_000 / 64;

/// The lock's wait class.
const CLASS: &str = "timer_list_lock";

/// How a list is kept.
pub trait Order: Send + Sync + 'static {
    /// Adds a timer.
    fn insert(list: &mut List, due_ns: u64, alarm: Alarm) -> Key;
    /// Takes out what is due at `now_ns`; answers when the next timer is due.
    fn fire(list: &mut List, now_ns: u64, fired: &mut Vec<Alarm>) -> Option<u64>;
}

/// One list of timers under one lock.
pub struct LockedList<O> {
    shared: Arc<Shared<O>>,
    class: Arc<WaitClass>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Shared<O> {
    state: NamedMutex<State>,
    stop: AtomicBool,
    order: std::marker::PhantomData<O>,
}

struct State {
    list: List,
    /// What the thread sleeps towards.
    wake_ns: u64,
    thread: Option<std::thread::Thread>,
}

impl<O: Order> LockedList<O> {
    /// An empty list and its thread.
    ///
    /// # Errors
    /// When there can be no more threads.
    pub fn start() -> Result<LockedList<O>> {
        let class = Waits::new().class(CLASS);
        let state = State { list: List::new(), wake_ns: u64::MAX, thread: None };
        let shared = Arc::new(Shared {
            state: NamedMutex::new(Arc::clone(&class), state),
            stop: AtomicBool::new(false),
            order: std::marker::PhantomData,
        });
        let theirs = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("timers".to_owned());
        let thread = thread.spawn(move || theirs.run()).context("starting a thread")?;
        shared.state.lock().thread = Some(thread.thread().clone());
        Ok(LockedList { shared, class, thread: Mutex::new(Some(thread)) })
    }
}

impl<O: Order> Shared<O> {
    fn run(&self) {
        let mut fired = Vec::new();
        while !self.stop.load(Ordering::Acquire) {
            let wake_ns = {
                let mut state = self.state.lock();
                let next = O::fire(&mut state.list, monotonic_ns(), &mut fired);
                state.wake_ns = next.map_or(u64::MAX, next_tick);
                state.wake_ns
            };
            fired.drain(..).for_each(|alarm| alarm.fire());
            let pause = Duration::from_nanos(wake_ns.saturating_sub(monotonic_ns()));
            std::thread::park_timeout(pause);
        }
    }
}

/// The step of the system timer at which a timer is seen to be due.
fn next_tick(due_ns: u64) -> u64 {
    due_ns.div_ceil(TICK_NS).saturating_mul(TICK_NS)
}

impl<O: Order> Contender for LockedList<O> {
    type Slot = Key;

    fn create(&self, _caller: usize, due_ns: u64, alarm: Alarm) -> Key {
        let mut state = self.shared.state.lock();
        let key = O::insert(&mut state.list, due_ns, alarm);
        let wake_ns = next_tick(due_ns);
        if wake_ns < state.wake_ns {
            state.wake_ns = wake_ns;
            if let Some(thread) = &state.thread {
                thread.unpark();
            }
        }
        key
    }

    fn again(&self, caller: usize, slot: &mut Key, due_ns: u64, sink: &Arc<Sink>) {
        drop(self.shared.state.lock().list.remove(*slot));
        *slot = self.time_out(caller, due_ns, sink);
    }

    fn waits(&self) -> Option<WaitSnapshot> {
        Some(self.class.snapshot())
    }

    fn stop(&self) {
        self.shared.stop.store(true, Ordering::Release);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            thread.thread().unpark();
            // A panic of the thread has been printed, and shows as timers that never fired.
            let _ = thread.join();
        }
    }
}
