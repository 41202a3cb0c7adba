//! The DNS cache. Its size is limited, it has two generations, and it can return stale answers.
//!
//! New and recently used names are in the young generation. When the young generation reaches half of the maximum size,
//! it becomes the old generation and the previous old generation is dropped. This approximates "least recently used"
//! without a linked list.
//!
//! After an answer expires, it is *stale* for `stale_ms`. A stale answer is still returned, while a refresh queries the
//! servers in the background (RFC 8767, serve-stale; Chakrabarti 2.3.1). If no server answers, the pause until the next
//! refresh doubles. Any reply from a server replaces the stale answer, including "no such name". An expired failure is
//! not returned.
//!
//! The cache also stores addresses that the address guard refuses, because the guard checks an answer each time it is
//! returned.

use std::collections::HashMap;

use super::resolver::{ResolveResult, is_unanswered};
use crate::Resolved;

/// Pause after the first refresh that gets no answer. The pause doubles with each further refresh.
const FIRST_REFRESH_PAUSE_MS: i64 = 30_000;

/// Longest pause between two refreshes.
const MAX_REFRESH_PAUSE_MS: i64 = 3_600_000;

/// The cached result of a look-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CachedAnswer {
    /// An answer or failure that has not expired.
    Fresh(ResolveResult),
    /// An expired answer that may still be used. `due` says whether it should be refreshed now.
    Stale { resolved: Resolved, due: bool },
}

impl CachedAnswer {
    pub(super) fn into_result(self) -> ResolveResult {
        match self {
            CachedAnswer::Fresh(result) => result,
            CachedAnswer::Stale { resolved, .. } => Ok(resolved),
        }
    }
}

struct CacheEntry {
    result: ResolveResult,
    expires_ms: i64,
    /// The earliest time of the next refresh.
    refresh_ms: i64,
    /// Number of refreshes since the answer expired.
    refreshes: u32,
}

impl CacheEntry {
    fn new(result: ResolveResult, expires_ms: i64) -> CacheEntry {
        CacheEntry {
            result,
            expires_ms,
            refresh_ms: expires_ms,
            refreshes: 0,
        }
    }

    fn is_fresh(&self, now_ms: i64) -> bool {
        self.expires_ms > now_ms
    }

    fn is_usable(&self, now_ms: i64, stale_ms: i64) -> bool {
        let stale = self.result.is_ok() && self.expires_ms.saturating_add(stale_ms) > now_ms;
        self.is_fresh(now_ms) || stale
    }

    fn answer(&self, now_ms: i64, stale_ms: i64) -> Option<CachedAnswer> {
        if self.is_fresh(now_ms) {
            return Some(CachedAnswer::Fresh(self.result.clone()));
        }
        let usable = self.is_usable(now_ms, stale_ms);
        let resolved = self.result.as_ref().ok().filter(|_| usable)?;
        Some(CachedAnswer::Stale {
            resolved: resolved.clone(),
            due: self.refresh_ms <= now_ms,
        })
    }
}

pub(super) struct DnsCache {
    young: HashMap<Box<str>, CacheEntry>,
    old: HashMap<Box<str>, CacheEntry>,
    max_generation: usize,
    stale_ms: i64,
}

impl DnsCache {
    /// `max_names` is the maximum size of both generations together. `stale_ms` is the time for which an expired answer
    /// may still be used.
    pub(super) fn new(max_names: usize, stale_ms: i64) -> DnsCache {
        DnsCache {
            young: HashMap::new(),
            old: HashMap::new(),
            max_generation: (max_names / 2).max(1),
            stale_ms,
        }
    }

    /// The answer for a name. Moves the name to the young generation.
    pub(super) fn get(&mut self, name: &str, now_ms: i64) -> Option<CachedAnswer> {
        if let Some(entry) = self.young.get(name) {
            return entry.answer(now_ms, self.stale_ms);
        }
        let (name, entry) = self.old.remove_entry(name)?;
        let answer = entry.answer(now_ms, self.stale_ms)?;
        self.insert(name, entry);
        Some(answer)
    }

