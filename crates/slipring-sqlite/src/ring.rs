//! Where calls for the writer wait: a list for each queue, and the queues take turns (law 6).
//!
//! Each queue is charged for the time its calls have taken. Next is the queue that was charged
//! least: a queue begins its next call at its account, or a little before that of the call under
//! way if it has fallen further behind, so that no more than [`CREDIT_NS`] is saved up. (This is
//! start-time fair queueing with a credit, as in borrowed virtual time.) Within a queue calls go
//! first come, first served. Pure: what a call took is an argument.

use std::collections::{BTreeSet, HashMap, VecDeque};

use slipring::QueueId;

/// A transaction ends when its calls have taken so long, and sooner when other queues wait.
const TRANSACTION_NS: u64 = 5_000_000;
const SHARED_TRANSACTION_NS: u64 = 1_000_000;
/// So many bytes of bodies make a transaction; writing them to the log takes about 5 ms.
const TRANSACTION_BYTES: u64 = 1 << 20;
/// What it costs to commit a byte, which no call is seen to take.
const COMMIT_NS_PER_BYTE: u64 = 2;
/// A call is charged so much at most, and so much more for a byte: what goes beyond is the disk's
/// doing, and the queue that it met is not the one to pay for it.
const CHARGED_NS_MAX: u64 = 2 * TRANSACTION_NS;
const CHARGED_NS_MAX_PER_BYTE: u64 = 10;
/// How much of its share a queue that was idle may use at once: a message of 1 MB is sent, received
/// and acked for about as much. Without it each of the three would wait until all busy queues have
/// had a turn.
const CREDIT_NS: u64 = 25_000_000;
/// Credits that are used come out of a pool of so much, of which half comes back as time goes by.
/// Many queues that come back at once are busy ones: once they have used the pool up all begin
/// where the others are, and one that comes after them is told from them.
const POOL_NS: u64 = CREDIT_NS;
const POOL_PART: u64 = 2;
/// After so much work in a row for queues that use their credit one of the others has a turn, so
/// that many queues that come back at once do not stop them.
const CREDITED_RUN_NS: u64 = 10_000_000;
/// While no call waits, accounts of so many owners are kept at most.
const ACCOUNTS_MAX: usize = 1024;
/// A call that writes no more is small.
const CALM_BYTES_MAX: u64 = 64 << 10;
/// A calm turn looks at so many owners for a small call.
const CALM_LOOKS_MAX: usize = 64;
/// Background work is charged so many times what it takes.
const BACKGROUND_TIMES: u64 = 8;

/// Who takes turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Owner {
    /// A queue, with all that is done to its messages.
    Queue(QueueId),
    /// What belongs to no queue, or to all of them.
    Administration,
    /// Work that no call waits for.
    Background,
}

/// Whose a call is, and how much it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Load {
    pub(crate) owner: Owner,
    /// Messages and entries; at least 1.
    pub(crate) messages: usize,
    /// Bytes of bodies that it writes.
    pub(crate) bytes: u64,
}

impl Load {
    /// A call about so many messages of an owner.
    pub(crate) fn of(owner: Owner, messages: usize) -> Load {
        Load { owner, messages: messages.max(1), bytes: 0 }
    }

    /// The same call, which writes bodies of so many bytes.
    pub(crate) fn writing(self, bytes: u64) -> Load {
        Load { bytes, ..self }
    }
}

impl From<usize> for Load {
    fn from(messages: usize) -> Load {
        Load::of(Owner::Administration, messages)
    }
}

impl From<(QueueId, usize)> for Load {
    fn from((queue, messages): (QueueId, usize)) -> Load {
        Load::of(Owner::Queue(queue), messages)
    }
}

/// The calls that wait.
pub(crate) struct Ring<T> {
    lists: HashMap<Owner, List<T>>,
    /// Owners whose calls wait, by where they begin; the ticket decides between equals.
    waiting: BTreeSet<(u64, u64, Owner)>,
    /// Owners without calls whose account is ahead of `now`.
    resting: BTreeSet<(u64, Owner)>,
    /// Where the call that was taken last has begun.
    now: u64,
    /// Whose call was taken and is not paid yet.
    serving: Option<Owner>,
    /// What calls that began before `now` have taken in a row.
    credited_ns: u64,
    /// How far before `now` the call under way began.
    credit_ns: u64,
    /// What queues may still use of their credits.
    pool_ns: u64,
    next_ticket: u64,
    len: usize,
    closed: bool,
}

struct List<T> {
    calls: VecDeque<(T, Load)>,
    /// Where its next call begins.
    account: u64,
    /// Its place among those who wait.
    ticket: Option<u64>,
    /// It had kept within its share when its first call came, by more than queues that take turns
    /// differ.
    modest: bool,
}

/// How far one transaction has come.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    /// Most messages and bytes; `None` within the bounds of every transaction.
    bound: Option<(usize, u64)>,
    /// Only for small calls of owners that are not ahead of the others.
    calm: bool,
    calls: usize,
    messages: usize,
    bytes: u64,
    ran_ns: u64,
    modest: bool,
    /// The load of the call taken last.
    last: Option<Load>,
}

