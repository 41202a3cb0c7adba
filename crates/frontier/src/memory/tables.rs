//! The rows and blocks of the frontier in memory.
//!
//! The file is long because it is a list of short functions, one for each operation of [`Tables`].

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::MutexGuard;

use aranha_url::SiteKey;

use super::MemoryFrontier;
use super::inbox::{MemoryInbox, SiteLinks};
use crate::cluster::gates::lines_with_room;
use crate::cluster::own_leases::{OwnLease, OwnLeases};
use crate::cluster::tables::ClusterTables as _;
use crate::links::gather::Gather;
use crate::links::run_link::RunLink;
use crate::sites::later::WaitKind;
use crate::sites::site_row::{FOUND_REVISIT, SEED_REVISIT, SiteRow};
use crate::sites::store::Store;
use crate::sites::tables::{QueueVisitor, Tables, WindowBlockRow};
use crate::sites::totals::Totals;
use crate::store_error::StoreError;
use crate::{
    FrontierStatus, LeaseEntry, ProblemSite, Seed, SeedSettings, SharedText, SiteSettings,
};

/// A site.
#[derive(Debug)]
pub(super) struct Site {
    pub(super) row: SiteRow,
    pub(super) class: i64,
    /// The node that holds the lease, and the time of the check-out.
    pub(super) node: Option<i64>,
    pub(super) since: i64,
    /// The address at which it was last visited, and whether it waits for it.
    pub(super) gate: Option<IpAddr>,
    pub(super) in_line: bool,
}

/// A node.
#[derive(Debug)]
pub(super) struct NodeRow {
    pub(super) name: String,
    pub(super) expires: i64,
    pub(super) is_alive: bool,
    pub(super) is_draining: bool,
    pub(super) successor: Option<i64>,
}

/// The gate of an address.
#[derive(Clone, Copy, Debug)]
pub(super) struct GateRow {
    pub(super) node: Option<i64>,
    pub(super) free: i64,
    pub(super) has_line: bool,
}

/// Blocks of waiting pages, by due time and id.
type LaterBlocks = BTreeMap<(i64, i64), Vec<u8>>;

/// All rows and blocks.
#[derive(Debug, Default)]
pub(super) struct Database {
    pub(super) is_away: bool,
    /// The nodes whose next group of check-ins is stored but not answered.
    pub(super) unanswered: BTreeSet<i64>,
    pub(super) sites: BTreeMap<i64, Site>,
    /// The queues of due sites: class, due time, key. Sites in line are not among them.
    pub(super) due: BTreeSet<(i64, i64, i64)>,
    /// The lines: gate, due time, key.
    pub(super) lines: BTreeSet<(IpAddr, i64, i64)>,
    /// Node and key of each leased site.
    leased: BTreeSet<(i64, i64)>,
    pub(super) nodes: BTreeMap<i64, NodeRow>,
    pub(super) gates: BTreeMap<IpAddr, GateRow>,
    /// The gates by owner, and whether they have a line.
    pub(super) gate_index: BTreeSet<(Option<i64>, bool, IpAddr)>,
    pub(super) taken: HashMap<i64, i64>,
    pub(super) texts: BTreeMap<String, SharedText>,
    pub(super) inboxes: HashMap<i64, SiteLinks>,
    pub(super) last_run: i64,
    /// Links that are not delivered yet.
    pub(super) journal: Gather,
    last_id: i64,
    facts: HashMap<i64, Vec<u8>>,
    pages: HashMap<i64, (i64, Vec<u8>)>,
    keys: HashMap<i64, (i64, Vec<u8>)>,
    held: HashMap<i64, WindowBlockRow>,
    queues: HashMap<i64, VecDeque<(i64, Vec<u8>)>>,
    /// By site and kind.
    later: HashMap<(i64, i64), LaterBlocks>,
    problems: BTreeMap<i64, ProblemSite>,
    pub(super) seeds: Vec<String>,
    seed_pages: BTreeSet<(i64, i64)>,
    settings: BTreeMap<i64, SeedSettings>,
    values: BTreeMap<String, i64>,
    totals: BTreeMap<&'static str, i64>,
    outcomes: BTreeMap<i64, i64>,
}