    /// Removes the failures of all look-ups that no server answered. Called when a DNS outage begins, because these
    /// failures were caused by the outage and not by the names.
    pub(super) fn remove_unanswered(&mut self) {
        for generation in [&mut self.young, &mut self.old] {
            generation.retain(|_, entry| !is_unanswered(&entry.result));
        }
    }

    /// All names with their addresses. Failures are left out.
    pub(super) fn answers(&self) -> Vec<(String, Resolved)> {
        let entries = self.young.iter().chain(&self.old);
        entries
            .filter_map(|(name, entry)| Some((name.to_string(), entry.result.clone().ok()?)))
            .collect()
    }

    /// Up to `max` names whose answers are stale and due for a refresh.
    pub(super) fn stale_names(&self, now_ms: i64, max: usize) -> Vec<Box<str>> {
        let is_due = |entry: &CacheEntry| {
            let answer = entry.answer(now_ms, self.stale_ms);
            matches!(answer, Some(CachedAnswer::Stale { due: true, .. }))
        };
        let entries = self.young.iter().chain(&self.old);
        let stale = entries.filter(|(_, entry)| !entry.is_fresh(now_ms) && is_due(entry));
        stale.map(|(name, _)| name.clone()).take(max).collect()
    }

    /// Whether [`get`](Self::get) would return an answer. Does not move the name to the young generation.
    pub(super) fn contains(&self, name: &str, now_ms: i64) -> bool {
        self.entry(name)
            .is_some_and(|entry| entry.is_usable(now_ms, self.stale_ms))
    }

    /// Records that a refresh of a stale answer begins. Sets the time of the next refresh, in case this one gets no
    /// answer.
    pub(super) fn begin_refresh(&mut self, name: &str, now_ms: i64) {
        if let Some(entry) = self.young.get_mut(name) {
            let pause =
                (FIRST_REFRESH_PAUSE_MS << entry.refreshes.min(16)).min(MAX_REFRESH_PAUSE_MS);
            entry.refresh_ms = now_ms.saturating_add(pause);
            entry.refreshes += 1;
        }
    }

    /// Stores the result of a look-up and returns it. If no server answered, but the cache has an answer that may still
    /// be used, that answer is kept and returned instead.
    pub(super) fn store(
        &mut self,
        name: &str,
        result: ResolveResult,
        expires_ms: i64,
        now_ms: i64,
    ) -> ResolveResult {
        if is_unanswered(&result)
            && let Some(cached) = self.get(name, now_ms).map(CachedAnswer::into_result)
            && cached.is_ok()
        {
            return cached;
        }
        self.replace(name, result.clone(), expires_ms);
        result
    }

    /// Adds an answer of an earlier crawl, unless the answer is too old to be used or the cache has a newer one.
    pub(super) fn restore(&mut self, name: &str, resolved: Resolved, now_ms: i64) {
        let expires_ms = resolved.expires_ms;
        let entry = CacheEntry::new(Ok(resolved), expires_ms);
        let has_newer = self.entry(name).is_some_and(|cached| match &cached.result {
            Ok(_) => cached.expires_ms >= expires_ms,
            failed => cached.is_fresh(now_ms) && !is_unanswered(failed),
        });
        if !has_newer && entry.is_usable(now_ms, self.stale_ms) {
            self.old.remove(name);
            self.insert(name.into(), entry);
        }
    }

    fn entry(&self, name: &str) -> Option<&CacheEntry> {
        self.young.get(name).or_else(|| self.old.get(name))
    }

    fn replace(&mut self, name: &str, result: ResolveResult, expires_ms: i64) {
        self.old.remove(name);
        self.insert(name.into(), CacheEntry::new(result, expires_ms));
    }

