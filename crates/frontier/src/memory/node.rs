//! A node of the frontier in memory, and the calls of the interface ([`Frontier`]).
//!
//! A call is what the PostgreSQL engine calls a transaction: it fails at once while the database is away, registers the node
//! anew if it was declared dead, and otherwise is carried out as a whole.

use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aranha_url::{CanonUrl, PathKey, SiteKey};

use super::inbox::MemoryInbox;
use super::tables::MemoryTables;
use super::{LinkState, MemoryFrontier, NodeLink, PLACE, packer};
use crate::cluster::contact::Contact;
use crate::cluster::nodes::after_pause;
use crate::cluster::tables::ClusterTables as _;
use crate::fence::Fence;
use crate::shared::{NodeReport, SharedCrawl};
use crate::sites::checkout::{MIN_FLUSH_INTERVAL, examined};
use crate::sites::core::Core;
use crate::sites::store::Store;
use crate::sites::tables::Tables as _;
use crate::store_error::StoreError;
use crate::{
    CheckIn, CheckedIn, Claim, Claimed, Explanation, Frontier, FrontierError, FrontierStatus,
    GateClaim, Lease, LeaseLost, NodeSettings, Options, Outside, PageRecord, ProblemSite,
    RecordBatch, RecordCursor, Rediscovered, Seed, Seeded, SiteFacts, SiteSettings, VisitOrder,
};

/// Time after which a node that has no work looks again, while other nodes visit sites, in milliseconds.
const OTHERS_POLL: i64 = 1000;
/// Time between two searches for dead nodes, in milliseconds.
const CLEAN_INTERVAL: i64 = 1000;

/// A node of a crawl in memory.
#[derive(Debug)]
pub struct MemoryNode {
    pub(super) core: Core<MemoryTables>,
    settings: NodeSettings,
    pub(super) link: NodeLink,
    pub(super) report: Arc<NodeReport>,
    last_flush: Option<i64>,
    last_clean: Option<i64>,
    /// Time of the last call.
    pub(super) last_now: i64,
    /// The number of the group of check-ins that is being stored.
    group: Option<i64>,
    /// Whether due times of sites may have been computed with another horizon.
    pub(super) horizon_changed: bool,
    was_away: bool,
}

impl MemoryNode {
    pub(super) fn open(
        frontier: MemoryFrontier,
        now: i64,
        options: Options,
        settings: NodeSettings,
    ) -> Result<MemoryNode, FrontierError> {
        let link = NodeLink {
            contact: Arc::new(Contact::new(Fence::simulated())),
            ttl: settings.ttl,
            state: Arc::new(Mutex::new(LinkState::Whole)),
            frontier: frontier.clone(),
            ignores_deadline: false,
        };
        let inbox = MemoryInbox::new(&options);
        let store = Store::new(MemoryTables::new(frontier, 0), packer()?);
        let mut node = MemoryNode {
            core: Core::new(store, inbox, options),
            settings,
            link,
            report: Arc::default(),
            last_flush: None,
            last_clean: None,
            last_now: now,
            group: None,
            horizon_changed: true,
            was_away: false,
        };
        node.adopt_horizon();
        node.transact(now, |_| Ok(()))?;
        Ok(node)
    }

    /// The number of this node. It changes when the node was declared dead.
    pub fn number(&self) -> u64 {
        self.core.store.tables.node() as u64
    }

    /// The link of this node to the frontier.
    pub fn link(&self) -> NodeLink {
        self.link.clone()
    }

    /// Make a call.
    pub(super) fn transact<T>(
        &mut self,
        now: i64,
        work: impl FnOnce(&mut MemoryNode) -> Result<T, StoreError>,
    ) -> Result<T, FrontierError> {
        self.last_now = now;
        let result = self.begin(now).and_then(|()| {
            let value = work(self)?;
            self.core.journal()?;
            let core = &mut self.core;
            let tables = &core.store.tables;
            tables.lock().add_totals(&mut core.totals);
            tables.leases.borrow_mut().commit();
            core.leased = tables.leases.borrow().held.len() as u64;
            Ok(value)
        });
        result.map_err(|error| error.at(PLACE.as_ref()))
    }

