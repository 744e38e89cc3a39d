//! The load: threads that create and cancel timers, and let one in a hundred fire.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use tokio::runtime::Handle;

use super::contender::{Alarm, Contender, Sink};
use crate::stats::Latencies;
use crate::time::monotonic_ns;

/// One timer in so many is let fire; the others are cancelled.
const FIRES_ONE_IN: u64 = 100;
/// Time-outs are this long at least, and up to twice as long: longer than the measurement.
const TIME_OUT_NS: u64 = 120_000_000_000;
/// A timer that is let fire is due after this time at least, so long that the call that creates
/// it is over by then …
const DELAY_NS: u64 = 5_000_000;
/// … and this much later at most.
const DELAY_RANGE_NS: u64 = 20_000_000;
/// Operations between two looks at the clock. A look costs as much as an operation.
const OPERATIONS_BETWEEN_LOOKS: u64 = 8;
/// What a user keeps of a timer that fired is let go this much after its creation.
const KEEP_NS: u64 = 100_000_000;
/// So many timers are set between two looks whether there is time left to set more.
const FILL_STEP: usize = 64;

/// How much, by how many, for how long.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// Outstanding timers of all threads together.
    pub timers: usize,
    /// Threads.
    pub threads: usize,
    /// For how long it is measured.
    pub time: Duration,
    /// For how long timers are set before, at most.
    pub fill_max: Duration,
    /// Where the choices come from.
    pub seed: u64,
}

/// What the threads did.
pub struct Done {
    /// Timers that were outstanding when the measurement began.
    pub reached: usize,
    /// Resident bytes that these took, without what the threads keep.
    pub resident_bytes: u64,
    /// Operations: a timer cancelled and another created, or one created and let fire.
    pub operations: u64,
    /// Timers that were let fire.
    pub let_fire: u64,
    /// For how long the threads went on, in seconds.
    pub seconds: f64,
    /// How long [`OPERATIONS_BETWEEN_LOOKS`] operations took.
    pub turns: Latencies,
    /// How often a thread gave up its processor to wait.
    pub blocked: u64,
    /// Processor time of the threads, in seconds.
    pub cpu_seconds: f64,
}

/// One thread's share.
struct Caller<C: Contender> {
    contender: Arc<C>,
    number: usize,
    sink: Arc<Sink>,
    random: Random,
    slots: Vec<C::Slot>,
    /// Timers that were let fire, with the moment of their creation.
    left: VecDeque<(u64, C::Slot)>,
    operations: u64,
    let_fire: u64,
    turns: Latencies,
}

/// Splitmix64: two nanoseconds a number, the same numbers for every contender.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which is small against 2⁶⁴.
    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }
}

impl<C: Contender> Caller<C> {
    fn new(contender: &Arc<C>, number: usize, sink: &Arc<Sink>, seed: u64) -> Result<Caller<C>> {
        Ok(Caller {
            contender: Arc::clone(contender),
            number,
            sink: Arc::clone(sink),
            random: Random(seed.wrapping_add(number as u64).wrapping_mul(0x2545_f491_4f6c_dd1d)),
            slots: Vec::new(),
            left: VecDeque::new(),
            operations: 0,
            let_fire: 0,
            turns: Latencies::new()?,
        })
    }

    /// Sets `timers` timers, or as many as there is time for.
    fn fill(&mut self, timers: usize, until: Instant) {
        self.slots.reserve_exact(timers);
        while self.slots.len() < timers && Instant::now() < until {
            let now_ns = monotonic_ns();
            for _ in 0..FILL_STEP.min(timers - self.slots.len()) {
                let due_ns = now_ns + TIME_OUT_NS + self.random.below(TIME_OUT_NS);
                self.slots.push(self.contender.time_out(self.number, due_ns, &self.sink));
            }
        }
    }

    fn run(&mut self, stop: &AtomicBool) {
        let mut now_ns = monotonic_ns();
        while !stop.load(Ordering::Relaxed) {
            for _ in 0..OPERATIONS_BETWEEN_LOOKS {
                self.operate(now_ns);
            }
            self.operations += OPERATIONS_BETWEEN_LOOKS;
            self.let_go(now_ns);
            let later_ns = monotonic_ns();
            self.turns.add(later_ns.saturating_sub(now_ns));
            now_ns = later_ns;
        }
    }

    fn operate(&mut self, now_ns: u64) {
        if self.random.below(FIRES_ONE_IN) == 0 || self.slots.is_empty() {
            let due_ns = now_ns + DELAY_NS + self.random.below(DELAY_RANGE_NS);
            let alarm = Alarm::of(&self.sink, due_ns);
            let slot = self.contender.create(self.number, due_ns, alarm);
            self.left.push_back((now_ns, slot));
            self.let_fire += 1;
            return;
        }
        let place = self.random.below(self.slots.len() as u64) as usize;
        let due_ns = now_ns + TIME_OUT_NS + self.random.below(TIME_OUT_NS);
        self.contender.again(self.number, &mut self.slots[place], due_ns, &self.sink);
    }

