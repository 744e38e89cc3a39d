//! Baseline: the timers of .NET Framework, as the published transactions used them.
//!
//! `TimerQueue.Instance` is one list for all timers of the process under one lock. Creating links
//! a timer in front, cancelling unlinks it, both at once; the list has no order. When the system
//! timer says that something may be due, the whole list is walked under the lock to find what is,
//! and when to come again. In its favour here: due times are exact rather than steps of the
//! system's tick counter, so nothing is early; what is due is handed over after the lock is let go.

use super::contender::Alarm;
use super::list::{Key, List};
use super::locked_list::{LockedList, Order};

/// The list as .NET Framework had it.
pub type DotnetList = LockedList<Unordered>;

/// No order; a walk of the whole list when something is due.
pub struct Unordered;

impl Order for Unordered {
    fn insert(list: &mut List, due_ns: u64, alarm: Alarm) -> Key {
        list.push_front(due_ns, alarm)
    }

    fn fire(list: &mut List, now_ns: u64, fired: &mut Vec<Alarm>) -> Option<u64> {
        list.sweep(now_ns, fired)
    }
}
