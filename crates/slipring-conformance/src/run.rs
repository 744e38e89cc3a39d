//! Runs the suite as a test program.

use std::panic;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use libtest_mimic::{Arguments, Trial};
use tokio::runtime::{Builder, Runtime};

use crate::bench::{Bench, Factory};
use crate::case::Case;
use crate::{cases, concurrency, engine_cases, model};

/// No case takes nearly so long; it only ends a case that hangs.
const LONGEST: Duration = Duration::from_secs(300);

/// Every case of the suite, by subject.
pub fn all() -> Vec<&'static Case> {
    let stores = cases::all().chain(model::CASES).chain(concurrency::all());
    stores.chain(engine_cases::all()).collect()
}

/// Runs the suite over the stores of `factory` with the arguments of the process, and answers
/// with its exit code.
pub fn main(factory: impl Factory) -> ExitCode {
    let arguments = Arguments::from_args();
    let factory: Arc<dyn Factory> = Arc::new(factory);
    let opened = runtime(1).block_on(Bench::open(Arc::clone(&factory)));
    let capabilities = opened.store().capabilities();
    let trial = |case: &'static Case| {
        let factory = Arc::clone(&factory);
        let trial = Trial::test(case.title(), move || {
            run(case, factory);
            Ok(())
        });
        match case.need.missing(&capabilities) {
            Some(lacks) => trial.with_kind(format!("needs {lacks}")).with_ignored_flag(true),
            None => trial.with_kind(case.clauses.join(" ")),
        }
    };
    libtest_mimic::run(&arguments, all().into_iter().map(trial).collect()).exit_code()
}

/// Runs a case on a thread of its own, so that one that blocks its thread for ever is named too.
fn run(case: &'static Case, factory: Arc<dyn Factory>) {
    let (done, ended) = mpsc::channel();
    let on_thread = move || {
        runtime(case.threads).block_on(async move {
            let bench = Bench::open(factory).await;
            (case.run)(bench).await;
        });
        // Nobody listens any more when the case took too long.
        let _ = done.send(());
    };
    let thread = thread::Builder::new().name(case.title()).spawn(on_thread);
    let thread = thread.expect("a thread can be started");
    match ended.recv_timeout(LONGEST) {
        Ok(()) => {}
        Err(RecvTimeoutError::Timeout) => panic!("the case does not come to an end"),
        Err(RecvTimeoutError::Disconnected) => {
            if let Err(cause) = thread.join() {
                panic::resume_unwind(cause);
            }
        }
    }
}

fn runtime(threads: usize) -> Runtime {
    let mut builder = if threads > 1 {
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(threads);
        builder
    } else {
        Builder::new_current_thread()
    };
    builder.enable_all().build().expect("a runtime can be made")
}
