//! The connections of a listener: how many there may be, and how many of one address. When all
//! places are taken, those who do nothing with theirs lose it.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use slipring::{Clock, Timestamp};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// One who has done nothing for so long may lose its place to one who comes.
const QUIET: Duration = Duration::from_secs(1);
/// Those who do nothing are looked for this often at most.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// One of so many places is made free at a time.
const FREED_SHARE: usize = 50;
/// One who comes waits so long for a place that is being made free.
const FREED_WITHIN: Duration = Duration::from_millis(100);

/// Refusals are told to the log this often at most.
const LOGGED_EVERY: Duration = Duration::from_secs(60);

/// So many come, and so many go because they are late, before whatever else is ready has its turn.
const AT_ONCE: usize = 8;

/// The places of a listener.
#[derive(Debug)]
pub(crate) struct Places {
    most: usize,
    most_of_peer: usize,
    free: Arc<Semaphore>,
    /// For those who go because they are late.
    exits: Semaphore,
    /// How many have come.
    come: AtomicUsize,
    /// How many found no place.
    refused: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    by_peer: HashMap<IpAddr, usize>,
    holders: HashMap<u64, Arc<Holder>>,
    next: u64,
    looked_at: Option<Timestamp>,
    /// Whether the last look told anybody to leave.
    told: bool,
    /// When a refusal was last told to the log.
    logged_at: Option<Timestamp>,
}

/// One who has a place.
#[derive(Debug)]
struct Holder {
    /// Since when it does nothing, in milliseconds; 0 while it does something.
    quiet_since: AtomicU64,
    /// It has made a request.
    served: AtomicBool,
    leave: Notify,
}

/// A place; given back when dropped.
#[derive(Debug)]
pub(crate) struct Place {
    number: u64,
    holder: Arc<Holder>,
    share: Share,
    _permit: OwnedSemaphorePermit,
}

/// One of the connections, or of the requests by way of a proxy, that an address may have at a
/// time; given back when dropped.
#[derive(Debug)]
pub(crate) struct Share {
    places: Arc<Places>,
    /// `None` for an address that has no limit.
    of: Option<IpAddr>,
}

impl Places {
    /// Room for so many connections, and a share of them for each address in percent. Addresses of
    /// this machine have no share, for all behind a proxy have the same.
    pub(crate) fn new(most: usize, share_percent: u8) -> Arc<Places> {
        let most = most.min(Semaphore::MAX_PERMITS);
        let share = usize::from(share_percent.min(100));
        let most_of_peer = (most.saturating_mul(share) / 100).max(1);
        let free = Arc::new(Semaphore::new(most));
        let (exits, come) = (Semaphore::new(AT_ONCE), AtomicUsize::new(0));
        let (refused, state) = (AtomicU64::new(0), Mutex::default());
        Arc::new(Places { most, most_of_peer, free, exits, come, refused, state })
    }

    /// Counts one who came and found no place, as a connection or as a request by way of a proxy;
    /// a line a minute at most.
    pub(crate) fn refuse(&self, protocol: &str, peer: Option<IpAddr>, now: Timestamp) {
        self.refused.fetch_add(1, Ordering::Relaxed);
        let mut state = self.state.lock();
        if state.logged_at.is_some_and(|at| now < at.after(LOGGED_EVERY)) {
            return;
        }
        state.logged_at = Some(now);
        drop(state);
        let (connections_max, of_one_address) = (self.most, self.most_of_peer);
        tracing::warn!(protocol, ?peer, connections_max, of_one_address, "refusing connections");
    }

    /// How many were refused since the start.
    pub(crate) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// How many are taken.
    pub(crate) fn taken(&self) -> u64 {
        self.most.saturating_sub(self.free.available_permits()) as u64
    }

