//! Baseline: one list in the order of due times under one lock, the textbook's other way of the
//! same design (Varghese and Lauck, scheme 2).
//!
//! Firing takes from the front; creating walks from the end to the timer's place, so it costs
//! nothing where all time-outs are equally long, and half of the list where they are not.
//! Cancelling unlinks at once.

use super::contender::Alarm;
use super::list::{Key, List};
use super::locked_list::{LockedList, Order};

/// The list in the order of due times.
pub type OrderedList = LockedList<ByDueTime>;

/// A walk to the timer's place when it is created.
pub struct ByDueTime;

impl Order for ByDueTime {
    fn insert(list: &mut List, due_ns: u64, alarm: Alarm) -> Key {
        list.insert_in_order(due_ns, alarm)
    }

    fn fire(list: &mut List, now_ns: u64, fired: &mut Vec<Alarm>) -> Option<u64> {
        while list.first_due().is_some_and(|due_ns| due_ns <= now_ns) {
            fired.extend(list.pop_front());
        }
        list.first_due()
    }
}