impl Database {
    pub(super) fn next_id(&mut self) -> i64 {
        self.last_id += 1;
        self.last_id
    }

    /// Changes a site, and its places in the queues.
    pub(super) fn change(&mut self, key: i64, change: impl FnOnce(&mut Site)) {
        if let Some(mut site) = self.sites.remove(&key) {
            self.unlist(&site);
            change(&mut site);
            self.list(&site);
            self.sites.insert(key, site);
        }
    }

    pub(super) fn list(&mut self, site: &Site) {
        let key = site.row.key;
        if let Some(due) = site.row.due {
            match site.gate.filter(|_| site.in_line) {
                Some(gate) => self.lines.insert((gate, due, key)),
                None => self.due.insert((site.class, due, key)),
            };
        }
        if let Some(node) = site.node {
            self.leased.insert((node, key));
        }
    }

    fn unlist(&mut self, site: &Site) {
        let key = site.row.key;
        if let Some(due) = site.row.due {
            self.due.remove(&(site.class, due, key));
            if let Some(gate) = site.gate {
                self.lines.remove(&(gate, due, key));
            }
        }
        if let Some(node) = site.node {
            self.leased.remove(&(node, key));
        }
    }

    /// The sites that a node holds.
    pub(super) fn sites_of(&self, node: i64) -> impl Iterator<Item = i64> {
        let sites = self.leased.range((node, i64::MIN)..=(node, i64::MAX));
        sites.map(|(_, key)| *key)
    }

    pub(super) fn set_gate(&mut self, gate: IpAddr, row: GateRow) {
        if let Some(before) = self.gates.insert(gate, row) {
            self.gate_index
                .remove(&(before.node, before.has_line, gate));
        }
        self.gate_index.insert((row.node, row.has_line, gate));
    }

    /// The gates of an owner, with or without a line.
    pub(super) fn gates_of(&self, node: Option<i64>, has_line: bool) -> Vec<IpAddr> {
        let first = (node, has_line, IpAddr::from([0, 0, 0, 0]));
        let rest = self.gate_index.range(first..);
        let same = rest.take_while(|(owner, line, _)| (*owner, *line) == (node, has_line));
        same.map(|(_, _, gate)| *gate).collect()
    }

    /// The earliest due time of the first site of a class.
    fn first_due(&self, class: i64) -> Option<i64> {
        let mut sites = self.due.range((class, i64::MIN, i64::MIN)..);
        let first = sites.next().filter(|(other, ..)| *other == class);
        first.map(|(_, due, _)| *due)
    }

    /// The due time of the first site in line for a gate.
    pub(super) fn first_in_line(&self, gate: IpAddr) -> Option<i64> {
        let mut sites = self.lines.range((gate, i64::MIN, i64::MIN)..);
        let first = sites.next().filter(|(other, ..)| *other == gate);
        first.map(|(_, due, _)| *due)
    }

    /// Whether another node that is alive holds leases.
    pub(super) fn others_hold_leases(&self, node: i64) -> bool {
        let alive = self.nodes.iter().filter(|(_, other)| other.is_alive);
        let mut others = alive.filter(|(number, _)| **number != node);
        others.any(|(number, _)| self.sites_of(*number).next().is_some())
    }

    pub(super) fn value(&self, name: &str) -> Option<i64> {
        self.values.get(name).copied()
    }

    /// Adds the changes of counters.
    pub(super) fn add_totals(&mut self, totals: &mut Totals) {
        for (name, _, change) in totals.take_changes() {
            *self.totals.entry(name).or_default() += change;
        }
        for (outcome, change) in totals.take_outcomes() {
            *self.outcomes.entry(outcome).or_default() += change;
        }
    }
}

/// The tables as one node sees them.
#[derive(Debug)]
pub(crate) struct MemoryTables {
    frontier: MemoryFrontier,
    pub(super) node: std::cell::Cell<i64>,
    pub(super) leases: RefCell<OwnLeases>,
}

