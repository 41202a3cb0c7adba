//! The DNS cache: bounded, in two generations, with answers that outlive their time.
//!
//! New and used names live in the young generation; when it is half of the bound, it becomes the old one and the old
//! one is forgotten. That is nearly "least recently used", without a list to maintain.
//!
//! An answer past its time is *stale* until `stale_ms` later: it is given out, and due to be asked for again, with a
//! pause that doubles as long as the servers say nothing (RFC 8767, serve-stale; K 2.3.1). What the servers do say
//! replaces it, also when it is that the name does not exist. Failures have no second life.
//!
//! Holds what the servers said, refused addresses included: the guard judges when an answer is given out.

use std::collections::HashMap;

use super::resolver::{Outcome, is_unanswered};
use crate::Resolved;

/// From a refresh that brought nothing to the next; then twice as long, and so on.
const FIRST_PAUSE_MS: i64 = 30_000;

/// The longest pause between two refreshes.
const LONGEST_PAUSE_MS: i64 = 3_600_000;

/// What the cache has for a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Held {
    /// Within its time.
    Fresh(Outcome),
    /// Past its time; `due`: to be asked for again now.
    Stale { resolved: Resolved, due: bool },
}

impl Held {
    pub(super) fn outcome(self) -> Outcome {
        match self {
            Held::Fresh(outcome) => outcome,
            Held::Stale { resolved, .. } => Ok(resolved),
        }
    }
}

struct Entry {
    outcome: Outcome,
    expires_ms: i64,
    /// No refresh before this.
    refresh_ms: i64,
    /// Refreshes since it went stale.
    refreshes: u32,
}

impl Entry {
    fn new(outcome: Outcome, expires_ms: i64) -> Entry {
        Entry {
            outcome,
            expires_ms,
            refresh_ms: expires_ms,
            refreshes: 0,
        }
    }

    fn is_fresh(&self, now_ms: i64) -> bool {
        self.expires_ms > now_ms
    }

    fn is_usable(&self, now_ms: i64, stale_ms: i64) -> bool {
        let stale = self.outcome.is_ok() && self.expires_ms.saturating_add(stale_ms) > now_ms;
        self.is_fresh(now_ms) || stale
    }

    fn held(&self, now_ms: i64, stale_ms: i64) -> Option<Held> {
        if self.is_fresh(now_ms) {
            return Some(Held::Fresh(self.outcome.clone()));
        }
        let usable = self.is_usable(now_ms, stale_ms);
        let resolved = self.outcome.as_ref().ok().filter(|_| usable)?;
        Some(Held::Stale {
            resolved: resolved.clone(),
            due: self.refresh_ms <= now_ms,
        })
    }
}

pub(super) struct Cache {
    young: HashMap<Box<str>, Entry>,
    old: HashMap<Box<str>, Entry>,
    generation: usize,
    stale_ms: i64,
}

impl Cache {
    /// `bound`: names held at most. `stale_ms`: how long an answer is of use after its time.
    pub(super) fn new(bound: usize, stale_ms: i64) -> Cache {
        Cache {
            young: HashMap::new(),
            old: HashMap::new(),
            generation: (bound / 2).max(1),
            stale_ms,
        }
    }

    /// What is known of a name, which thereby counts as used.
    pub(super) fn get(&mut self, name: &str, now_ms: i64) -> Option<Held> {
        if let Some(entry) = self.young.get(name) {
            return entry.held(now_ms, self.stale_ms);
        }
        let (name, entry) = self.old.remove_entry(name)?;
        let held = entry.held(now_ms, self.stale_ms)?;
        self.insert(name, entry);
        Some(held)
    }

    /// Names went down: what was not answered in the minutes before says nothing about the names.
    pub(super) fn forget_unanswered(&mut self) {
        for generation in [&mut self.young, &mut self.old] {
            generation.retain(|_, entry| !is_unanswered(&entry.outcome));
        }
    }

    /// Whether there is anything to give out for a name.
    pub(super) fn knows(&self, name: &str, now_ms: i64) -> bool {
        self.entry(name)
            .is_some_and(|entry| entry.is_usable(now_ms, self.stale_ms))
    }

    /// A refresh of a stale answer begins: the next one waits, longer each time, unless this one brings an answer.
    pub(super) fn begin_refresh(&mut self, name: &str, now_ms: i64) {
        if let Some(entry) = self.young.get_mut(name) {
            let pause = (FIRST_PAUSE_MS << entry.refreshes.min(16)).min(LONGEST_PAUSE_MS);
            entry.refresh_ms = now_ms.saturating_add(pause);
            entry.refreshes += 1;
        }
    }

