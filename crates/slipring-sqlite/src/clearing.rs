//! Clearing away what deleted queues have left, in steps that take turns with all other calls.
//!
//! A thread asks for one step after another, so that a step waits for the calls of the queues and
//! not they for it. Before each step a reader fetches what the step will remove: to remove a body
//! SQLite reads all its pages, and the writer must not wait for the disk meanwhile.

use parking_lot::{Condvar, Mutex};
use slipring::ErrorKind;

use crate::driver::Driver;
use crate::inbox::Inbox;
use crate::reader::{Reader, ReaderTask};
use crate::ring::{Load, Owner};
use crate::store::PASS_WEIGHT;
use crate::task::Call;
use crate::writer::Writer;

/// Whether there is something to clear away, and the bell of the thread that does it.
#[derive(Default)]
pub(crate) struct Clearing {
    asked: Mutex<Asked>,
    bell: Condvar,
}

#[derive(Default)]
struct Asked {
    now: bool,
    closed: bool,
}

impl Clearing {
    /// Says that a queue was deleted.
    pub(crate) fn ask(&self) {
        self.asked.lock().now = true;
        self.bell.notify_one();
    }

    /// Lets [`Clearing::run`] end.
    pub(crate) fn close(&self) {
        self.asked.lock().closed = true;
        self.bell.notify_all();
    }

    /// Clears away whenever asked until closed.
    pub(crate) fn run(&self, driver: &Driver, readers: &Inbox<ReaderTask>) {
        while self.wait() {
            fetch(readers);
            // After a failure it is tried again when pruning asks for it.
            if step(driver) {
                self.ask();
            }
        }
    }

    /// Waits until asked; false when closed.
    fn wait(&self) -> bool {
        let mut asked = self.asked.lock();
        while !asked.now && !asked.closed {
            self.bell.wait(&mut asked);
        }
        asked.now = false;
        !asked.closed
    }
}

/// Removes a bounded part of what deleted queues have left; answers whether there is more.
fn step(driver: &Driver) -> bool {
    let load = Load::of(Owner::Background, PASS_WEIGHT);
    let (call, answer) = Call::new(load, |writer: &mut Writer<'_>| writer.clear_away());
    let Ok(_in_flight) = driver.submit(Box::new(call)) else { return false };
    match answer.blocking_recv() {
        Ok(Ok(more)) => more,
        Ok(Err(error)) => {
            if error.kind() != ErrorKind::Closed {
                tracing::warn!(%error, "what a deleted queue left is not cleared away yet");
            }
            false
        }
        Err(_) => false,
    }
}

/// Has a reader fetch what the next step removes. A look that fails costs only time later.
fn fetch(readers: &Inbox<ReaderTask>) {
    let bodies = look(readers, |reader: &mut Reader<'_>| reader.first_to_clear());
    for body in bodies.unwrap_or_default() {
        for part in body.parts() {
            look(readers, move |reader: &mut Reader<'_>| reader.fetch(part));
        }
    }
}

fn look<T, F>(readers: &Inbox<ReaderTask>, work: F) -> Option<T>
where
    F: for<'c> FnMut(&mut Reader<'c>) -> crate::fault::Outcome<T> + Send + 'static,
    T: Send + 'static,
{
    let (call, answer) = Call::new(1, work);
    readers.push(Box::new(call)).ok()?;
    answer.blocking_recv().ok()?.ok()
}