    /// A place, if there is one, or if one can be made free. `peer` is `None` for who has no
    /// address.
    pub(crate) async fn take(
        self: &Arc<Places>,
        peer: Option<IpAddr>,
        clock: &dyn Clock,
    ) -> Option<Place> {
        let share = self.share(peer)?;
        let permit = match Arc::clone(&self.free).try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => {
                let now = clock.now();
                if self.most == 0 || !self.make_free(now) {
                    return None;
                }
                tokio::select! {
                    permit = Arc::clone(&self.free).acquire_owned() => permit.ok()?,
                    () = clock.sleep_until(now.after(FREED_WITHIN)) => return None,
                }
            }
        };
        Some(self.enter(share, permit, clock.now()))
    }

    /// Lets whatever is ready have its turn, when some have come one right after another: ten
    /// thousand may be there at once.
    pub(crate) async fn one_came(&self) {
        if self.come.fetch_add(1, Ordering::Relaxed) % AT_ONCE == AT_ONCE - 1 {
            tokio::task::yield_now().await;
        }
    }

    /// Lets go of one who is late. Ten thousand may be late at once, whose ends would take so long
    /// that all others noticed.
    pub(crate) async fn let_go<T>(&self, late: T) {
        // It is never closed; it goes in any case.
        let _exit = self.exits.acquire().await;
        tokio::task::yield_now().await;
        drop(late);
    }

    /// A part of the share of an address, unless it has all of it.
    pub(crate) fn share(self: &Arc<Places>, peer: Option<IpAddr>) -> Option<Share> {
        let of = peer.and_then(counted);
        if let Some(of) = of {
            let mut state = self.state.lock();
            let count = state.by_peer.get(&of).copied().unwrap_or(0);
            if count >= self.most_of_peer {
                return None;
            }
            state.by_peer.insert(of, count + 1);
        }
        Some(Share { places: Arc::clone(self), of })
    }

    fn enter(
        self: &Arc<Places>,
        share: Share,
        permit: OwnedSemaphorePermit,
        now: Timestamp,
    ) -> Place {
        let holder = Arc::new(Holder {
            quiet_since: AtomicU64::new(now.as_millis()),
            served: AtomicBool::new(false),
            leave: Notify::new(),
        });
        let mut state = self.state.lock();
        let number = state.next;
        state.next += 1;
        state.holders.insert(number, Arc::clone(&holder));
        drop(state);
        Place { number, holder, share, _permit: permit }
    }

    /// Tells some of those who do nothing to leave: first those who have never made a request, then
    /// those who have been quiet longest. Answers whether some were told, or were a moment ago.
    fn make_free(&self, now: Timestamp) -> bool {
        let mut state = self.state.lock();
        if state.looked_at.is_some_and(|at| now < at.after(LOOK_EVERY)) {
            return state.told;
        }
        state.looked_at = Some(now);
        let mut quiet: Vec<(bool, u64, &Arc<Holder>)> = Vec::new();
        for holder in state.holders.values().filter(|holder| holder.is_quiet(now)) {
            let since = holder.quiet_since.load(Ordering::Relaxed);
            quiet.push((holder.served.load(Ordering::Relaxed), since, holder));
        }
        quiet.sort_unstable_by_key(|(served, since, _)| (*served, *since));
        quiet.truncate((self.most / FREED_SHARE).max(1));
        quiet.iter().for_each(|(_, _, holder)| holder.leave.notify_one());
        let told = !quiet.is_empty();
        state.told = told;
        told
    }
}

impl Holder {
    /// Whether it has done nothing for some time.
    fn is_quiet(&self, now: Timestamp) -> bool {
        let since = self.quiet_since.load(Ordering::Relaxed);
        since > 0 && Timestamp::from_millis(since).after(QUIET) <= now
    }
}

/// What counts as one address: of IPv6 the network of 64 bits, which one host has to itself. `None`
/// for this machine.
pub(crate) fn counted(peer: IpAddr) -> Option<IpAddr> {
    match peer.to_canonical() {
        peer if peer.is_loopback() => None,
        IpAddr::V6(peer) => Some(Ipv6Addr::from_bits(peer.to_bits() & (u128::MAX << 64)).into()),
        peer => Some(peer),
    }
}

