//! What a site's contents say about the site: traps (D5 to D8), pages that are not there although the server says so
//! (T8), and what is shut out.

use aranha_frontier::{Absent, Blocked, Flags, Hop, Outcome, Outside, PageRecord, Pending};
use aranha_url::{Base, CanonUrl, PathKey};

use super::{Leave, Visit};
use crate::collect::Redirect;
use crate::commit::Done;
use crate::robots_txt;
use crate::status::notice::Notice;
use crate::status::tally::add;
use crate::traps::novelty::{ONWARD, Reading};
use crate::traps::wildcard_domains;

/// Pages of a site before its word for "not found" is worth a request, and before its words are looked at.
const FEW: u64 = 8;

/// The links of a page into its own site, each counted once.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Links {
    pub(super) all: u32,
    /// Of these, links to pages not known before.
    pub(super) new: u32,
}

impl Visit {
    /// The site's name.
    pub(super) fn name(&self) -> &str {
        let origin = self.facts.origin.as_str();
        origin.split_once("://").map_or(origin, |(_, name)| name)
    }

    fn host(&self) -> String {
        let url = self.context.canon.rebuild(&self.facts.origin, "/");
        url.map_or_else(|_| String::new(), |url| url.host().to_owned())
    }

    /// Before the first request: may this site be visited at all? Does its domain have hosts without end?
    pub(super) fn enter(&mut self) {
        if self.facts.blocked.is_some() {
            self.leave = Some(Leave::Block);
            return;
        }
        if let Some(entry) = self.context.blocking_entry(&self.facts.origin) {
            self.block_by_user(&entry);
            return;
        }
        if self.facts.retry_after > self.context.clock.now() {
            // The user may want its pages now, or have begun anew: that is for the server to allow.
            self.leave = Some(Leave::Until(self.facts.retry_after));
            return;
        }
        let host = self.host();
        if self.context.config.thresholds.trap_pages.is_none() {
            return;
        }
        if let Some(absurd) = self.context.domains.enter(&host, self.site_key) {
            let context = std::sync::Arc::clone(&self.context);
            tokio::spawn(async move {
                use aranha_fetch::Failure::AddressRefused;
                // While names are down this takes as long as they are; the crawl's end must not.
                let answer = tokio::select! {
                    answer = context.web.resolve(&absurd) => answer,
                    () = context.stop.wait() => return,
                };
                // An address that may not be asked is an address all the same.
                if matches!(answer, Ok(_) | Err(AddressRefused { .. })) {
                    context.domains.is_wildcard(&host);
                }
            });
        }
    }

    /// The black list may have grown since the last look.
    pub(super) fn obey_black_list(&mut self) {
        let generation = self.context.blacklist.generation();
        if generation != self.generation {
            self.generation = generation;
            if let Some(entry) = self.context.blocking_entry(&self.facts.origin) {
                self.block_by_user(&entry);
            }
        }
    }

    fn block_by_user(&mut self, entry: &str) {
        if self.facts.blocked.is_none() {
            self.context.notices.send(Notice::SiteBlocked {
                site: self.name().to_owned(),
                entry: entry.to_owned(),
            });
        }
        self.facts.blocked = Some(Blocked::by_user(entry));
        self.leave.get_or_insert(Leave::Block);
    }

    /// A threshold is reached (D5): the site is set aside, its contents are kept.
    pub(super) fn block_as_trap(&mut self, reason: String) {
        if self.facts.blocked.is_none() {
            let site = self.name().to_owned();
            add(&self.context.counters.traps, 1);
            self.context.notices.send(Notice::Trap {
                site,
                reason: reason.clone(),
            });
            self.facts.blocked = Some(Blocked::as_trap(reason));
            self.leave.get_or_insert(Leave::Block);
        }
    }

    /// Whether pages must show that they bring something.
    fn is_wary(&self) -> bool {
        self.context.config.thresholds.trap_pages.is_some()
            && (self.facts.counters.fetched >= FEW || self.is_below_a_wildcard())
    }

    fn is_below_a_wildcard(&self) -> bool {
        self.context.domains.judges(host_of(self.name()))
    }

    /// Whether the words of a page are to be looked at: not worth it at a site of a few pages, nor for every page of one that
    /// is believed.
    pub(super) fn wants_words(&self, page: &Pending) -> bool {
        let lot = page.key.0 ^ self.lease.rotate_left(32);
        match self.context.config.thresholds.trap_pages {
            Some(limit) if !self.is_below_a_wildcard() => {
                self.is_wary() && self.novelty.wants_words(limit, lot)
            }
            _ => self.is_wary(),
        }
    }

    /// What the page brings, and whether that is enough to go on. `soft`: it is the site's "not found".
    pub(super) fn judge_content(
        &mut self,
        done: &mut Done,
        reading: Option<&Reading>,
        soft: bool,
        links: Links,
        url: &CanonUrl,
        outside: &[Outside],
    ) {
        let Some(reading) = reading else {
            self.judge_silence(done, links);
            return;
        };
        let repeats = self.novelty.repeats(reading.text);
        let thresholds = &self.context.config.thresholds;
        if repeats {
            self.facts.counters.duplicates += 1;
            if let Some(limit) = thresholds.duplicates
                && self.facts.counters.duplicates >= limit
            {
                self.block_as_trap(format!("{limit} pages with a text already seen"));
            }
        }
        let Some(limit) = self.context.config.thresholds.trap_pages else {
            return;
        };
        if self.is_wary() {
            self.novelty
                .note(reading, repeats || soft, links.all, links.new);
            if let Some(trap) = self.novelty.trap(limit, ONWARD) {
                self.block_as_trap(trap.to_string());
            }
        }
        if self.context.domains.judges(url.host()) {
            self.judge_domain(reading, url, outside, limit);
        }
        if self.facts.blocked.is_some() {
            done.record.flags = done.record.flags.with(Flags::BLOCKED);
        }
    }

