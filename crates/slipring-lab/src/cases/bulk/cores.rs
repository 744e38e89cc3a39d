//! Threads bound to cores, and a busy thread beside the first worker.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use anyhow::{Context, Result};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// The cores that this thread may use.
///
/// # Errors
/// When the kernel does not say.
fn allowed() -> Result<Vec<usize>> {
    let set = sched_getaffinity(Pid::from_raw(0)).context("asking for the cores")?;
    Ok((0..CpuSet::count()).filter(|&core| set.is_set(core).unwrap_or(false)).collect())
}

/// Binds this thread: the first worker has a core of its own, the others share the rest.
///
/// # Errors
/// When the kernel refuses.
pub fn pin(worker: usize) -> Result<()> {
    let cores = allowed()?;
    let others = cores.len().saturating_sub(1).max(1);
    let at = if worker == 0 { 0 } else { 1 + (worker - 1) % others };
    bind(cores.get(at).or(cores.first()).copied().context("no core is allowed")?)
}

/// Runs `work` on the core of a worker; afterwards this thread may use all its cores again.
///
/// # Errors
/// When the kernel refuses, or as `work`.
pub fn on_own_core<T>(worker: usize, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let before = sched_getaffinity(Pid::from_raw(0)).context("asking for the cores")?;
    pin(worker)?;
    let result = work();
    sched_setaffinity(Pid::from_raw(0), &before).context("giving the cores back")?;
    result
}

fn bind(core: usize) -> Result<()> {
    let mut set = CpuSet::new();
    set.set(core).with_context(|| format!("core {core}"))?;
    sched_setaffinity(Pid::from_raw(0), &set).with_context(|| format!("binding to core {core}"))
}

/// A busy thread on the core of the first worker. It ends when this is dropped.
pub struct Hog {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Hog {
    /// Starts it.
    ///
    /// # Errors
    /// When the kernel refuses the core or the thread.
    pub fn start() -> Result<Hog> {
        let core = allowed()?.first().copied().context("no core is allowed")?;
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        let (told, tells) = std::sync::mpsc::channel();
        let busy = move || {
            let _ = told.send(bind(core));
            while !seen.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        };
        let thread = std::thread::Builder::new().name("lab-hog".to_owned()).spawn(busy);
        let hog = Hog { stop, thread: Some(thread.context("starting a busy thread")?) };
        tells.recv().context("the busy thread ended")??;
        Ok(hog)
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It panics never, and there is nothing to do if it had.
            let _ = thread.join();
        }
    }
}
