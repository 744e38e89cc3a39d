//! Everybody else: senders and receivers on queues of their own, on a computed schedule, that come
//! back when their connection is cut. They have a thread of their own.
//!
//! ```text
//!   due times │ │ │ ─▶ sender ──▶ │ others-n │ ──▶ receiver: now − due time      (each queue)
//!   windows   └─calm─┴─fault─┴─recovery─┘ then what is left, then what came is checked
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use parking_lot::Mutex;
use tokio::task::JoinSet;

use super::account::{Account, Verdict};
use super::meter::{Meter, Window};
use super::phase::Phase;
use super::receiver::{numbers, receive};
use crate::body::{self, Content};
use crate::targets::{Caller, Target};
use crate::time::monotonic_ns;
use crate::workloads::wait_until;

/// A start so much after its due time counts as late.
const LATE_NS: u64 = 5_000_000;
/// An operation that takes longer counts as cut.
const ANSWERED_WITHIN: Duration = Duration::from_secs(30);
/// Between two looks whether the senders are to end, or what was seen is enough.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Between two tries to connect.
pub(super) const CONNECT_AGAIN: Duration = Duration::from_millis(10);
/// How many kinds of errors are told.
const ERRORS_MAX: usize = 8;

/// What the others do.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// Their queues, each with a sender and a receiver.
    pub queues: usize,
    /// Sends in a second to each queue.
    pub rate: f64,
    /// Messages in a send.
    pub batch: usize,
    /// Length of a window.
    pub window: Duration,
    /// How long what is left in the end may take: longer than a lease, where a cut connection does
    /// not end one.
    pub left_within: Duration,
    /// How long messages are held now and then.
    pub seed: u64,
}

/// What the others saw.
#[derive(Debug, Default)]
pub struct Outcome {
    /// By time.
    pub windows: Vec<Window>,
    /// What was lost, invented or repeated.
    pub verdict: Verdict,
    /// How often a connection was cut, or an operation failed.
    pub cuts: u64,
    /// Sends that began more than 5 ms after their due time.
    pub late_starts: u64,
    /// What the errors said, and how often.
    pub errors: BTreeMap<String, u64>,
    /// Why what was left could not be received.
    pub failed: Option<String>,
}

pub(super) struct Shared {
    pub(super) load: Load,
    phase: AtomicU8,
    stop: AtomicBool,
    /// When the senders were stopped; later than any moment before that.
    stopped_ns: AtomicU64,
    /// The run is over before its end.
    abandoned: AtomicBool,
    late: AtomicU64,
    cuts: AtomicU64,
    pub(super) account: Mutex<Account>,
    pub(super) meter: Mutex<Option<Meter>>,
    windows: Mutex<Vec<Window>>,
    errors: Mutex<BTreeMap<String, u64>>,
}

/// The others at work.
pub struct Others {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<Result<()>>>,
}

impl Others {
    /// Starts them; returns when all are connected and the calm phase begins.
    ///
    /// # Errors
    /// When one cannot connect.
    pub async fn start<T: Target>(target: Arc<T>, load: Load) -> Result<Others> {
        let shared = Arc::new(Shared {
            load,
            phase: AtomicU8::new(Phase::Calm.number()),
            stop: AtomicBool::new(false),
            stopped_ns: AtomicU64::new(u64::MAX),
            abandoned: AtomicBool::new(false),
            late: AtomicU64::new(0),
            cuts: AtomicU64::new(0),
            account: Mutex::default(),
            meter: Mutex::default(),
            windows: Mutex::default(),
            errors: Mutex::default(),
        });
        let (begun, begins) = tokio::sync::oneshot::channel();
        let own = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("others".into()).spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let done = runtime.block_on(run(target, own, begun));
            // A cut operation may still wait on its connection.
            runtime.shutdown_background();
            done
        })?;
        let mut others = Others { shared, thread: Some(thread) };
        match begins.await {
            Ok(()) => Ok(others),
            Err(_) => {
                others.join()?;
                Err(anyhow!("the others did not begin"))
            }
        }
    }

    /// From now on this goes on beside them.
    pub fn enter(&self, phase: Phase) {
        self.shared.phase.store(phase.number(), Ordering::SeqCst);
    }

    /// Waits until what they have seen so far is `enough`, at most `within`.
    pub async fn until(&self, within: Duration, enough: impl Fn(&[Window]) -> bool) {
        let deadline = Instant::now() + within;
        while !enough(&self.shared.windows.lock()) && Instant::now() < deadline {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Stops the senders and answers what the others saw: when `complete`, after waiting for what
    /// is left. Blocks.
    pub fn end(mut self, complete: bool) -> Outcome {
        self.shared.abandoned.store(!complete, Ordering::SeqCst);
        self.shared.stopped_ns.store(monotonic_ns(), Ordering::SeqCst);
        self.shared.stop.store(true, Ordering::SeqCst);
        let failed = self.join().err().map(|error| format!("the others: {error:#}"));
        Outcome {
            failed,
            windows: std::mem::take(&mut *self.shared.windows.lock()),
            verdict: self.shared.account.lock().verdict(),
            cuts: self.shared.cuts.load(Ordering::Relaxed),
            late_starts: self.shared.late.load(Ordering::Relaxed),
            errors: std::mem::take(&mut *self.shared.errors.lock()),
        }
    }

    fn join(&mut self) -> Result<()> {
        let Some(thread) = self.thread.take() else { return Ok(()) };
        thread.join().map_err(|_| anyhow!("the thread of the others panicked"))?
    }
}

impl Drop for Others {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
    }
}