impl Place {
    /// Notes that the holder does nothing from now on, unless it did nothing before.
    pub(crate) fn rests(&self, now: Timestamp) {
        let (quiet_since, now) = (&self.holder.quiet_since, now.as_millis().max(1));
        // It was quiet already when this fails.
        let _ = quiet_since.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Notes that something came from the holder that is no whole request yet: it is not quiet now.
    pub(crate) fn moves(&self, now: Timestamp) {
        self.holder.quiet_since.store(now.as_millis().max(1), Ordering::Relaxed);
    }

    /// Whether the holder has done nothing for some time.
    pub(crate) fn is_quiet(&self, now: Timestamp) -> bool {
        self.holder.is_quiet(now)
    }

    /// Notes that the holder does something, for which it may keep its place.
    pub(crate) fn works(&self) {
        self.holder.served.store(true, Ordering::Relaxed);
        self.holder.quiet_since.store(0, Ordering::Relaxed);
    }

    /// Ends when the holder is to leave.
    pub(crate) async fn is_wanted(&self) {
        self.holder.leave.notified().await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.share.places.state.lock().holders.remove(&self.number);
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let Some(of) = self.of else { return };
        let mut state = self.places.state.lock();
        if let Some(count) = state.by_peer.get_mut(&of) {
            *count -= 1;
            if *count == 0 {
                state.by_peer.remove(&of);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::Poll;

    use slipring::ManualClock;

    use super::*;

    fn clock() -> ManualClock {
        ManualClock::at(Timestamp::from_millis(1_000_000))
    }

    #[tokio::test]
    async fn an_address_has_its_share_and_this_machine_has_none() {
        // S12.5
        let (places, clock) = (Places::new(4, 50), clock());
        let far = Some(IpAddr::from([192, 0, 2, 1]));
        let near = Some(IpAddr::from([127, 0, 0, 1]));
        let first = places.take(far, &clock).await.unwrap();
        let second = places.take(far, &clock).await.unwrap();
        assert!(places.take(far, &clock).await.is_none(), "a third of one address");
        let third = places.take(near, &clock).await.unwrap();
        let fourth = places.take(near, &clock).await.unwrap();
        assert!(places.take(near, &clock).await.is_none());
        assert_eq!(places.refused(), 0, "take does not count; its caller does, by refuse");
        places.refuse("a protocol", near, clock.now());
        places.refuse("a protocol", far, clock.now());
        assert_eq!(places.refused(), 2);
        drop((second, third));
        assert_eq!(places.taken(), 2);
        let again = places.take(far, &clock).await.unwrap();
        drop((first, fourth, again));
        assert_eq!((places.taken(), places.state.lock().by_peer.len()), (0, 0));
    }

    #[test]
    fn a_network_of_ipv6_counts_as_one_address() {
        let of = |text: &str| counted(text.parse().unwrap());
        assert_eq!(of("2001:db8::1:2:3:4"), of("2001:db8::ffff"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!((of("::ffff:127.0.0.1"), of("::1"), of("127.0.0.2")), (None, None, None));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
    }

    #[tokio::test]
    async fn who_comes_while_all_are_busy_is_refused_at_once() {
        // S12.5
        let (places, clock) = (Places::new(1, 100), clock());
        let worker = places.take(None, &clock).await.unwrap();
        worker.works();
        for _ in 0..3 {
            let mut coming = std::pin::pin!(places.take(None, &clock));
            assert!(matches!(futures::poll!(coming.as_mut()), Poll::Ready(None)));
        }
    }

    #[tokio::test]
    async fn one_whose_request_is_coming_keeps_its_place() {
        // S12.5
        let (places, clock) = (Places::new(1, 100), clock());
        let sender = places.take(None, &clock).await.unwrap();
        for _ in 0..3 {
            clock.advance(QUIET);
            sender.moves(clock.now());
            assert!(places.take(None, &clock).await.is_none());
        }
        clock.advance(QUIET);
        let mut coming = std::pin::pin!(places.take(None, &clock));
        assert!(futures::poll!(coming.as_mut()).is_pending(), "nothing comes any more");
        sender.is_wanted().await;
    }

    #[tokio::test]
    async fn one_who_comes_gets_the_place_of_one_who_does_nothing() {
        // S12.5
        let (places, clock) = (Places::new(3, 100), clock());
        let worker = places.take(None, &clock).await.unwrap();
        worker.works();
        let old = places.take(None, &clock).await.unwrap();
        old.works();
        old.rests(clock.now());
        clock.advance(QUIET);
        let idle = places.take(None, &clock).await.unwrap();
        clock.advance(QUIET);
        let mut coming = std::pin::pin!(places.take(None, &clock));
        assert!(futures::poll!(coming.as_mut()).is_pending());
        // It has never finished a request, though it is quiet for less long than the other.
        idle.is_wanted().await;
        drop(idle);
        let come = coming.await.unwrap();
        come.works();
        clock.advance(QUIET);
        let mut next = std::pin::pin!(places.take(None, &clock));
        assert!(futures::poll!(next.as_mut()).is_pending());
        old.is_wanted().await;
        assert!(futures::poll!(std::pin::pin!(worker.is_wanted())).is_pending());
        clock.advance(FREED_WITHIN);
        assert!(next.await.is_none(), "nobody left in time");
    }
}