impl Turn {
    /// A transaction that takes no more than so many messages and bytes, and no call of more.
    pub(crate) fn bounded(messages: usize, bytes: u64) -> Turn {
        Turn { bound: Some((messages, bytes)), ..Turn::default() }
    }

    /// The same, which with `calm` leaves out owners that are ahead of the others, and large calls.
    pub(crate) fn calm(self, calm: bool) -> Turn {
        Turn { calm, ..self }
    }

    /// Bytes that its calls wrote, as their loads say.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    fn admits(&self, next: Load, modest: bool, others: bool) -> bool {
        let (messages, bytes) = (self.messages + next.messages, self.bytes + next.bytes);
        if let Some((messages_max, bytes_max)) = self.bound
            && (messages > messages_max || bytes > bytes_max)
        {
            return false;
        }
        let shared = others || self.last.is_some_and(|last| last.owner != next.owner);
        let limit_ns = if shared { SHARED_TRANSACTION_NS } else { TRANSACTION_NS };
        // Calls of those who kept within their share do not wait for the others to be done.
        let same = !shared || modest == self.modest;
        self.calls == 0 || (self.ran_ns < limit_ns && bytes <= TRANSACTION_BYTES && same)
    }
}

impl<T> Ring<T> {
    pub(crate) fn new() -> Ring<T> {
        Ring {
            lists: HashMap::new(),
            waiting: BTreeSet::new(),
            resting: BTreeSet::new(),
            // The first owners have a credit too.
            now: CREDIT_NS,
            serving: None,
            credited_ns: 0,
            credit_ns: 0,
            pool_ns: POOL_NS,
            next_ticket: 0,
            len: 0,
            closed: false,
        }
    }

    /// How many calls wait.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Whether a call waits that a turn would take.
    pub(crate) fn has_calls(&self, calm: bool) -> bool {
        self.first(calm).is_some()
    }

    /// The account of an owner that has been idle.
    fn floor(&self) -> u64 {
        self.now.saturating_sub(CREDIT_NS)
    }

    /// Takes no more calls; those that wait are still served.
    pub(crate) fn close(&mut self) {
        self.closed = true;
    }

    /// Leaves a call; gives it back when it would not be taken any more.
    pub(crate) fn push(&mut self, call: T, load: Load) -> Result<(), T> {
        if self.closed {
            return Err(call);
        }
        self.list(load.owner).calls.push_back((call, load));
        self.len += 1;
        self.line_up(load.owner);
        Ok(())
    }

    /// Puts calls that were taken back to the heads of their lists, in their order, also when no
    /// more are taken on. They were not run: before the end of the transaction, the one that was
    /// taken last is not charged.
    pub(crate) fn put_back(&mut self, calls: impl Iterator<Item = (T, Load)>) {
        let calls: Vec<_> = calls.collect();
        let served = if calls.is_empty() { None } else { self.serving.take() };
        let owners: Vec<_> = calls.iter().map(|(_, load)| load.owner).chain(served).collect();
        for (call, load) in calls.into_iter().rev() {
            self.list(load.owner).calls.push_front((call, load));
            self.len += 1;
        }
        // In the order of the calls, which decides between equals.
        owners.into_iter().for_each(|owner| self.line_up(owner));
    }

    /// Charges what the call taken last has taken, and takes the next one of a transaction;
    /// `None` when the transaction ends or nothing waits.
    pub(crate) fn next(&mut self, turn: &mut Turn, took_ns: u64) -> Option<T> {
        self.pay(turn, took_ns);
        if self.pool_ns == 0 {
            self.forfeit();
        }
        let &(begins, ticket, owner) = self.first(turn.calm)?;
        let others = self.waiting.len() > 1;
        let list = self.lists.get_mut(&owner)?;
        let load = list.calls.front().map(|(_, load)| *load)?;
        if !turn.admits(load, list.modest, others) {
            return None;
        }
        let (call, _) = list.calls.pop_front()?;
        (list.ticket, turn.modest) = (None, list.modest);
        turn.calls += 1;
        turn.messages += load.messages;
        turn.bytes += load.bytes;
        turn.last = Some(load);
        self.waiting.remove(&(begins, ticket, owner));
        self.credit_ns = self.now.saturating_sub(begins);
        // Work that is charged more than it takes is no measure for the others.
        if owner != Owner::Background {
            self.now = self.now.max(begins);
        }
        self.serving = Some(owner);
        self.len -= 1;
        Some(call)
    }

    /// Who is next.
    fn first(&self, calm: bool) -> Option<&(u64, u64, Owner)> {
        let first = self.waiting.first()?;
        if calm {
            let modest = self.waiting.iter().take_while(|(begins, ..)| *begins <= self.now);
            return modest.take(CALM_LOOKS_MAX).find(|(.., owner)| self.is_small(*owner));
        }
        if first.0 < self.now && self.credited_ns >= CREDITED_RUN_NS {
            let others = (self.now, 0, Owner::Queue(QueueId(0)));
            return self.waiting.range(others..).next().or(Some(first));
        }
        Some(first)
    }