    /// Takes in what a question brought, and gives back what to tell the asker: where the servers said nothing, an
    /// answer that is still of use stays.
    pub(super) fn learn(
        &mut self,
        name: &str,
        outcome: Outcome,
        expires_ms: i64,
        now_ms: i64,
    ) -> Outcome {
        if is_unanswered(&outcome)
            && let Some(held) = self.get(name, now_ms).map(Held::outcome)
            && held.is_ok()
        {
            return held;
        }
        self.put(name, outcome.clone(), expires_ms);
        outcome
    }

    /// Takes in an answer from an earlier run, unless it is too old or something newer is known.
    pub(super) fn restore(&mut self, name: &str, resolved: Resolved, now_ms: i64) {
        let expires_ms = resolved.expires_ms;
        let entry = Entry::new(Ok(resolved), expires_ms);
        let newer = self.entry(name).is_some_and(|held| match &held.outcome {
            Ok(_) => held.expires_ms >= expires_ms,
            failed => held.is_fresh(now_ms) && !is_unanswered(failed),
        });
        if !newer && entry.is_usable(now_ms, self.stale_ms) {
            self.old.remove(name);
            self.insert(name.into(), entry);
        }
    }

    fn entry(&self, name: &str) -> Option<&Entry> {
        self.young.get(name).or_else(|| self.old.get(name))
    }