/// The name of one of their queues.
pub fn queue_name(queue: usize) -> String {
    format!("others-{queue}")
}

async fn run<T: Target>(
    target: Arc<T>,
    shared: Arc<Shared>,
    begun: tokio::sync::oneshot::Sender<()>,
) -> Result<()> {
    let load = shared.load;
    let (mut senders, mut receivers) = (JoinSet::new(), JoinSet::new());
    let mut ready = Vec::new();
    for queue in 0..load.queues {
        let name = queue_name(queue);
        ready.push((target.caller(&name).await?, target.caller(&name).await?));
    }
    let start_ns = monotonic_ns();
    *shared.meter.lock() = Some(Meter::new(start_ns, load.queues)?);
    for (queue, (sender, receiver)) in ready.into_iter().enumerate() {
        let lane = Lane { shared: Arc::clone(&shared), target: Arc::clone(&target), queue };
        senders.spawn(send(lane.again(), sender, start_ns));
        receivers.spawn(receive(lane, receiver));
    }
    // The other side is gone only when the run has failed already.
    let _ = begun.send(());
    let mut edge_ns = start_ns;
    while !shared.stop.load(Ordering::SeqCst) {
        edge_ns += u64::try_from(load.window.as_nanos()).unwrap_or(u64::MAX);
        while monotonic_ns() < edge_ns && !shared.stop.load(Ordering::SeqCst) {
            let left = Duration::from_nanos(edge_ns.saturating_sub(monotonic_ns()));
            tokio::time::sleep(left.min(LOOK_EVERY)).await;
        }
        shared.next_window()?;
    }
    if shared.abandoned.load(Ordering::SeqCst) {
        // Their connections may be dead, and what is left is not asked.
        return Ok(());
    }
    while let Some(ended) = senders.join_next().await {
        ended.context("a sender panicked")?;
    }
    let deadline = Instant::now() + load.left_within;
    while shared.account.lock().outstanding() > 0 && Instant::now() < deadline {
        tokio::time::sleep(CONNECT_AGAIN).await;
    }
    receivers.shutdown().await;
    drain(&*target, &shared).await
}

/// Fresh callers receive until twice nothing comes.
async fn drain<T: Target>(target: &T, shared: &Shared) -> Result<()> {
    for queue in 0..shared.load.queues {
        let mut caller = target.caller(&queue_name(queue)).await?;
        let mut empty = 0;
        while empty < 2 {
            let mut came = Vec::new();
            let mut look = |body: &[u8]| shared.look(body, &mut came);
            let received = caller.receive(shared.load.batch, Duration::ZERO, &mut look).await?;
            empty = if received == 0 { empty + 1 } else { 0 };
            caller.ack().await?;
            shared.account.lock().acked(&numbers(&came));
        }
    }
    Ok(())
}

