//! Which ready message of a standard queue is handed out next (S7.1, S7.2, S11.1, S11.2).
//!
//! Pure functions that stores ask while they hand out. A store keeps its ready messages in three
//! orders, one for each [`Standing`], and shows the first of each; the answer says from which to
//! take. So a message costs a look at three places, however many have failed. FIFO queues have
//! orders of their own and are none of this module's business.

use crate::lifecycle;
use crate::message::Priority;
use crate::queue::QueueSettings;

/// A message that comes back with so many attempts or fewer stands in its old place (S7.2).
pub const ATTEMPTS_IN_PLACE_MAX: u32 = 3;

/// Of so many deliveries that failing messages wait for, they get one (S11.1).
pub const FAILING_SHARE: u32 = 100;

/// How many deliveries went past messages of a queue that wait for a turn: failing ones (S11.1),
/// and a retried one that was left out by receives that had too many for it (S11.2). One number
/// for stores to keep; a new queue's is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct PassedOver(u32);

impl PassedOver {
    /// What one delivery past a message that was left out counts, above those past failing ones.
    const LEFT_OUT: u32 = 1000;
    /// Neither is counted further than what makes a turn overdue.
    const MAX: u32 = 2 * FAILING_SHARE;

    /// The count that a store has kept.
    pub fn new(number: u32) -> PassedOver {
        PassedOver(number)
    }

    /// The number for a store to keep.
    pub fn number(self) -> u32 {
        self.0
    }

    /// Whether the next delivery is the turn of a failing message (S11.1).
    pub fn failing_is_due(self) -> bool {
        self.failing() >= FAILING_SHARE - 1
    }

    /// After how many more deliveries it is that turn; 0 when it has come.
    pub fn until_failing(self) -> u32 {
        (FAILING_SHARE - 1).saturating_sub(self.failing())
    }

    /// So many deliveries more went past failing messages.
    pub fn past_failing(&mut self, deliveries: u32) {
        let sum = self.failing().saturating_add(deliveries).min(Self::MAX);
        self.set(sum, self.left_out());
    }

    fn past_left_out(&mut self) {
        self.set(self.failing(), (self.left_out() + 1).min(Self::MAX));
    }

    /// Whether the next receive begins with a failing message whatever comes before it: it was due
    /// and did not fit for as long again.
    fn failing_is_overdue(self) -> bool {
        self.failing() >= Self::MAX - 1
    }

    fn left_out_is_due(self) -> bool {
        self.left_out() >= FAILING_SHARE
    }

    fn failing(self) -> u32 {
        self.0 % Self::LEFT_OUT
    }

    fn left_out(self) -> u32 {
        self.0 / Self::LEFT_OUT
    }

    fn set(&mut self, failing: u32, left_out: u32) {
        self.0 = left_out * Self::LEFT_OUT + failing;
    }
}

/// In which of the three orders a ready message of a standard queue stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Standing {
    /// It has no attempt that counts.
    Untried,
    /// It has failed, and stands in its old place.
    Retried,
    /// It has failed again and again, and gets a share.
    Failing,
}

impl Standing {
    /// All of them, in the order of their numbers.
    pub const ALL: [Standing; 3] = [Standing::Untried, Standing::Retried, Standing::Failing];

    /// Where a ready message stands that has so many attempts.
    pub fn of(attempts: u32) -> Standing {
        match attempts {
            0 => Standing::Untried,
            1..=ATTEMPTS_IN_PLACE_MAX => Standing::Retried,
            _ => Standing::Failing,
        }
    }
}

/// The first message of one standing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct First<P> {
    /// Its priority.
    pub priority: Priority,
    /// What orders it among those of its priority: when it was sent.
    pub place: P,
    /// Its attempts so far.
    pub attempts: u32,
}

/// The first message of each standing, by the number of the [`Standing`]; untried ones, being
/// most, have no attempts to show.
pub type Heads<P> = [Option<First<P>>; 3];

/// What one receive has got so far.
#[derive(Debug)]
pub struct Receive<'s> {
    settings: &'s QueueSettings,
    up_to: u32,
    at_most: u64,
    got: u64,
}