    fn insert(&mut self, name: Box<str>, entry: CacheEntry) {
        if self.young.len() >= self.max_generation && !self.young.contains_key(&name) {
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

    #[expect(clippy::unnecessary_wraps, reason = "the return type of DnsCache::get")]
    fn stale(last: u8, due: bool) -> Option<CachedAnswer> {
        let resolved = resolved(last, 100);
        Some(CachedAnswer::Stale { resolved, due })
    }

    #[test]
    fn answers_and_failures_are_kept_until_they_expire() {
        let mut cache = DnsCache::new(10, 0);
        cache.replace("a", Ok(resolved(1, 100)), 100);
        cache.replace("b", Err(Failure::DnsNotFound), 50);
        assert_eq!(
            cache.get("a", 99),
            Some(CachedAnswer::Fresh(Ok(resolved(1, 100))))
        );
        assert_eq!(cache.get("a", 100), None);
        let missing = Some(CachedAnswer::Fresh(Err(Failure::DnsNotFound)));
        assert_eq!(cache.get("b", 49), missing);
        assert_eq!(cache.get("b", 50), None);
        assert_eq!(cache.get("c", 0), None);
    }

    #[test]
    fn a_stale_answer_is_returned_and_its_refreshes_become_rarer() {
        let week = 7 * 24 * 3_600_000;
        let mut cache = DnsCache::new(10, week);
        cache.replace("a", Ok(resolved(1, 100)), 100);
        cache.replace("b", Err(Failure::DnsNotFound), 100);
        assert_eq!(cache.get("b", 100), None, "failures are never stale");
        let mut now = 100;
        let mut pauses = Vec::new();
        while let Some(CachedAnswer::Stale { due: true, .. }) = cache.get("a", now) {
            cache.begin_refresh("a", now);
            let timeout = Err(Failure::DnsTimeout);
            assert_eq!(
                cache.store("a", timeout, now + 30, now),
                Ok(resolved(1, 100))
            );
            assert_eq!(cache.get("a", now), stale(1, false));
            let next =
                (1..10_000).find(|seconds| cache.get("a", now + seconds * 1000) != stale(1, false));
            pauses.push(next.expect("a refresh or the end of the stale period"));
            now += pauses[pauses.len() - 1] * 1000;
        }
        assert_eq!(pauses[..8], [30, 60, 120, 240, 480, 960, 1920, 3600]);
        assert!(now >= 100 + week && now < 100 + week + 3_600_000);
        assert_eq!(cache.get("a", now), None);
    }

    #[test]
    fn any_reply_from_the_servers_replaces_a_stale_answer() {
        let mut cache = DnsCache::new(10, 1000);
        for reply in [
            Err(Failure::DnsNotFound),
            Err(Failure::DnsNoAddress),
            Ok(resolved(2, 900)),
        ] {
            cache.replace("a", Ok(resolved(1, 100)), 100);
            assert_eq!(cache.store("a", reply.clone(), 900, 200), reply);
            assert_eq!(cache.get("a", 200), Some(CachedAnswer::Fresh(reply)));
        }
    }

    #[test]
    fn a_restored_answer_does_not_replace_a_newer_one() {
        let mut cache = DnsCache::new(10, 1000);
        cache.restore("a", resolved(1, 100), 200);
        assert_eq!(cache.get("a", 200), stale(1, true));
        cache.restore("a", resolved(2, 99), 200);
        assert_eq!(cache.get("a", 200), stale(1, true));
        cache.restore("b", resolved(1, 100), 1100);
        assert_eq!(cache.get("b", 1100), None, "too old");
        for (failure, stays) in [(Failure::DnsNotFound, true), (Failure::DnsTimeout, false)] {
            cache.replace("c", Err(failure.clone()), 300);
            cache.restore("c", resolved(1, 100), 200);
            let cached = cache.get("c", 200).expect("there is an answer");
            assert_eq!(cached == CachedAnswer::Fresh(Err(failure)), stays);
        }
    }

    #[test]
    fn the_cache_is_bounded_and_keeps_used_names() {
        let mut cache = DnsCache::new(100, 0);
        for n in 0..10_000 {
            cache.replace(&n.to_string(), Ok(resolved(1, 100)), 100);
            cache.replace("used", Ok(resolved(7, 100)), 100);
            assert!(cache.get("used", 0).is_some());
            assert!(cache.young.len() + cache.old.len() <= 100);
        }
        assert!(cache.get("9999", 0).is_some());
        assert!(cache.get("1", 0).is_none());
    }

    #[derive(Clone, Debug)]
    enum CacheOperation {
        Get(u8),
        Store(u8, ResolveResult, i64),
        Restore(u8, i64),
        Refresh(u8),
        Wait(i64),
    }

    fn operation() -> impl Strategy<Value = CacheOperation> {
        let outcome = prop_oneof![
            3 => (0_u8..250).prop_map(|last| Ok(resolved(last, 0))),
            1 => Just(Err(Failure::DnsNotFound)),
            1 => Just(Err(Failure::DnsTimeout)),
        ];
        prop_oneof![
            4 => (0_u8..30).prop_map(CacheOperation::Get),
            3 => (0_u8..30, outcome, 1_i64..500).prop_map(|(name, outcome, ttl)| CacheOperation::Store(name, outcome, ttl)),
            1 => (0_u8..30, -1500_i64..500).prop_map(|(name, life)| CacheOperation::Restore(name, life)),
            1 => (0_u8..30).prop_map(CacheOperation::Refresh),
            2 => (0_i64..400).prop_map(CacheOperation::Wait),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        /// Compares the cache with a map of unlimited size. The cache returns the answer that was stored last, unless
        /// it is too old. No name is evicted while there are fewer names than half of the maximum size. The maximum
        /// size is never exceeded.
        #[test]
        fn the_cache_behaves_like_a_map(
            bound in 2_usize..80,
            operations in prop::collection::vec(operation(), 0..200),
        ) {
            const STALE: i64 = 1000;
            let mut cache = DnsCache::new(bound, STALE);
            let mut model: HashMap<u8, (ResolveResult, i64)> = HashMap::new();
            let mut now = 0;
            for operation in operations {
                match operation {
                    CacheOperation::Wait(time) => now += time,
                    CacheOperation::Refresh(name) => cache.begin_refresh(&name.to_string(), now),
                    CacheOperation::Restore(name, life) => {
                        let expires = now + life;
                        let before = cache.get(&name.to_string(), now);
                        cache.restore(&name.to_string(), resolved(255, expires), now);
                        let after = cache.get(&name.to_string(), now);
                        if after != before {
                            prop_assert!(expires + STALE > now);
                            model.insert(name, (Ok(resolved(255, expires)), expires));
                        }
                    }
                    CacheOperation::Store(name, outcome, ttl) => {
                        let expires = now + ttl;
                        let outcome = outcome.map(|held| Resolved { expires_ms: expires, ..held });
                        let returned = cache.store(&name.to_string(), outcome.clone(), expires, now);
                        if returned == outcome {
                            model.insert(name, (outcome, expires));
                        } else {
                            prop_assert_eq!(&returned, &model[&name].0);
                            prop_assert!(outcome == Err(Failure::DnsTimeout) && returned.is_ok());
                        }
                    }
                    CacheOperation::Get(name) => {
                        let contained = cache.contains(&name.to_string(), now);
                        let cached = cache.get(&name.to_string(), now);
                        prop_assert_eq!(contained, cached.is_some());
                        let expected = model.get(&name);
                        let live = expected.is_some_and(|(outcome, expires)| {
                            *expires > now || (outcome.is_ok() && expires + STALE > now)
                        });
                        match cached {
                            None => prop_assert!(!live || model.len() > bound / 2),
                            Some(cached) => {
                                let fresh = matches!(cached, CachedAnswer::Fresh(_));
                                let (outcome, expires) = expected.expect("the name was stored");
                                prop_assert!(live && fresh == (*expires > now));
                                prop_assert_eq!(&cached.into_result(), outcome);
                            }
                        }
                    }
                }
                prop_assert!(cache.young.len() + cache.old.len() <= bound);
            }
        }
    }
}
