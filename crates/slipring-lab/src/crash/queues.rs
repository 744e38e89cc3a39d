//! The queues of the crash test, and what the checker knows about them.

/// A queue and the rules it follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// Its name.
    pub name: &'static str,
    /// Groups are in strict order.
    pub fifo: bool,
    /// Where messages go that were received too often.
    pub dead_letter: Option<&'static str>,
    /// After how many receives.
    pub receives_max: u32,
    /// Whether beanstalkd clients use it too.
    pub by_beanstalkd: bool,
}

/// How long every lease lasts: the visibility timeout of each queue, and the time to run of each
/// job. One figure, so that the checker knows it whoever sent and whoever received.
pub const LEASE_MS: u64 = 2000;
/// The longest lease a client asks for when it prolongs one; at least [`LEASE_MS`], so that no
/// lease ends earlier for it.
pub const LEASE_MAX_MS: u64 = 3000;
/// The longest delay a client asks for.
pub const DELAY_MS: u64 = 1000;
/// An operation may have its effect for so long after its client has lost it: a killed server
/// leaves its statements behind in PostgreSQL. These wait for a lock for 3.2 s at most, which
/// covers a server that stands still with it for [`LEASE_MS`] and half a second.
pub const LEFT_BEHIND_MS: u64 = LEASE_MS + 3000;
/// SQS remembers deduplication ids for so long.
pub const DEDUP_WINDOW_MS: u64 = 300_000;

/// A standard queue that both protocols use.
pub const STANDARD: Rules = Rules {
    name: "standard",
    fifo: false,
    dead_letter: None,
    receives_max: u32::MAX,
    by_beanstalkd: true,
};
/// A tube that beanstalkd clients put into and both protocols receive from.
pub const TUBE: Rules = Rules { name: "tube", ..STANDARD };
/// A FIFO queue whose messages are in groups.
pub const ORDERED: Rules =
    Rules { name: "ordered.fifo", fifo: true, by_beanstalkd: false, ..STANDARD };
/// A FIFO queue that gets each message twice, with the same deduplication id.
pub const ONCE: Rules = Rules { name: "once.fifo", ..ORDERED };
/// A queue whose messages fail.
pub const POISON: Rules = Rules {
    name: "poison",
    dead_letter: Some(DEAD.name),
    receives_max: 2,
    by_beanstalkd: false,
    ..STANDARD
};
/// Where they end up.
pub const DEAD: Rules = Rules { name: "dead", by_beanstalkd: false, ..STANDARD };

/// All of them; a dead-letter queue stands before its sources.
pub const ALL: [Rules; 6] = [STANDARD, TUBE, ORDERED, ONCE, DEAD, POISON];

/// The rules of a queue.
pub fn rules(name: &str) -> Option<&'static Rules> {
    ALL.iter().find(|rules| rules.name == name)
}

/// How often a message was received before it came to a queue as a dead letter.
pub fn receives_before(name: &str) -> u32 {
    let sources = ALL.iter().filter(|rules| rules.dead_letter == Some(name));
    sources.map(|rules| rules.receives_max).max().unwrap_or(0)
}