    /// Check that the frontier can be reached, and that this node is alive.
    fn begin(&mut self, now: i64) -> Result<(), StoreError> {
        if let Err(error) = self.link.check() {
            self.was_away = true;
            return Err(error);
        }
        let tables = &self.core.store.tables;
        let state = tables.node_state(tables.node())?;
        if !state.is_some_and(|(_, is_alive)| is_alive) {
            // It was declared dead, or is new.
            *tables.leases.borrow_mut() = <_>::default();
            self.core.leased = 0;
            let asked = self.link.contact.fence().now();
            let ttl = self.settings.ttl;
            let number = tables.lock().register(&self.settings.node, now, ttl);
            tables.node.set(number);
            self.link.contact.registered(number, asked, ttl)?;
        }
        if std::mem::take(&mut self.was_away) {
            // Visits could not renew their leases, and go on now.
            let expires = self.core.expiry(now);
            let tables = &self.core.store.tables;
            tables.leases.borrow_mut().extend(expires);
        }
        Ok(())
    }

    /// Read, even if this node was declared dead.
    fn read<T>(
        &self,
        work: impl FnOnce(&Store<MemoryTables>) -> Result<T, StoreError>,
    ) -> Result<T, FrontierError> {
        let result = self.link.check().and_then(|()| work(&self.core.store));
        result.map_err(|error| error.at(PLACE.as_ref()))
    }

    fn has_gates(&self) -> bool {
        !self.settings.pause.is_zero()
    }

    /// Give back the sites of dead nodes, and let sites wait no longer for gates without an owner.
    fn clean(&mut self, now: i64) -> Result<(), StoreError> {
        let recent = self
            .last_clean
            .is_some_and(|last| (now - last).abs() < CLEAN_INTERVAL);
        if recent {
            return Ok(());
        }
        self.last_clean = Some(now);
        self.core.promote(now)?;
        if self.link.contact.may_judge(self.settings.ttl) {
            loop {
                let tables = &self.core.store.tables;
                let dead = tables.lock().expired_node(now, tables.node());
                let Some(dead) = dead else { break };
                self.core.bury(now, dead, self.settings.pause)?;
            }
        }
        Ok(())
    }

    /// Lease up to `room` due sites.
    fn check_out_sites(&mut self, now: i64, room: usize) -> Result<Vec<Lease>, StoreError> {
        self.clean(now)?;
        self.core.end_expired(now)?;
        if self.horizon_changed {
            self.reschedule(now)?;
        }
        let mut leases = Vec::new();
        let mut budget = examined(room);
        let mut has_delivered = false;
        let has_gates = self.has_gates();
        while leases.len() < room && budget > 0 {
            let count = (room - leases.len()).min(budget);
            let (examined, new) = self.core.lease_due_sites(now, count, has_gates)?;
            leases.extend(new);
            if examined == 0 {
                if has_delivered || !self.should_flush(now, leases.is_empty()) {
                    break;
                }
                has_delivered = true;
                self.last_flush = Some(now);
                self.core.deliver(now)?;
            }
            budget -= examined.min(budget);
        }
        Ok(leases)
    }

    /// Whether to deliver links now: if there are some, and the last time was long enough ago or no site is leased or due.
    fn should_flush(&self, now: i64, no_leases: bool) -> bool {
        let recent = self
            .last_flush
            .is_some_and(|last| now.saturating_sub(last).abs() < MIN_FLUSH_INTERVAL);
        let is_idle = no_leases && self.core.leased == 0;
        let tables = &self.core.store.tables;
        (!recent || is_idle) && !tables.lock().journal.links.is_empty()
    }