    /// A page without words: a redirect behind a redirect, or a list of links, perhaps without end.
    fn judge_silence(&mut self, done: &Done, links: Links) {
        let Some(limit) = self.context.config.thresholds.trap_pages else {
            return;
        };
        if done.record.outcome == Outcome::Answer(200) && links.all == 0 && done.record.size > 0 {
            // A picture, a document: what it holds is not known here, and it is no way to go on for ever.
            self.novelty.relieve(1);
            return;
        }
        let chain = done.record.redirect.is_some() && done.record.hop == Hop::Redirect;
        if chain || links.new > 0 {
            self.novelty.note_silent(if chain { 1 } else { links.new });
            if let Some(trap) = self.novelty.trap(limit, ONWARD) {
                self.block_as_trap(trap.to_string());
            }
        }
    }

    /// The hosts of a wildcard are judged together.
    fn judge_domain(&self, reading: &Reading, url: &CanonUrl, outside: &[Outside], limit: u32) {
        let domain = wildcard_domains::above(url.host());
        let mut hosts: Vec<_> = outside
            .iter()
            .filter(|link| wildcard_domains::above(host_of(&link.site)) == domain)
            .map(|link| link.site_key)
            .collect();
        hosts.sort_unstable();
        hosts.dedup();
        let domains = &self.context.domains;
        if let Some(trap) = domains.note(url.host(), reading, &hosts, limit) {
            let reason = format!("every name below it has an address, and {trap}");
            self.context.block_domain(url.host(), &reason);
        }
    }

    /// The sitemaps that robots.txt names are pages to fetch; what they list are links.
    pub(super) fn admit_sitemaps(&mut self) {
        if !self.context.config.crawl.sitemaps {
            return;
        }
        let Some(file) = &self.facts.robots else {
            return;
        };
        let context = std::sync::Arc::clone(&self.context);
        let Ok(base) = context.canon.canon(&file.url) else {
            return;
        };
        let via = file.url.clone();
        let from = Pending {
            hop: Hop::RobotsTxt,
            ..blank_page(&base)
        };
        for sitemap in robots_txt::sitemaps(file) {
            let Ok(url) = context.canon.join(&Base::of(&base), &sitemap) else {
                continue;
            };
            if url.site_key() == self.site_key && context.wants(&url, 0) {
                self.admit(url.path(), url.path_key(), &from, Hop::Sitemap, &via);
            }
        }
    }

    /// When it is time: the request for a page that cannot exist.
    pub(super) fn probe(&mut self) -> Option<Pending> {
        let wanted = self.context.config.crawl.soft_404
            && self.facts.absent.is_none()
            && self.facts.counters.fetched >= FEW;
        if !wanted {
            return None;
        }
        self.facts.absent = Some(Absent::default());
        self.facts_changed = true;
        let path = format!("/aranha-{:016x}.html", !self.site_key.0);
        let url = self.context.canon.rebuild(&self.facts.origin, &path).ok()?;
        Some(blank_page(&url))
    }

    /// What the site says of a page that cannot exist.
    pub(super) fn learn_absent(
        &mut self,
        done: &mut Done,
        reading: Option<&Reading>,
        redirect: Option<&Redirect>,
    ) {
        done.is_page = false;
        let Outcome::Answer(status) = done.record.outcome else {
            return;
        };
        self.facts.absent = Some(Absent {
            status,
            text_digest: done.record.text_digest,
            sketch: reading.map_or(0, |reading| reading.sketch),
            location: redirect.map_or_else(String::new, |to| to.target.as_str().to_owned()),
        });
        self.facts_changed = true;
    }

    /// Whether the answer is the site's word for "not found", whatever its status says (T8).
    pub(super) fn is_soft(
        &self,
        done: &mut Done,
        reading: Option<&Reading>,
        redirect: Option<&Redirect>,
    ) -> bool {
        let Some(absent) = &self.facts.absent else {
            return false;
        };
        // Where every unknown path shows the home page, the home page is there all the same.
        if done.record.path == "/" || done.record.depth == 0 {
            return false;
        }
        let soft = says_absent(absent, &done.record, reading, redirect);
        if soft {
            done.record.flags = done.record.flags.with(Flags::SOFT_404);
            add(&self.context.counters.soft_404, 1);
        }
        soft
    }
}

fn says_absent(
    absent: &Absent,
    record: &PageRecord,
    reading: Option<&Reading>,
    redirect: Option<&Redirect>,
) -> bool {
    if record.outcome != Outcome::Answer(absent.status) || absent.status >= 400 {
        return false;
    }
    if let Some(redirect) = redirect {
        return redirect.target.as_str() == absent.location;
    }
    let Some(reading) = reading else { return false };
    reading.text != 0 && reading.text == absent.text_digest
        || aranha_page::is_near_duplicate(reading.sketch, absent.sketch)
}

/// A page asked for its own sake.
fn blank_page(url: &CanonUrl) -> Pending {
    Pending {
        path: url.path().to_owned(),
        key: PathKey::of(url.path()),
        depth: 0,
        site_depth: 0,
        tries: 0,
        hop: Hop::SoftNotFoundProbe,
        via: String::new(),
        past: None,
    }
}

fn host_of(site: &str) -> &str {
    site.rsplit_once(':').map_or(site, |(host, _)| host)
}