impl MemoryTables {
    pub(super) fn new(frontier: MemoryFrontier, node: i64) -> MemoryTables {
        MemoryTables {
            frontier,
            node: node.into(),
            leases: RefCell::default(),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Database> {
        self.frontier.lock()
    }

    /// The earliest due time of the sites that this node could take from a line.
    fn next_in_line(&self) -> Result<Option<i64>, StoreError> {
        let held = self.leases.borrow().per_gate();
        let lines = lines_with_room(self.own_gates_with_line()?, &held);
        let database = self.lock();
        let orphans = database.gates_of(None, true);
        let orphans = orphans.iter().map(|gate| database.gates[gate].free);
        let own = lines.iter().map(|(gate, _)| database.first_in_line(*gate));
        Ok(orphans.chain(own.flatten()).min())
    }
}

impl Tables for MemoryTables {
    type Inbox = MemoryInbox;

    fn snapshot<R>(
        &self,
        mut work: impl FnMut() -> Result<R, StoreError>,
    ) -> Result<R, StoreError> {
        work()
    }

    fn status(&self, horizon: i64) -> Result<FrontierStatus, StoreError> {
        let in_line = self.next_in_line()?;
        let expiry = self.leases.borrow().next_expiry();
        let database = self.lock();
        let work = (0..=4).filter(|class| ![SEED_REVISIT, FOUND_REVISIT].contains(class));
        let work = work.filter_map(|class| database.first_due(class)).min();
        let revisit = [SEED_REVISIT, FOUND_REVISIT].map(|class| database.first_due(class));
        let revisit = revisit.into_iter().flatten().min();
        let first = [work, revisit.filter(|due| *due <= horizon), expiry, in_line];
        let next = (first.into_iter().flatten().min(), revisit);
        let mut rows: Vec<(String, i64)> = Vec::new();
        rows.extend(
            database
                .totals
                .iter()
                .map(|(name, value)| ((*name).to_owned(), *value)),
        );
        rows.push((
            "links_gathered".to_owned(),
            database.journal.links.len() as i64,
        ));
        let outcomes = database
            .outcomes
            .iter()
            .map(|(outcome, count)| (*outcome, *count));
        Ok(Totals::from_rows(rows).status(outcomes.collect(), next, 0))
    }

    fn site(&self, key: i64) -> Result<Option<SiteRow>, StoreError> {
        Ok(self.lock().sites.get(&key).map(|site| site.row.clone()))
    }

    fn site_insert(&self, site: &SiteRow, class: i64) -> Result<(), StoreError> {
        let site = Site {
            row: site.clone(),
            class,
            node: None,
            since: 0,
            gate: None,
            in_line: false,
        };
        let mut database = self.lock();
        database.list(&site);
        database.sites.insert(site.row.key, site);
        Ok(())
    }

    /// A site that is leased or has nothing to fetch leaves its line.
    fn site_update(&self, site: &SiteRow, class: i64) -> Result<(), StoreError> {
        let own = site
            .lease
            .and_then(|id| self.leases.borrow().held.get(&id).copied());
        self.lock().change(site.key, |state| {
            if site.lease != state.row.lease {
                state.node = site.lease.map(|_| self.node.get());
                state.since = own.map_or(0, |own| own.since);
            }
            state.in_line &= site.due.is_some();
            state.row.clone_from(site);
            state.class = class;
        });
        Ok(())
    }

    fn sites_after(&self, after: Option<i64>, count: usize) -> Result<Vec<SiteRow>, StoreError> {
        let database = self.lock();
        let sites = database.sites.range(from(after));
        Ok(sites
            .take(count)
            .map(|(_, site)| site.row.clone())
            .collect())
    }

    fn site_with_records(&self, after: Option<i64>) -> Result<Option<SiteRow>, StoreError> {
        let database = self.lock();
        let mut sites = database.sites.range(from(after)).map(|(_, site)| &site.row);
        Ok(sites.find(|row| row.pages != 0).cloned())
    }

    fn sites_with_revisits(
        &self,
        until: i64,
        after: Option<i64>,
        count: usize,
    ) -> Result<Vec<SiteRow>, StoreError> {
        let database = self.lock();
        let sites = database.sites.range(from(after)).map(|(_, site)| &site.row);
        let due = sites.filter(|row| row.again_due.is_some_and(|due| due <= until));
        Ok(due.take(count).cloned().collect())
    }

    fn facts(&self, site: i64) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.lock().facts.get(&site).cloned())
    }