impl Shared {
    /// Ends a window, the last one when the senders were stopped: that they send no more is no
    /// stall. Of a last one that was hardly begun only a stall is told.
    fn next_window(&self) -> Result<()> {
        let phase = Phase::from_number(self.phase.load(Ordering::SeqCst));
        let stopped_ns = self.stopped_ns.load(Ordering::SeqCst);
        let now_ns = monotonic_ns().min(stopped_ns);
        let mut meter = self.meter.lock();
        let window = meter.as_mut().map(|meter| meter.next_window(phase, now_ns)).transpose()?;
        let (whole_s, stops) = (self.load.window.as_secs_f64(), stopped_ns != u64::MAX);
        let told = |window: &Window| {
            !stops || window.seconds > whole_s / 2.0 || window.stall_ms > whole_s * 1e3
        };
        self.windows.lock().extend(window.filter(told));
        Ok(())
    }

    pub(super) fn look(&self, body: &[u8], came: &mut Vec<Content>) -> Result<()> {
        match body::read(body) {
            Ok(content) => came.extend(self.account.lock().came(content.number).then_some(content)),
            Err(_) => self.account.lock().damaged(),
        }
        Ok(())
    }

    pub(super) fn cut(&self, error: &anyhow::Error) {
        self.cuts.fetch_add(1, Ordering::Relaxed);
        let text = format!("{error:#}");
        let mut errors = self.errors.lock();
        if errors.len() < ERRORS_MAX || errors.contains_key(&text) {
            *errors.entry(text).or_default() += 1;
        }
    }
}

/// One queue as its sender or its receiver sees it.
pub(super) struct Lane<T> {
    pub(super) shared: Arc<Shared>,
    target: Arc<T>,
    pub(super) queue: usize,
}

impl<T: Target> Lane<T> {
    fn again(&self) -> Lane<T> {
        let (shared, target) = (Arc::clone(&self.shared), Arc::clone(&self.target));
        Lane { shared, target, queue: self.queue }
    }

    /// The caller there is, or a new one in place of one that was cut; nothing when the end came
    /// before one could connect.
    pub(super) async fn connected<'a>(
        &self,
        caller: &'a mut Option<T::Caller>,
        stops: bool,
    ) -> Option<&'a mut T::Caller> {
        while caller.is_none() {
            if stops && self.shared.stop.load(Ordering::SeqCst) {
                return None;
            }
            match in_time(self.target.caller(&queue_name(self.queue))).await {
                Ok(again) => *caller = Some(again),
                Err(_) => tokio::time::sleep(CONNECT_AGAIN).await,
            }
        }
        caller.as_mut()
    }
}

pub(super) async fn in_time<O>(operation: impl Future<Output = Result<O>>) -> Result<O> {
    let ended = tokio::time::timeout(ANSWERED_WITHIN, operation).await;
    ended.unwrap_or_else(|_| Err(anyhow!("no answer within {ANSWERED_WITHIN:?}")))
}

async fn send<T: Target>(lane: Lane<T>, caller: T::Caller, start_ns: u64) {
    let (shared, mut caller) = (&lane.shared, Some(caller));
    let batch = shared.load.batch;
    let mut bodies = Vec::with_capacity(batch);
    for index in 0u64.. {
        let due_ns = start_ns + (index as f64 / shared.load.rate * 1e9) as u64;
        wait_until(due_ns).await;
        if shared.stop.load(Ordering::SeqCst) {
            return;
        }
        let late = monotonic_ns() > due_ns + LATE_NS;
        shared.late.fetch_add(u64::from(late), Ordering::Relaxed);
        let Some(own) = lane.connected(&mut caller, true).await else { return };
        let first = shared.account.lock().begin(batch);
        bodies.clear();
        let numbers = first..first + batch as u64;
        bodies.extend(numbers.map(|number| body::write(Content { number, due_ns })));
        match in_time(own.send(&bodies)).await {
            Ok(()) => {
                shared.account.lock().sent(first, batch);
                if let Some(meter) = shared.meter.lock().as_mut() {
                    meter.sent(lane.queue, batch, due_ns, monotonic_ns());
                }
            }
            Err(error) => {
                shared.cut(&error);
                caller = None;
                tokio::time::sleep(CONNECT_AGAIN).await;
            }
        }
    }
}
