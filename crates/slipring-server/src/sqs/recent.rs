//! What happened within the last minute, for the rules "once per 60 seconds".

use std::collections::BTreeMap;
use std::time::Duration;

use parking_lot::Mutex;
use slipring::Timestamp;

const WINDOW: Duration = Duration::from_secs(60);

/// Above this count what is over is dropped, and then the oldest.
const KEPT_MAX: usize = 10_000;

/// Moments by key, each for a minute.
#[derive(Debug)]
pub(super) struct Recent<K>(Mutex<BTreeMap<K, Timestamp>>);

impl<K> Default for Recent<K> {
    fn default() -> Recent<K> {
        Recent(Mutex::new(BTreeMap::new()))
    }
}

impl<K: Ord + Clone> Recent<K> {
    /// Notes the key, unless it was noted within the last minute; says whether it did.
    pub(super) fn note(&self, key: K, now: Timestamp) -> bool {
        let mut moments = self.0.lock();
        if moments.get(&key).is_some_and(|at| now < at.after(WINDOW)) {
            return false;
        }
        if moments.len() >= KEPT_MAX {
            moments.retain(|_, at| now < at.after(WINDOW));
        }
        if moments.len() >= KEPT_MAX {
            let oldest = moments.iter().min_by_key(|(_, at)| **at).map(|(key, _)| key.clone());
            oldest.and_then(|key| moments.remove(&key));
        }
        moments.insert(key, now);
        true
    }

    /// Whether the key was noted within the last minute.
    pub(super) fn has<Q: Ord + ?Sized>(&self, key: &Q, now: Timestamp) -> bool
    where
        K: std::borrow::Borrow<Q>,
    {
        self.0.lock().get(key).is_some_and(|at| now < at.after(WINDOW))
    }

    /// Forgets a key, as if it had never been noted.
    pub(super) fn forget(&self, key: &K) {
        self.0.lock().remove(key);
    }

    /// Forgets everything.
    pub(super) fn clear(&self) {
        self.0.lock().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_noted_once_a_minute() {
        let recent = Recent::default();
        let at = Timestamp::from_millis;
        assert!(recent.note("a", at(0)));
        assert!(!recent.note("a", at(59_999)));
        assert!(recent.note("b", at(59_999)));
        assert!(recent.has("a", at(59_999)) && !recent.has("a", at(60_000)));
        assert!(recent.note("a", at(60_000)));
    }

    #[test]
    fn memory_is_bounded() {
        let recent = Recent::default();
        for key in 0..20_000_u64 {
            recent.note(key, Timestamp::from_millis(key));
        }
        assert_eq!(recent.0.lock().len(), KEPT_MAX);
    }
}
