//! Turns of connections that send many commands at once which need nothing from the store.
//!
//! Such a command costs less than a microsecond, so a connection that has a thousand of them in
//! its buffer would be done with all before it waits for anything. Ten thousand such connections
//! are then ready at the same time, and one that sends a single command waits for all of them. So
//! after a few commands a connection waits for a turn, of which there are as many as processors:
//! the others are not ready meanwhile.

use std::pin::pin;
use std::task::Poll;

use futures::poll;
use tokio::sync::{Semaphore, SemaphorePermit};

/// So many commands need no turn. What ten thousand connections do in these is all that one with
/// a single command waits for.
const COMMANDS_FREE: usize = 8;

/// After so many commands others come in between who need no turn.
const COMMANDS_AT_ONCE: usize = 64;

/// So often within one turn. A connection that is done within its turn has filled no more of its
/// buffers meanwhile than those who wait for theirs.
const TIMES_OF_A_TURN: usize = 16;

/// The turns of all connections of a server.
pub(super) struct Turns(Semaphore);

/// What a connection has done since it last waited, and its turn. A turn is given up when the
/// connection waits for anything: it must not keep a turn from others for as long as a job does
/// not come.
pub(super) struct Stretch<'a> {
    turns: &'a Turns,
    turn: Option<SemaphorePermit<'a>>,
    commands_left: usize,
    times_left: usize,
}

impl Turns {
    pub(super) fn new() -> Turns {
        Turns(Semaphore::new(std::thread::available_parallelism().map_or(1, usize::from)))
    }

    /// The first commands after a wait.
    pub(super) fn stretch(&self) -> Stretch<'_> {
        Stretch { turns: self, turn: None, commands_left: COMMANDS_FREE, times_left: 0 }
    }
}

impl Stretch<'_> {
    /// Before a command, or something that costs as much: waits for a turn where one is needed.
    pub(super) async fn step(&mut self) {
        if self.commands_left == 0 {
            if self.times_left == 0 {
                // Those who wait are served first.
                self.turn = None;
                // It is never closed.
                self.turn = self.turns.0.acquire().await.ok();
                self.times_left = TIMES_OF_A_TURN;
            }
            // With the turn in hand: of all that are ready, those who need one come to wait for
            // it now, and are not ready any more when the next single command comes.
            tokio::task::yield_now().await;
            self.times_left -= 1;
            self.commands_left = COMMANDS_AT_ONCE;
        }
        self.commands_left -= 1;
    }

    /// Does `work`; the turn is over if that has to wait for anything.
    pub(super) async fn through<F: Future>(&mut self, work: F) -> F::Output {
        let mut work = pin!(work);
        match poll!(work.as_mut()) {
            Poll::Ready(done) => done,
            Poll::Pending => {
                self.waits();
                work.await
            }
        }
    }

    /// The connection is about to wait for something else.
    fn waits(&mut self) {
        self.turn = None;
        (self.commands_left, self.times_left) = (COMMANDS_FREE, 0);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;

    use futures::FutureExt as _;

    use super::*;

    /// Whether it is over without a wait for another's turn.
    fn goes<F: Future<Output = ()>>(mut work: Pin<&mut F>) -> bool {
        // The second time for the yield.
        (0..2).any(|_| work.as_mut().now_or_never().is_some())
    }

    fn steps(stretch: &mut Stretch<'_>, most: usize) -> usize {
        (0..most).take_while(|_| goes(pin!(stretch.step()))).count()
    }

    #[test]
    fn who_has_many_commands_waits_for_a_turn_and_who_has_one_does_not() {
        let turns = Turns(Semaphore::new(1));
        let mut first = turns.stretch();
        assert_eq!(steps(&mut first, 5_000), 5_000);
        let mut second = turns.stretch();
        assert_eq!(steps(&mut second, 1_000), COMMANDS_FREE);
        let mut waiting = Box::pin(second.step());
        assert!(!goes(waiting.as_mut()));
        // The first one's turn ends while another waits: it waits behind it.
        let mut third = turns.stretch();
        assert_eq!(steps(&mut third, 1), 1);
        assert!(steps(&mut first, 5_000) <= COMMANDS_AT_ONCE * TIMES_OF_A_TURN);
        assert!(goes(waiting.as_mut()));
    }

    #[test]
    fn who_waits_for_something_else_keeps_no_turn() {
        let turns = Turns(Semaphore::new(1));
        let mut first = turns.stretch();
        assert_eq!(steps(&mut first, 20), 20);
        first.waits();
        let mut second = turns.stretch();
        assert_eq!(steps(&mut second, 1_000), 1_000);
        assert_eq!(steps(&mut first, 1_000), COMMANDS_FREE);
    }
}