    /// Takes the credit of all that wait; their order stays.
    fn forfeit(&mut self) {
        while let Some((begins, _, owner)) = self.waiting.first().copied()
            && begins < self.now
        {
            self.waiting.pop_first();
            self.waiting.insert((self.now, self.next_ticket, owner));
            if let Some(list) = self.lists.get_mut(&owner) {
                list.account = self.now;
                list.ticket = Some(self.next_ticket);
            }
            self.next_ticket += 1;
        }
    }

    fn is_small(&self, owner: Owner) -> bool {
        let call = self.lists.get(&owner).and_then(|list| list.calls.front());
        call.is_some_and(|(_, load)| load.bytes <= CALM_BYTES_MAX)
    }

    /// Ends a transaction. Where it has failed its last call is not charged.
    pub(crate) fn end(&mut self, mut turn: Turn) {
        self.pay(&mut turn, 0);
        if self.waiting.is_empty() && self.resting.len() > ACCOUNTS_MAX {
            self.lists.clear();
            self.resting.clear();
        }
        // An owner that has all its credit needs no account.
        let floor = self.floor();
        while let Some((account, owner)) = self.resting.first().copied()
            && account <= floor
        {
            self.resting.pop_first();
            self.lists.remove(&owner);
        }
    }

    /// The call under way has panicked, and its transaction has no end: those behind it wait on.
    pub(crate) fn abandon(&mut self) {
        if let Some(owner) = self.serving.take() {
            self.line_up(owner);
        }
    }

    /// Takes all that waits. The accounts stay: what is put back is served as if it had waited on.
    pub(crate) fn take_all(&mut self) -> Vec<T> {
        let mut calls = Vec::with_capacity(self.len);
        while let Some((_, _, owner)) = self.waiting.pop_first() {
            let Some(list) = self.lists.get_mut(&owner) else { continue };
            calls.extend(list.calls.drain(..).map(|(call, _)| call));
            list.ticket = None;
            self.line_up(owner);
        }
        // What was pushed for the owner whose call is under way is not lined up yet.
        if let Some(list) = self.serving.and_then(|owner| self.lists.get_mut(&owner)) {
            calls.extend(list.calls.drain(..).map(|(call, _)| call));
        }
        self.len = 0;
        calls
    }

    fn list(&mut self, owner: Owner) -> &mut List<T> {
        let account = self.floor();
        self.lists.entry(owner).or_insert_with(|| List {
            calls: VecDeque::new(),
            account,
            ticket: None,
            modest: false,
        })
    }

    /// Gives an owner with calls a place among those who wait, unless it has one or is served.
    fn line_up(&mut self, owner: Owner) {
        let floor = self.floor();
        let Some(list) = self.lists.get_mut(&owner) else { return };
        if self.serving == Some(owner) || list.ticket.is_some() {
            return;
        }
        self.resting.remove(&(list.account, owner));
        if list.calls.is_empty() {
            self.resting.insert((list.account, owner));
            return;
        }
        list.modest = list.account.saturating_add(SHARED_TRANSACTION_NS) <= self.now;
        list.account = list.account.max(floor);
        list.ticket = Some(self.next_ticket);
        self.waiting.insert((list.account, self.next_ticket, owner));
        self.next_ticket += 1;
    }

    fn pay(&mut self, turn: &mut Turn, took_ns: u64) {
        let (Some(owner), Some(load)) = (self.serving.take(), turn.last) else { return };
        let commit_ns = load.bytes.saturating_mul(COMMIT_NS_PER_BYTE);
        let most_ns =
            CHARGED_NS_MAX.saturating_add(load.bytes.saturating_mul(CHARGED_NS_MAX_PER_BYTE));
        let ran_ns = took_ns.saturating_add(commit_ns);
        let cost_ns = ran_ns.min(most_ns);
        turn.ran_ns = turn.ran_ns.saturating_add(ran_ns);
        self.credited_ns = match self.credit_ns {
            0 => 0,
            _ => self.credited_ns.saturating_add(cost_ns),
        };
        let used_ns = cost_ns.min(std::mem::take(&mut self.credit_ns));
        let pool_ns = POOL_NS.min(self.pool_ns.saturating_add(cost_ns / POOL_PART));
        self.pool_ns = pool_ns.saturating_sub(used_ns);
        let times = if owner == Owner::Background { BACKGROUND_TIMES } else { 1 };
        if let Some(list) = self.lists.get_mut(&owner) {
            // At least 1, so that calls that took no time take turns too.
            list.account = list.account.saturating_add(cost_ns.max(1).saturating_mul(times));
        }
        self.line_up(owner);
    }
}

#[cfg(test)]
mod tests;