    /// The earliest time at which a courtesy pause may be ended early: now, or after a whole pause if other nodes are
    /// at work.
    fn earliest_visit(&self, now: i64) -> i64 {
        let tables = &self.core.store.tables;
        if tables.lock().others_hold_leases(tables.node()) {
            return after_pause(now, self.settings.pause);
        }
        now
    }

    /// Recompute the due times of all sites after the horizon has changed.
    pub(super) fn reschedule(&mut self, now: i64) -> Result<(), StoreError> {
        let sites = self.core.store.tables.sites_after(None, usize::MAX)?;
        for before in sites {
            let mut row = before.clone();
            row.schedule(now, self.core.store.horizon);
            // The class may change even if the row does not.
            self.core.store.site_update(&row)?;
            self.core.totals.site(Some(&before), &row);
        }
        self.horizon_changed = false;
        Ok(())
    }

    /// Make the locked sites due in parts: `step` handles some sites after a key, and returns the key of the last.
    fn in_steps(
        &mut self,
        now: i64,
        mut step: impl FnMut(&mut Core<MemoryTables>, Option<i64>) -> Result<Option<i64>, StoreError>,
    ) -> Result<(), FrontierError> {
        self.transact(now, |node| {
            let mut after = None;
            loop {
                after = step(&mut node.core, after)?;
                if after.is_none() {
                    return Ok(());
                }
            }
        })
    }

    fn store_group(
        &mut self,
        now: i64,
        batch: Vec<CheckIn>,
    ) -> Result<Vec<Result<CheckedIn, LeaseLost>>, StoreError> {
        if let Some(number) = self.group
            && !self.core.store.tables.take_number(number)?
        {
            return self.core.end_leases_of(now, &batch, self.settings.pause);
        }
        let mut replies = Vec::with_capacity(batch.len());
        for entry in batch {
            let lease = entry.lease;
            let reply = self.core.store_check_in(now, entry)?;
            replies.push(reply.ok_or(LeaseLost { lease }));
        }
        let full = self.core.options.run_links;
        if self.core.store.tables.lock().journal.is_full(full) {
            self.core.deliver(now)?;
        }
        Ok(replies)
    }

    /// Leave the crawl: release all leases, and end this node.
    fn leave(&mut self) -> Result<(), FrontierError> {
        let now = self.last_now;
        self.transact(now, |node| {
            // A visit that was broken off may have sent a request just before; its time is known only to the visit.
            let free = after_pause(now, node.settings.pause);
            let earliest = if node.has_gates() { free } else { i64::MIN };
            node.core.release_own(now, earliest)?;
            let tables = &node.core.store.tables;
            tables.orphan_gates(tables.node(), free)?;
            tables.end_node(tables.node(), None)
        })
    }
}

impl Drop for MemoryNode {
    fn drop(&mut self) {
        // A node that cannot reach the database is declared dead later.
        let _ = self.leave();
        self.link.contact.fence().end();
    }
}

impl Frontier for MemoryNode {
    fn may_be_away(&self) -> bool {
        true
    }

    fn shared(&mut self) -> Option<&mut dyn SharedCrawl> {
        Some(self)
    }

    fn fence(&self) -> Option<Arc<Fence>> {
        Some(Arc::clone(self.link.contact.fence()))
    }

    fn seed(&mut self, now: i64, seeds: &[Seed]) -> Result<Seeded, FrontierError> {
        self.transact(now, |node| node.core.add_seeds(now, seeds))
    }

    fn set_seed_settings(
        &mut self,
        now: i64,
        settings: &[SiteSettings],
    ) -> Result<(), FrontierError> {
        self.transact(now, |node| node.core.set_seed_settings(settings))
    }

    fn seed_settings(&self) -> Result<Vec<SiteSettings>, FrontierError> {
        self.read(|store| store.tables.seed_settings(None))
    }

    fn make_due(&mut self, now: i64, seeds: &[Seed]) -> Result<(), FrontierError> {
        self.transact(now, |node| {
            let free = node.earliest_visit(now);
            node.core.make_sites_due(now, seeds, free)
        })
    }

