//! Serving calls: those that wait together in one transaction, and each alone after a failure.
//!
//! A call that is refused has written nothing, so its neighbours stand. When the file fails, the
//! transaction is undone and each call is tried once more alone, so that a full disk stops only
//! those that need room.

use std::time::Duration;

use slipring::Error;
use slipring::clock::monotonic_ns;

use crate::fault::Fault;
use crate::on_disk::Needs;
use crate::write_lock::is_busy;
use crate::writer::{Writer, WriterTask};

/// Where the calls of a transaction come from.
pub(crate) trait Calls {
    /// The next call, after one that took so long; `None` when the transaction is to end.
    fn next(&mut self, took_ns: u64) -> Option<WriterTask>;
    /// All calls that wait, for a failure that concerns them too.
    fn rest(&mut self) -> Vec<WriterTask>;
}

/// What became of a transaction.
#[derive(Default)]
pub(crate) struct Served {
    /// Calls to be answered once the log is flushed.
    pub(crate) durable: Vec<WriterTask>,
    /// Which flush these wait for.
    pub(crate) needs: Needs,
    /// A fault after which nothing may be written any more.
    pub(crate) poison: Option<Error>,
    /// Calls that were not run, for another process writes at the moment.
    pub(crate) postponed: Vec<WriterTask>,
}

impl Writer<'_> {
    /// Runs calls in one transaction and answers those that need no flush.
    pub(crate) fn serve(&mut self, calls: &mut dyn Calls) -> Served {
        let mut served = Served::default();
        let Some(first) = calls.next(0) else { return served };
        let mut tasks = vec![(first, Needs::Nothing)];
        match self.transact(&mut tasks, &mut |took_ns| calls.next(took_ns)) {
            Ok(()) => served.answer(tasks),
            Err(fault) if fault.lost_a_flush() => served.fail(tasks, fault),
            Err(fault) if is_busy(&fault) => {
                tasks.extend(calls.rest().into_iter().map(|task| (task, Needs::Nothing)));
                self.denied(tasks, fault, &mut served);
            }
            Err(fault) if tasks.len() == 1 => {
                let error = fault.into_error();
                tasks.into_iter().for_each(|(task, _)| task.fail(error.clone()));
            }
            Err(_) => tasks.into_iter().for_each(|task| self.serve_alone(task, &mut served)),
        }
        served
    }

    /// Runs a call in a transaction of its own, after one that it shared was undone.
    fn serve_alone(&mut self, task: (WriterTask, Needs), served: &mut Served) {
        let mut alone = vec![task];
        match self.transact(&mut alone, &mut |_| None) {
            Ok(()) => served.answer(alone),
            Err(fault) if is_busy(&fault) => self.denied(alone, fault, served),
            Err(fault) => served.fail(alone, fault),
        }
    }

    /// Another process writes: those that need no transaction are run all the same.
    fn denied(&mut self, tasks: Vec<(WriterTask, Needs)>, fault: Fault, served: &mut Served) {
        // Those that are tried alone after this one do not each wait as long.
        self.memory.wait = Duration::ZERO;
        let needs = |(task, _): &(WriterTask, Needs)| task.needs_transaction();
        let (tasks, looks): (Vec<_>, Vec<_>) = tasks.into_iter().partition(needs);
        let tasks = tasks.into_iter().map(|(task, _)| task).collect();
        served.postponed.extend(self.memory.denied.give_up(tasks, fault));
        for look in looks {
            let mut alone = vec![look];
            match self.transact(&mut alone, &mut |_| None) {
                Ok(()) => served.answer(alone),
                Err(fault) => served.fail(alone, fault),
            }
        }
    }

    /// Runs one call and those that `next` gives in one transaction. A call that needs none runs
    /// alone when it comes first.
    fn transact(
        &mut self,
        tasks: &mut Vec<(WriterTask, Needs)>,
        next: &mut dyn FnMut(u64) -> Option<WriterTask>,
    ) -> Result<(), Fault> {
        if let [(first, _)] = tasks.as_mut_slice()
            && !first.needs_transaction()
        {
            self.look_for_foreign_changes()?;
            return first.run(self);
        }
        self.in_transaction(|writer| {
            while let Some((task, needs)) = tasks.last_mut() {
                writer.memory.needs = Needs::Nothing;
                let since_ns = monotonic_ns();
                task.run(writer)?;
                *needs = writer.memory.needs;
                match next(monotonic_ns().saturating_sub(since_ns)) {
                    Some(task) => tasks.push((task, Needs::Nothing)),
                    None => break,
                }
            }
            writer.write_back()
        })
    }
}

impl Served {
    fn answer(&mut self, tasks: Vec<(WriterTask, Needs)>) {
        for (task, needs) in tasks {
            self.needs = self.needs.max(needs);
            if needs == Needs::Nothing { task.answer() } else { self.durable.push(task) }
        }
    }

    fn fail(&mut self, tasks: Vec<(WriterTask, Needs)>, fault: Fault) {
        let lost_a_flush = fault.lost_a_flush();
        let mut error = fault.into_error();
        if lost_a_flush {
            error = crate::fault::poisoned(error.message());
            self.poison = Some(error.clone());
        }
        tasks.into_iter().for_each(|(task, _)| task.fail(error.clone()));
    }
}