    /// Lets go what has fired long since.
    fn let_go(&mut self, now_ns: u64) {
        while let Some((since_ns, slot)) = self.left.front() {
            if since_ns + KEEP_NS > now_ns || !self.contender.is_over(slot) {
                return;
            }
            self.left.pop_front();
        }
    }
}

/// What a thread comes back with, and the slots, which are let go when all threads are done.
struct Share<C: Contender> {
    caller: Caller<C>,
    seconds: f64,
    blocked: u64,
    cpu_seconds: f64,
}

/// What the threads wait for and agree on.
struct Meeting {
    filled: Barrier,
    begin: Barrier,
    stop: AtomicBool,
    reached: AtomicU64,
}

/// Runs the load. `between` is called when the timers are set and nothing is measured yet.
/// Afterwards waits, for at most `patience`, until the timers have fired that were let fire.
///
/// # Errors
/// When a thread cannot be started or does not come back.
pub fn run<C: Contender>(
    contender: &Arc<C>,
    runtime: &Handle,
    size: &Size,
    sinks: &[Arc<Sink>],
    patience: Duration,
    between: impl FnOnce() -> Result<()>,
) -> Result<Done> {
    let meeting = Meeting {
        filled: Barrier::new(size.threads + 1),
        begin: Barrier::new(size.threads + 1),
        stop: AtomicBool::new(false),
        reached: AtomicU64::new(0),
    };
    let resident_before = resident()?;
    let callers = sinks.iter().take(size.threads).enumerate();
    let callers: Result<Vec<Caller<C>>> =
        callers.map(|(number, sink)| Caller::new(contender, number, sink, size.seed)).collect();
    std::thread::scope(|scope| {
        let threads: Vec<_> = callers?
            .into_iter()
            .map(|caller| scope.spawn(|| work(caller, runtime, size, &meeting)))
            .collect();
        meeting.filled.wait();
        let reached = meeting.reached.load(Ordering::SeqCst) as usize;
        let kept = reached * size_of::<C::Slot>();
        let taken = resident().map(|now| now.saturating_sub(resident_before));
        let begun = between();
        meeting.begin.wait();
        if begun.is_ok() {
            std::thread::sleep(size.time);
        }
        meeting.stop.store(true, Ordering::SeqCst);
        let shares: Result<Vec<Share<C>>> = threads
            .into_iter()
            .map(|thread| thread.join().map_err(|_| anyhow!("a thread of the load panicked"))?)
            .collect();
        begun?;
        let resident_bytes = taken?.saturating_sub(kept as u64);
        let shares = shares?;
        all_fired(&shares, Instant::now() + patience);
        sum(&shares, reached, resident_bytes)
    })
}

fn work<C: Contender>(
    mut caller: Caller<C>,
    runtime: &Handle,
    size: &Size,
    meeting: &Meeting,
) -> Result<Share<C>> {
    let _inside = runtime.enter();
    let more = usize::from(caller.number < size.timers % size.threads);
    caller.fill(size.timers / size.threads + more, Instant::now() + size.fill_max);
    meeting.reached.fetch_add(caller.slots.len() as u64, Ordering::SeqCst);
    meeting.filled.wait();
    meeting.begin.wait();
    let (began, before) = (Instant::now(), getrusage(UsageWho::RUSAGE_THREAD));
    caller.run(&meeting.stop);
    let (seconds, after) = (began.elapsed().as_secs_f64(), getrusage(UsageWho::RUSAGE_THREAD)?);
    let before = before?;
    let cpu_us = |usage: &nix::sys::resource::Usage| {
        usage.user_time().num_microseconds() + usage.system_time().num_microseconds()
    };
    let blocked = after.voluntary_context_switches() - before.voluntary_context_switches();
    Ok(Share {
        caller,
        seconds,
        blocked: u64::try_from(blocked).unwrap_or(0),
        cpu_seconds: (cpu_us(&after) - cpu_us(&before)) as f64 / 1e6,
    })
}

/// Waits until all have fired that were let fire.
fn all_fired<C: Contender>(shares: &[Share<C>], deadline: Instant) {
    let waits = |share: &Share<C>| share.caller.sink.fired() < share.caller.let_fire;
    while shares.iter().any(waits) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn sum<C: Contender>(shares: &[Share<C>], reached: usize, resident_bytes: u64) -> Result<Done> {
    let mut turns = Latencies::new()?;
    for share in shares {
        turns.merge(&share.caller.turns)?;
    }
    Ok(Done {
        reached,
        resident_bytes,
        operations: shares.iter().map(|share| share.caller.operations).sum(),
        let_fire: shares.iter().map(|share| share.caller.let_fire).sum(),
        seconds: shares.iter().map(|share| share.seconds).fold(0.0, f64::max),
        turns,
        blocked: shares.iter().map(|share| share.blocked).sum(),
        cpu_seconds: shares.iter().map(|share| share.cpu_seconds).sum(),
    })
}

fn resident() -> Result<u64> {
    Ok(crate::process::Usage::own()?.resident_bytes)
}