    fn make_all_due(&mut self, now: i64, order: &VisitOrder) -> Result<i64, FrontierError> {
        let began = self.transact(now, |node| node.core.begin_order(now, order))?;
        let free = self.earliest_visit(now);
        self.in_steps(now, |core, after| {
            core.make_next_sites_due(now, order, began, free, after)
        })?;
        Ok(began)
    }

    fn end_order(&mut self) -> Result<(), FrontierError> {
        self.transact(self.last_now, |node| {
            // The visits of other nodes belong to the order too.
            let tables = &node.core.store.tables;
            if tables.lock().others_hold_leases(tables.node()) {
                return Ok(());
            }
            node.core.store.end_order()
        })
    }

    fn bring_revisits_forward(
        &mut self,
        now: i64,
        until: i64,
        visited_by: i64,
    ) -> Result<(), FrontierError> {
        self.in_steps(now, |core, after| {
            core.bring_next_sites_forward(now, until, visited_by, after)
        })
    }

    fn read_records(
        &self,
        cursor: &mut RecordCursor,
    ) -> Result<Option<RecordBatch>, FrontierError> {
        self.read(|store| store.records_after(cursor))
    }

    fn rediscover(
        &mut self,
        now: i64,
        site: SiteKey,
        found: &Rediscovered,
    ) -> Result<u64, FrontierError> {
        self.transact(now, |node| node.core.admit_rediscovered(now, site, found))
    }

    fn claim(
        &mut self,
        now: i64,
        claims: &[(Outside, Claim)],
        weigh: fn(&SiteFacts, u8) -> f64,
    ) -> Result<Claimed, FrontierError> {
        self.transact(now, |node| node.core.apply_claims(now, claims, weigh))
    }

    fn revisit_until(&mut self, horizon: i64) {
        self.core.store.horizon = horizon;
        self.horizon_changed = true;
    }

    fn seeds(&self) -> Result<Vec<String>, FrontierError> {
        self.read(|store| store.tables.seeds())
    }

    fn check_out(&mut self, now: i64, room: usize) -> Result<Vec<Lease>, FrontierError> {
        if room == 0 {
            return Ok(Vec::new());
        }
        self.transact(now, |node| node.check_out_sites(now, room))
    }

    fn claim_gate(&mut self, now: i64, address: IpAddr) -> Result<GateClaim, FrontierError> {
        self.transact(now, |node| node.core.claim_gate(now, address))
    }

    fn give_gates_back(&mut self, now: i64, addresses: &[IpAddr]) -> Result<(), FrontierError> {
        let gates: Vec<IpAddr> = addresses.iter().map(IpAddr::to_canonical).collect();
        self.transact(now, |node| node.core.store.tables.release_gates(&gates))
    }

    fn check_in(
        &mut self,
        now: i64,
        batch: Vec<CheckIn>,
    ) -> Result<Vec<Result<CheckedIn, LeaseLost>>, FrontierError> {
        self.transact(now, |node| node.store_group(now, batch))
    }

    fn check_in_group(
        &mut self,
        now: i64,
        number: u64,
        batch: &mut dyn Iterator<Item = CheckIn>,
    ) -> Result<Vec<Result<CheckedIn, LeaseLost>>, FrontierError> {
        self.group = Some(number as i64);
        let replies = self.answer_group(now, batch.collect());
        self.group = None;
        replies
    }

    fn take_over(&mut self, now: i64, node: u64) -> Result<u64, FrontierError> {
        let number = self.transact(now, |own| {
            own.core
                .take_leases_of(node as i64, now, own.settings.pause)
        })?;
        Ok(number as u64)
    }

    fn renew(&mut self, now: i64, leases: &[u64]) -> Result<Vec<LeaseLost>, FrontierError> {
        self.transact(now, |node| {
            let expires = node.core.expiry(now);
            let mut own = node.core.store.tables.leases.borrow_mut();
            let lost = leases
                .iter()
                .filter(|lease| !own.renew(**lease as i64, expires));
            Ok(lost.map(|lease| LeaseLost { lease: *lease }).collect())
        })
    }

