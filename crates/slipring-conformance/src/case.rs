//! What a case is: a named sentence about a store, tied to clauses.

use std::future::Future;
use std::pin::Pin;

use slipring::Capabilities;

use crate::bench::Bench;

/// A case that runs.
pub type Running = Pin<Box<dyn Future<Output = ()>>>;

/// One sentence about a store.
pub struct Case {
    /// The module it stands in.
    pub module: &'static str,
    /// The sentence, words joined by `_`.
    pub name: &'static str,
    /// The clauses of `docs/semantics.md` that it checks.
    pub clauses: &'static [&'static str],
    /// What the store must be able to do.
    pub need: Need,
    /// Worker threads of the runtime; 1 runs everything on one thread.
    pub threads: usize,
    /// Starts it.
    pub run: fn(Bench) -> Running,
}

/// The capability without which a case means nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// None: every store.
    Nothing,
    /// [`Capabilities::durable`]: the place may be opened again.
    Durable,
    /// [`Capabilities::shared`]: the place may be opened several times at once.
    Shared,
    /// [`Capabilities::passes_by_queue`]: passes over one queue leave the others.
    ByQueue,
    /// Not [`Capabilities::calls_one_by_one`]: a send and a look are under way at the same time.
    SideBySide,
    /// Not [`Capabilities::transactions`]: messages are numbered one after the other. Senders that
    /// take a number inside transactions of their own would have to wait for each other.
    Counted,
    /// Not [`Capabilities::transactions`]: a claim over several queues counts what goes past a
    /// queue with failing messages alone. A store that looks at heads and claims from the best
    /// queue has one moment of a hundred for it instead.
    CountedAcross,
}

impl Need {
    /// The capability's name if the store lacks it.
    pub fn missing(self, capabilities: &Capabilities) -> Option<&'static str> {
        match self {
            Need::Durable if !capabilities.durable => Some("durable"),
            Need::Shared if !capabilities.shared => Some("shared"),
            Need::ByQueue if !capabilities.passes_by_queue => Some("passes by queue"),
            Need::SideBySide if capabilities.calls_one_by_one => Some("calls side by side"),
            Need::Counted if capabilities.transactions => Some("numbers without gaps"),
            Need::CountedAcross if capabilities.transactions => Some("counts over several queues"),
            _ => None,
        }
    }
}

impl Case {
    /// `subject::sentence`, the name of its test.
    pub fn title(&self) -> String {
        let subject = self.module.rsplit("::").next().unwrap_or(self.module);
        format!("{subject}::{}", self.name)
    }
}

/// A [`Case`] from an async function: its name, its clauses, and what it needs.
macro_rules! case {
    ($name:ident, $($clause:literal),+) => { $crate::case::case!($name, Nothing, 1, $($clause),+) };
    ($name:ident, needs $need:ident, $($clause:literal),+) => {
        $crate::case::case!($name, $need, 1, $($clause),+)
    };
    ($name:ident, threads $threads:literal, $($clause:literal),+) => {
        $crate::case::case!($name, Nothing, $threads, $($clause),+)
    };
    ($name:ident, $need:ident, $threads:literal, $($clause:literal),+) => {
        $crate::case::Case {
            module: module_path!(),
            name: stringify!($name),
            clauses: &[$($clause),+],
            need: $crate::case::Need::$need,
            threads: $threads,
            run: |bench| Box::pin($name(bench)),
        }
    };
}
pub(crate) use case;