impl Receive<'_> {
    /// A receive of at most `up_to` messages of a queue in which `room` more may be leased.
    pub fn new(up_to: u32, room: u64, settings: &QueueSettings) -> Receive<'_> {
        let up_to = up_to.max(1);
        Receive { settings, up_to, at_most: u64::from(up_to).min(room), got: 0 }
    }

    /// The same receive, which has so many messages of other queues already; `up_to` counts them.
    #[must_use]
    pub fn joining(self, others: u64) -> Self {
        let at_most = self.at_most.saturating_add(others).min(u64::from(self.up_to));
        Receive { at_most, got: others, ..self }
    }

    /// How many it may get, as far as known.
    pub fn at_most(&self) -> u64 {
        self.at_most
    }

    /// Takes the next message; answers of which standing, or `None` when the receive is over.
    /// `passed_over` is the queue's count.
    pub fn next<P: Ord + Copy>(
        &mut self,
        heads: &Heads<P>,
        passed_over: &mut PassedOver,
    ) -> Option<Standing> {
        if self.got >= self.at_most {
            return None;
        }
        let [untried, retried, failing] = heads;
        let in_place = self.in_place(heads);
        if in_place.is_none() && untried.is_none() && retried.is_some() {
            return None;
        }
        let (standing, attempts) = match self.overdue(heads, passed_over) {
            Some(overdue) => overdue,
            None => self.in_turn(failing.as_ref(), in_place, passed_over)?,
        };
        if standing == Standing::Failing {
            passed_over.set(0, passed_over.left_out());
        }
        let left_out = retried.as_ref().filter(|first| !self.fits(first.attempts));
        if let (Some(left_out), Some((_, first))) = (left_out, in_place)
            && (left_out.priority, left_out.place) < (first.priority, first.place)
        {
            passed_over.past_left_out();
        }
        self.got += 1;
        self.at_most = self.at_most.min(self.company(attempts));
        Some(standing)
    }

    /// What begins the receive whatever comes before it, for too much went past it (S11.2).
    fn overdue<P>(
        &self,
        heads: &Heads<P>,
        passed_over: &mut PassedOver,
    ) -> Option<(Standing, u32)> {
        let [_, retried, failing] = heads;
        match (retried, failing) {
            _ if self.got > 0 => None,
            (Some(first), _) if passed_over.left_out_is_due() => {
                passed_over.set(passed_over.failing(), 0);
                Some((Standing::Retried, first.attempts))
            }
            (_, Some(first)) if passed_over.failing_is_overdue() => {
                Some((Standing::Failing, first.attempts))
            }
            _ => None,
        }
    }

    /// The failing message if it is its turn, or the one that comes next by its place.
    fn in_turn<P>(
        &self,
        failing: Option<&First<P>>,
        in_place: Option<(Standing, &First<P>)>,
        passed_over: &mut PassedOver,
    ) -> Option<(Standing, u32)> {
        let waits = failing
            .filter(|failing| in_place.is_none_or(|(_, first)| failing.priority <= first.priority));
        let due = in_place.is_none() || passed_over.failing_is_due();
        match (waits.filter(|_| due), in_place) {
            (Some(failing), _) if self.fits(failing.attempts) => {
                Some((Standing::Failing, failing.attempts))
            }
            (_, Some((standing, first))) => {
                if waits.is_some() {
                    passed_over.past_failing(1);
                }
                Some((standing, first.attempts))
            }
            (_, None) => None,
        }
    }

    /// The message that comes next by its place, and may join those that the receive has.
    pub fn in_place<'h, P: Ord + Copy>(
        &self,
        heads: &'h Heads<P>,
    ) -> Option<(Standing, &'h First<P>)> {
        let [untried, retried, _] = heads;
        let fitting = retried.as_ref().filter(|first| self.fits(first.attempts));
        match (untried, fitting) {
            (Some(a), Some(b)) if (b.priority, b.place) < (a.priority, a.place) => {
                Some((Standing::Retried, b))
            }
            (Some(first), _) => Some((Standing::Untried, first)),
            (None, fitting) => fitting.map(|first| (Standing::Retried, first)),
        }
    }

    /// Whether a message with so many attempts may join those that the receive has (S11.2).
    fn fits(&self, attempts: u32) -> bool {
        self.got < self.company(attempts)
    }

    fn company(&self, attempts: u32) -> u64 {
        u64::from(lifecycle::company(attempts, self.up_to, self.settings))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(priority: u32, place: u64, attempts: u32) -> Option<First<u64>> {
        Some(First { priority: Priority(priority), place, attempts })
    }

    fn settings(max_attempts: Option<u32>) -> QueueSettings {
        QueueSettings { max_attempts, ..QueueSettings::default() }
    }

    /// What a receive of `up_to` gets while the heads stay the same.
    fn deal(
        up_to: u32,
        max: Option<u32>,
        heads: &Heads<u64>,
        passed: &mut PassedOver,
    ) -> Vec<Standing> {
        let settings = settings(max);
        let mut receive = Receive::new(up_to, 1000, &settings);
        std::iter::from_fn(|| receive.next(heads, passed)).collect()
    }

    #[test]
    fn failing_messages_get_one_delivery_of_a_hundred_and_all_when_nothing_else_is_ready() {
        // S11.1
        let mut passed = PassedOver::default();
        let dealt = deal(1000, None, &[first(5, 9, 0), None, first(5, 1, 4)], &mut passed);
        let failing: Vec<_> = (0..1000).filter(|nth| dealt[*nth] == Standing::Failing).collect();
        assert_eq!(failing, (0..10).map(|n| 100 * n + 99).collect::<Vec<_>>());
        let alone = deal(10, None, &[None, None, first(5, 1, 4)], &mut passed);
        assert_eq!(alone, [Standing::Failing; 10]);
    }

    #[test]
    fn failing_messages_wait_for_a_better_priority_and_share_with_a_worse_one() {
        // S7.1, S11.1
        let mut passed = PassedOver::new(99);
        let better = deal(200, None, &[first(1, 9, 0), None, first(2, 1, 4)], &mut passed);
        assert!(!better.contains(&Standing::Failing));
        assert_eq!(passed.number(), 99, "it does not wait for those");
        let worse = deal(200, None, &[first(1024, 9, 0), None, first(0, 1, 4)], &mut passed);
        assert_eq!(worse.iter().filter(|s| **s == Standing::Failing).count(), 2);
    }

    #[test]
    fn retried_messages_stand_in_their_old_place() {
        // S7.2
        let mut passed = PassedOver::default();
        assert_eq!(
            deal(1, None, &[first(5, 9, 0), first(5, 1, 3), None], &mut passed),
            [Standing::Retried]
        );
        assert_eq!(
            deal(1, None, &[first(5, 1, 0), first(5, 9, 3), None], &mut passed),
            [Standing::Untried]
        );
        assert_eq!(
            deal(1, None, &[first(5, 1, 0), first(4, 9, 3), None], &mut passed),
            [Standing::Retried]
        );
    }

    #[test]
    fn a_last_try_is_alone_and_holds_back_no_receive_that_is_under_way() {
        // S11.2
        let mut passed = PassedOver::default();
        let first_of_all = [first(5, 9, 0), first(5, 1, 2), None];
        assert_eq!(deal(10, Some(3), &first_of_all, &mut passed), [Standing::Retried]);
        let settings = settings(Some(3));
        let mut receive = Receive::new(10, 1000, &settings);
        let good = [first(5, 1, 0), first(5, 2, 2), None];
        assert_eq!(receive.next(&good, &mut passed), Some(Standing::Untried));
        let behind = [first(5, 3, 0), first(5, 2, 2), None];
        for _ in 1..10 {
            assert_eq!(receive.next(&behind, &mut passed), Some(Standing::Untried));
        }
        assert_eq!(receive.next(&behind, &mut passed), None);
    }

    #[test]
    fn a_failing_message_that_does_not_fit_is_the_first_of_the_next_receive() {
        // S11.1, S11.2
        let mut passed = PassedOver::new(95);
        let heads = [first(5, 9, 0), None, first(5, 1, 6)];
        assert_eq!(deal(10, Some(7), &heads, &mut passed), [Standing::Untried; 10]);
        assert_eq!(deal(10, Some(7), &heads, &mut passed), [Standing::Failing]);
        assert_eq!(passed.number(), 0);
    }
    /// Receives of ten that each begin with one of the best priority; answers which of them begin
    /// with the message of `heads` that was tried, and how many good ones each one has got.
    fn begun_with(max: u32, tried: Heads<u64>, receives: usize) -> Vec<usize> {
        let mut passed = PassedOver::default();
        let settings = settings(Some(max));
        let [_, retried, failing] = tried;
        let mut begun = Vec::new();
        for nth in 0..receives {
            let mut receive = Receive::new(10, 1000, &settings);
            let mut best = first(0, 1, 0);
            loop {
                let heads = [best.take().or(first(5, 9, 0)), retried, failing];
                match receive.next(&heads, &mut passed) {
                    Some(Standing::Untried) => {}
                    Some(_) => begun.push(nth),
                    None => break,
                }
            }
        }
        begun
    }

    #[test]
    fn a_message_that_a_hundred_went_past_begins_a_receive_whatever_the_priorities() {
        // S11.2: nine of each receive go past it.
        let retried = [None, first(5, 2, 2), None];
        assert_eq!(begun_with(3, retried, 30), [12, 25]);
        // S11.1: the first hundred are those that it has to wait for.
        let failing = [None, None, first(5, 2, 6)];
        assert_eq!(begun_with(7, failing, 30), [23]);
    }
}