    fn release_all(&mut self, now: i64) -> Result<u64, FrontierError> {
        self.transact(now, |node| node.core.release_own(now, i64::MIN))
    }

    fn end_failed_visit(
        &mut self,
        now: i64,
        lease: u64,
        problem: &str,
        due: i64,
    ) -> Result<bool, FrontierError> {
        self.transact(now, |node| {
            node.core.end_failed_visit(now, lease, problem, due)
        })
    }

    fn problem_sites(&self) -> Result<Vec<ProblemSite>, FrontierError> {
        self.read(|store| store.tables.problems())
    }

    fn bring_problem_sites_forward(
        &mut self,
        now: i64,
        sites: &[SiteKey],
        due: i64,
    ) -> Result<(), FrontierError> {
        self.transact(now, |node| {
            node.core.bring_problem_sites_forward(now, sites, due)
        })
    }

    fn status(&self, now: i64) -> Result<FrontierStatus, FrontierError> {
        self.read(|store| {
            let mut status = store.tables.status(store.horizon)?;
            status.sites.problems = store.tables.problems()?.len() as u64;
            let mut due_by = |time: i64| {
                status.next_due = Some(status.next_due.map_or(time, |due| due.min(time)));
            };
            if store.tables.lock().others_hold_leases(store.tables.node()) {
                // A check-in of another node may bring work at any time.
                due_by(now + OTHERS_POLL);
            }
            if status.links_gathered > 0 {
                let last = self.last_flush.filter(|_| self.core.leased > 0);
                due_by(last.map_or(now, |last| last.saturating_add(MIN_FLUSH_INTERVAL)));
            }
            Ok(status)
        })
    }

    fn explain(&self, url: &CanonUrl) -> Result<Explanation, FrontierError> {
        self.read(|store| store.explain(url))
    }

    fn block(&mut self, now: i64, site: &str) -> Result<bool, FrontierError> {
        self.transact(now, |node| node.core.set_blocked(now, site, true))
    }

    fn unblock(&mut self, now: i64, site: &str) -> Result<bool, FrontierError> {
        self.transact(now, |node| node.core.set_blocked(now, site, false))
    }

    fn refetch(
        &mut self,
        now: i64,
        site: &str,
        pages: &HashSet<PathKey>,
    ) -> Result<u64, FrontierError> {
        self.transact(now, |node| node.core.refetch_pages(now, site, pages))
    }

    fn adopt(
        &mut self,
        now: i64,
        site: &str,
        origin: &str,
        records: &[PageRecord],
    ) -> Result<u64, FrontierError> {
        self.transact(now, |node| {
            node.core.adopt_pages(now, site, origin, records)
        })
    }

    /// There is nothing to merge.
    fn tidy(&mut self, _now: i64, _budget: Duration) -> Result<bool, FrontierError> {
        Ok(false)
    }

    fn flush(&mut self, now: i64) -> Result<(), FrontierError> {
        self.transact(now, |node| node.core.deliver(now))
    }
}

impl MemoryNode {
    /// Store a group. If an outage has just begun, the answer may be lost.
    fn answer_group(
        &mut self,
        now: i64,
        batch: Vec<CheckIn>,
    ) -> Result<Vec<Result<CheckedIn, LeaseLost>>, FrontierError> {
        let number = self.core.store.tables.node();
        let mut database = self.core.store.tables.lock();
        let is_unanswered = database.is_away && database.unanswered.remove(&number);
        if !is_unanswered {
            drop(database);
            return self.check_in(now, batch);
        }
        database.is_away = false;
        drop(database);
        let stored = self.check_in(now, batch);
        self.core.store.tables.lock().is_away = true;
        self.was_away = true;
        stored?;
        let unanswered = StoreError::Unanswered;
        Err(unanswered.at(PLACE.as_ref()))
    }
}