    fn put(&mut self, name: &str, outcome: Outcome, expires_ms: i64) {
        self.old.remove(name);
        self.insert(name.into(), Entry::new(outcome, expires_ms));
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
    use proptest::prelude::*;

    use super::*;
    use crate::Failure;

    fn resolved(last: u8, expires_ms: i64) -> Resolved {
        Resolved {
            addresses: vec![[192, 0, 2, last].into()],
            expires_ms,
        }
    }

    #[expect(clippy::unnecessary_wraps, reason = "what the cache gives")]
    fn stale(last: u8, due: bool) -> Option<Held> {
        let resolved = resolved(last, 100);
        Some(Held::Stale { resolved, due })
    }

    #[test]
    fn answers_and_failures_are_kept_until_they_expire() {
        let mut cache = Cache::new(10, 0);
        cache.put("a", Ok(resolved(1, 100)), 100);
        cache.put("b", Err(Failure::DnsNotFound), 50);
        assert_eq!(cache.get("a", 99), Some(Held::Fresh(Ok(resolved(1, 100)))));
        assert_eq!(cache.get("a", 100), None);
        let missing = Some(Held::Fresh(Err(Failure::DnsNotFound)));
        assert_eq!(cache.get("b", 49), missing);
        assert_eq!(cache.get("b", 50), None);
        assert_eq!(cache.get("c", 0), None);
    }

    #[test]
    fn a_stale_answer_is_given_out_and_its_refreshes_grow_rare() {
        let week = 7 * 24 * 3_600_000;
        let mut cache = Cache::new(10, week);
        cache.put("a", Ok(resolved(1, 100)), 100);
        cache.put("b", Err(Failure::DnsNotFound), 100);
        assert_eq!(cache.get("b", 100), None, "failures have no second life");
        let mut now = 100;
        let mut pauses = Vec::new();
        while let Some(Held::Stale { due: true, .. }) = cache.get("a", now) {
            cache.begin_refresh("a", now);
            let silence = Err(Failure::DnsTimeout);
            assert_eq!(
                cache.learn("a", silence, now + 30, now),
                Ok(resolved(1, 100))
            );
            assert_eq!(cache.get("a", now), stale(1, false));
            let next =
                (1..10_000).find(|seconds| cache.get("a", now + seconds * 1000) != stale(1, false));
            pauses.push(next.expect("some time"));
            now += pauses[pauses.len() - 1] * 1000;
        }
        assert_eq!(pauses[..8], [30, 60, 120, 240, 480, 960, 1920, 3600]);
        assert!(now >= 100 + week && now < 100 + week + 3_600_000);
        assert_eq!(cache.get("a", now), None);
    }

    #[test]
    fn what_the_servers_say_replaces_a_stale_answer() {
        let mut cache = Cache::new(10, 1000);
        for said in [
            Err(Failure::DnsNotFound),
            Err(Failure::DnsNoAddress),
            Ok(resolved(2, 900)),
        ] {
            cache.put("a", Ok(resolved(1, 100)), 100);
            assert_eq!(cache.learn("a", said.clone(), 900, 200), said);
            assert_eq!(cache.get("a", 200), Some(Held::Fresh(said)));
        }
    }

    #[test]
    fn memories_give_way_to_what_is_newer() {
        let mut cache = Cache::new(10, 1000);
        cache.restore("a", resolved(1, 100), 200);
        assert_eq!(cache.get("a", 200), stale(1, true));
        cache.restore("a", resolved(2, 99), 200);
        assert_eq!(cache.get("a", 200), stale(1, true));
        cache.restore("b", resolved(1, 100), 1100);
        assert_eq!(cache.get("b", 1100), None, "too old");
        for (failure, stays) in [(Failure::DnsNotFound, true), (Failure::DnsTimeout, false)] {
            cache.put("c", Err(failure.clone()), 300);
            cache.restore("c", resolved(1, 100), 200);
            let held = cache.get("c", 200).expect("one of both");
            assert_eq!(held == Held::Fresh(Err(failure)), stays);
        }
    }

    #[test]
    fn the_bound_holds_and_used_names_stay() {
        let mut cache = Cache::new(100, 0);
        for n in 0..10_000 {
            cache.put(&n.to_string(), Ok(resolved(1, 100)), 100);
            cache.put("used", Ok(resolved(7, 100)), 100);
            assert!(cache.get("used", 0).is_some());
            assert!(cache.young.len() + cache.old.len() <= 100);
        }
        assert!(cache.get("9999", 0).is_some());
        assert!(cache.get("1", 0).is_none());
    }

    #[derive(Clone, Debug)]
    enum Act {
        Get(u8),
        Learn(u8, Outcome, i64),
        Restore(u8, i64),
        Refresh(u8),
        Wait(i64),
    }

    fn act() -> impl Strategy<Value = Act> {
        let outcome = prop_oneof![
            3 => (0_u8..250).prop_map(|last| Ok(resolved(last, 0))),
            1 => Just(Err(Failure::DnsNotFound)),
            1 => Just(Err(Failure::DnsTimeout)),
        ];
        prop_oneof![
            4 => (0_u8..30).prop_map(Act::Get),
            3 => (0_u8..30, outcome, 1_i64..500).prop_map(|(name, outcome, ttl)| Act::Learn(name, outcome, ttl)),
            1 => (0_u8..30, -1500_i64..500).prop_map(|(name, life)| Act::Restore(name, life)),
            1 => (0_u8..30).prop_map(Act::Refresh),
            2 => (0_i64..400).prop_map(Act::Wait),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        /// Against a map without bound: what is given out is what was last put there, and never too old; nothing
        /// is forgotten while there are fewer names than half the bound; the bound holds.
        #[test]
        fn as_a_map(bound in 2_usize..80, acts in prop::collection::vec(act(), 0..200)) {
            const STALE: i64 = 1000;
            let mut cache = Cache::new(bound, STALE);
            let mut model: HashMap<u8, (Outcome, i64)> = HashMap::new();
            let mut now = 0;
            for act in acts {
                match act {
                    Act::Wait(time) => now += time,
                    Act::Refresh(name) => cache.begin_refresh(&name.to_string(), now),
                    Act::Restore(name, life) => {
                        let expires = now + life;
                        let before = cache.get(&name.to_string(), now);
                        cache.restore(&name.to_string(), resolved(255, expires), now);
                        let after = cache.get(&name.to_string(), now);
                        if after != before {
                            prop_assert!(expires + STALE > now);
                            model.insert(name, (Ok(resolved(255, expires)), expires));
                        }
                    }
                    Act::Learn(name, outcome, ttl) => {
                        let expires = now + ttl;
                        let outcome = outcome.map(|held| Resolved { expires_ms: expires, ..held });
                        let told = cache.learn(&name.to_string(), outcome.clone(), expires, now);
                        if told == outcome {
                            model.insert(name, (outcome, expires));
                        } else {
                            prop_assert_eq!(&told, &model[&name].0);
                            prop_assert!(outcome == Err(Failure::DnsTimeout) && told.is_ok());
                        }
                    }
                    Act::Get(name) => {
                        let known = cache.knows(&name.to_string(), now);
                        let held = cache.get(&name.to_string(), now);
                        prop_assert_eq!(known, held.is_some());
                        let expected = model.get(&name);
                        let live = expected.is_some_and(|(outcome, expires)| {
                            *expires > now || (outcome.is_ok() && expires + STALE > now)
                        });
                        match held {
                            None => prop_assert!(!live || model.len() > bound / 2),
                            Some(held) => {
                                let fresh = matches!(held, Held::Fresh(_));
                                let (outcome, expires) = expected.expect("nothing is invented");
                                prop_assert!(live && fresh == (*expires > now));
                                prop_assert_eq!(&held.outcome(), outcome);
                            }
                        }
                    }
                }
                prop_assert!(cache.young.len() + cache.old.len() <= bound);
            }
        }
    }
}