    fn facts_write(&self, site: i64, sealed: Vec<u8>) -> Result<(), StoreError> {
        self.lock().facts.insert(site, sealed);
        Ok(())
    }

    fn pages_insert(&self, _site: i64, previous: i64, sealed: Vec<u8>) -> Result<i64, StoreError> {
        let mut database = self.lock();
        let id = database.next_id();
        database.pages.insert(id, (previous, sealed));
        Ok(id)
    }

    fn pages_block(&self, id: i64) -> Result<Option<(i64, Vec<u8>)>, StoreError> {
        Ok(self.lock().pages.get(&id).cloned())
    }

    fn keys_insert(&self, _site: i64, previous: i64, bytes: Vec<u8>) -> Result<i64, StoreError> {
        let mut database = self.lock();
        let id = database.next_id();
        database.keys.insert(id, (previous, bytes));
        Ok(id)
    }

    fn keys_take(&self, _site: i64, id: i64) -> Result<(i64, Vec<u8>), StoreError> {
        let block = self.lock().keys.remove(&id);
        block.ok_or_else(|| StoreError::damaged("chain of keys at", id))
    }

    fn keys_walk(
        &self,
        site: &SiteRow,
        visit: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<(), StoreError> {
        let database = self.lock();
        let mut id = site.keys;
        while id != 0 {
            let block = database.keys.get(&id);
            let (previous, bytes) =
                block.ok_or_else(|| StoreError::damaged("chain of keys at", id))?;
            if !visit(bytes) {
                return Err(StoreError::damaged("block of keys", id));
            }
            id = *previous;
        }
        Ok(())
    }

    fn window_insert(
        &self,
        _site: i64,
        previous: i64,
        count: i64,
        sealed: Vec<u8>,
    ) -> Result<i64, StoreError> {
        let mut database = self.lock();
        let id = database.next_id();
        database.held.insert(id, (previous, count, sealed));
        Ok(id)
    }

    fn window_block(&self, _site: i64, id: i64) -> Result<Option<WindowBlockRow>, StoreError> {
        Ok(self.lock().held.get(&id).cloned())
    }

    fn window_previous(&self, _site: i64, id: i64) -> Result<Option<i64>, StoreError> {
        Ok(self.lock().held.get(&id).map(|(previous, ..)| *previous))
    }

    fn window_delete(&self, _site: i64, id: i64) -> Result<bool, StoreError> {
        Ok(self.lock().held.remove(&id).is_some())
    }

    fn queue_insert(&self, site: i64, sealed: Vec<u8>) -> Result<(), StoreError> {
        let mut database = self.lock();
        let id = database.next_id();
        database
            .queues
            .entry(site)
            .or_default()
            .push_back((id, sealed));
        Ok(())
    }

    fn queue_front(&self, site: i64) -> Result<Option<(i64, Vec<u8>)>, StoreError> {
        let database = self.lock();
        Ok(database
            .queues
            .get(&site)
            .and_then(|queue| queue.front().cloned()))
    }

    fn queue_update(&self, site: i64, id: i64, sealed: Vec<u8>) -> Result<(), StoreError> {
        let mut database = self.lock();
        let queue = database.queues.entry(site).or_default();
        if let Some(block) = queue.iter_mut().find(|(other, _)| *other == id) {
            block.1 = sealed;
        }
        Ok(())
    }

    fn queue_delete(&self, site: i64, id: i64) -> Result<(), StoreError> {
        let mut database = self.lock();
        if let Some(queue) = database.queues.get_mut(&site) {
            queue.retain(|(other, _)| *other != id);
            if queue.is_empty() {
                database.queues.remove(&site);
            }
        }
        Ok(())
    }

    fn queue_walk(&self, site: i64, visit: &mut QueueVisitor<'_>) -> Result<(), StoreError> {
        // `visit` may use the tables.
        let queue = self.lock().queues.get(&site).cloned();
        for (id, pages) in queue.into_iter().flatten() {
            if !visit(id, &pages)? {
                break;
            }
        }
        Ok(())
    }

    fn later_insert(
        &self,
        site: i64,
        kind: WaitKind,
        due: i64,
        sealed: Vec<u8>,
    ) -> Result<(), StoreError> {
        let mut database = self.lock();
        let id = database.next_id();
        let blocks = database.later.entry((site, kind as i64)).or_default();
        blocks.insert((due, id), sealed);
        Ok(())
    }

    fn later_first(&self, site: i64, kind: WaitKind) -> Result<Option<(i64, Vec<u8>)>, StoreError> {
        let database = self.lock();
        let blocks = database.later.get(&(site, kind as i64));
        let first = blocks.and_then(BTreeMap::first_key_value);
        Ok(first.map(|((_, id), pages)| (*id, pages.clone())))
    }

    fn later_due(&self, site: i64, kind: WaitKind) -> Result<Option<i64>, StoreError> {
        let database = self.lock();
        let blocks = database.later.get(&(site, kind as i64));
        let first = blocks.and_then(BTreeMap::first_key_value);
        Ok(first.map(|((due, _), _)| *due))
    }

    fn later_ids(&self, site: i64, kind: WaitKind) -> Result<Vec<i64>, StoreError> {
        let database = self.lock();
        let blocks = database.later.get(&(site, kind as i64));
        let ids = blocks
            .into_iter()
            .flat_map(BTreeMap::keys)
            .map(|(_, id)| *id);
        Ok(ids.collect())
    }

    fn later_block(&self, site: i64, id: i64) -> Result<Option<Vec<u8>>, StoreError> {
        let database = self.lock();
        let kinds = [WaitKind::Retry, WaitKind::Revisit];
        let blocks = kinds
            .into_iter()
            .filter_map(|kind| database.later.get(&(site, kind as i64)));
        let mut blocks = blocks.flatten();
        let found = blocks.find(|((_, other), _)| *other == id);
        Ok(found.map(|(_, pages)| pages.clone()))
    }

    fn later_delete(&self, site: i64, id: i64) -> Result<(), StoreError> {
        let mut database = self.lock();
        for kind in [WaitKind::Retry, WaitKind::Revisit] {
            let key = (site, kind as i64);
            if let Some(blocks) = database.later.get_mut(&key) {
                blocks.retain(|(_, other), _| *other != id);
                if blocks.is_empty() {
                    database.later.remove(&key);
                }
            }
        }
        Ok(())
    }

    fn set_gate(&self, site: i64, address: IpAddr) {
        let gate = address.to_canonical();
        self.lock().change(site, |site| site.gate = Some(gate));
    }

    fn node(&self) -> i64 {
        self.node.get()
    }

    fn lease_insert(&self, site: i64, now: i64, expires: i64) -> Result<i64, StoreError> {
        let id = self.lock().next_id();
        let lease = OwnLease {
            site,
            since: now,
            expires,
            gate: self.gate(site),
        };
        self.leases.borrow_mut().set(id, Some(lease));
        Ok(id)
    }

    fn lease_site(&self, id: i64) -> Result<Option<i64>, StoreError> {
        Ok(self.leases.borrow().site(id))
    }

    fn lease_renew(&self, id: i64, expires: i64) -> Result<bool, StoreError> {
        Ok(self.leases.borrow_mut().renew(id, expires))
    }

    fn lease_delete(&self, id: i64) -> Result<(), StoreError> {
        self.leases.borrow_mut().set(id, None);
        Ok(())
    }

    fn lease_entry(&self, site: &SiteRow) -> Result<Option<LeaseEntry>, StoreError> {
        let database = self.lock();
        let state = database.sites.get(&site.key);
        Ok(state.and_then(|state| {
            let node = database.nodes.get(&state.node?)?;
            Some(LeaseEntry {
                id: state.row.lease? as u64,
                node: node.name.clone(),
                since: state.since,
                expires: node.expires,
            })
        }))
    }

    fn problem_write(&self, site: i64, now: i64, problem: &str) -> Result<(), StoreError> {
        let mut database = self.lock();
        let name = database.sites.get(&site).map(|site| site.row.name.clone());
        let entry = database.problems.entry(site).or_insert(ProblemSite {
            key: SiteKey(site as u64),
            site: name.unwrap_or_default(),
            faults: 0,
            time: now,
            problem: String::new(),
        });
        entry.faults += 1;
        entry.time = now;
        problem.clone_into(&mut entry.problem);
        Ok(())
    }

    fn problem_end(&self, site: i64) -> Result<(), StoreError> {
        self.lock().problems.remove(&site);
        Ok(())
    }

    fn problems(&self) -> Result<Vec<ProblemSite>, StoreError> {
        let mut problems: Vec<ProblemSite> = self.lock().problems.values().cloned().collect();
        problems.sort_by_key(|site| (std::cmp::Reverse(site.time), site.key.0 as i64));
        Ok(problems)
    }

    fn seed_insert(&self, _now: i64, seed: &Seed) -> Result<bool, StoreError> {
        let mut database = self.lock();
        let key = (seed.site_key.0 as i64, seed.path_key.0 as i64);
        let is_new = database.seed_pages.insert(key);
        if is_new {
            let url = format!("{}{}", seed.origin, seed.path);
            database.seeds.push(url);
        }
        Ok(is_new)
    }

    fn seeds(&self) -> Result<Vec<String>, StoreError> {
        Ok(self.lock().seeds.clone())
    }

    fn seeds_has(&self, site: i64, path: i64) -> Result<bool, StoreError> {
        Ok(self.lock().seed_pages.contains(&(site, path)))
    }

    fn seed_settings_write(&self, site: i64, settings: &SeedSettings) -> Result<(), StoreError> {
        let mut database = self.lock();
        database.settings.remove(&site);
        if !settings.is_empty() {
            database.settings.insert(site, *settings);
        }
        Ok(())
    }

    fn seed_settings(&self, site: Option<i64>) -> Result<Vec<SiteSettings>, StoreError> {
        let database = self.lock();
        let all = database.settings.iter();
        let wanted = all.filter(|(key, _)| site.is_none_or(|site| site == **key));
        Ok(wanted
            .map(|(key, settings)| (SiteKey(*key as u64), *settings))
            .collect())
    }

    fn value(&self, name: &str) -> Result<Option<i64>, StoreError> {
        Ok(self.lock().value(name))
    }

    fn set_value(&self, name: &str, value: Option<i64>) -> Result<(), StoreError> {
        let mut database = self.lock();
        match value {
            Some(value) => database.values.insert(name.to_owned(), value),
            None => database.values.remove(name),
        };
        Ok(())
    }

    fn unread_links(
        store: &Store<MemoryTables>,
        site: &SiteRow,
        visit: &mut dyn FnMut(RunLink<'_>) -> Option<()>,
    ) -> Result<(), StoreError> {
        let links = store.tables.lock().inboxes.get(&site.key).cloned();
        if let Some(links) = links {
            links.walk(site.consumed, visit)?;
        }
        Ok(())
    }

    fn is_gathered(store: &Store<MemoryTables>, site: i64, path: u64) -> Result<bool, StoreError> {
        let database = store.tables.lock();
        let mut links = database.journal.links.iter();
        Ok(links.any(|link| link.site == site && link.key == path))
    }
}

/// The keys after this one.
fn from(after: Option<i64>) -> impl std::ops::RangeBounds<i64> {
    use std::ops::Bound::{Excluded, Unbounded};
    (after.map_or(Unbounded, Excluded), Unbounded)
}
