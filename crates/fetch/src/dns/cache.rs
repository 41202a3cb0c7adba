//! The DNS cache: bounded, in two generations.
//!
//! New and used names live in the young generation; when it is half of the bound, it becomes the old one and the old
//! one is forgotten. That is nearly "least recently used", without a list to maintain.

use std::collections::HashMap;

use super::Outcome;

struct Entry {
    outcome: Outcome,
    expires_ms: i64,
}

pub(super) struct Cache {
    young: HashMap<Box<str>, Entry>,
    old: HashMap<Box<str>, Entry>,
    generation: usize,
}

impl Cache {
    /// `bound`: names held at most.
    pub(super) fn new(bound: usize) -> Cache {
        Cache {
            young: HashMap::new(),
            old: HashMap::new(),
            generation: (bound / 2).max(1),
        }
    }

    pub(super) fn get(&mut self, name: &str, now_ms: i64) -> Option<Outcome> {
        if let Some(entry) = self.young.get(name) {
            return (entry.expires_ms > now_ms).then(|| entry.outcome.clone());
        }
        let (name, entry) = self.old.remove_entry(name)?;
        if entry.expires_ms <= now_ms {
            return None;
        }
        let outcome = entry.outcome.clone();
        self.insert(name, entry);
        Some(outcome)
    }

    pub(super) fn put(&mut self, name: &str, outcome: Outcome, expires_ms: i64) {
        self.old.remove(name);
        self.insert(
            name.into(),
            Entry {
                outcome,
                expires_ms,
            },
        );
    }

    fn insert(&mut self, name: Box<str>, entry: Entry) {
        if self.young.len() >= self.generation && !self.young.contains_key(&name) {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(name, entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Failure, Resolved};

    #[expect(clippy::unnecessary_wraps, reason = "what the cache holds")]
    fn answer(last: u8) -> Outcome {
        Ok(Resolved {
            addresses: vec![[192, 0, 2, last].into()],
            expires_ms: 100,
        })
    }

    #[test]
    fn answers_and_failures_are_kept_until_they_expire() {
        let mut cache = Cache::new(10);
        cache.put("a", answer(1), 100);
        cache.put("b", Err(Failure::DnsNotFound), 50);
        assert_eq!(cache.get("a", 99), Some(answer(1)));
        assert_eq!(cache.get("a", 100), None);
        assert_eq!(cache.get("b", 49), Some(Err(Failure::DnsNotFound)));
        assert_eq!(cache.get("b", 50), None);
        assert_eq!(cache.get("c", 0), None);
        cache.put("b", answer(2), 100);
        assert_eq!(cache.get("b", 50), Some(answer(2)));
    }

    #[test]
    fn the_bound_holds_and_used_names_stay() {
        let mut cache = Cache::new(100);
        for n in 0..10_000 {
            cache.put(&n.to_string(), answer(1), 100);
            cache.put("used", answer(7), 100);
            assert!(cache.get("used", 0).is_some());
            assert!(cache.young.len() + cache.old.len() <= 100);
        }
        assert!(cache.get("9999", 0).is_some());
        assert!(cache.get("1", 0).is_none());
    }
}
