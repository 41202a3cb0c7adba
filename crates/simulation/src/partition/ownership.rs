//! The static owners of partitions, the links that nodes send each other, and what the death of a node moves.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{Assignment, Model, Partition, RING_POINTS, Url, hash, url_key};
use crate::page;

impl Model<'_> {
    pub(super) fn ring(&self, nodes: u32) -> BTreeMap<u64, u32> {
        let points = (0..nodes).flat_map(|node| (0..RING_POINTS).map(move |point| (node, point)));
        points
            .map(|(node, point)| {
                let key = u64::from(node) << 32 | point | 1 << 63;
                (hash(self.plan.seed, key), node)
            })
            .collect()
    }

    /// The partition of a URL, as the key of a static assignment.
    pub(super) fn unit_key(&self, url: Url) -> u64 {
        match self.strategy.partition {
            Partition::Page => url_key(url),
            Partition::Site | Partition::GatedSite => u64::from(url.0),
            Partition::Address => self.addresses[url.0 as usize] as u64,
        }
    }

    pub(super) fn is_static(&self) -> bool {
        matches!(
            self.strategy.assignment,
            Assignment::Hash | Assignment::Ring
        )
    }

    /// The owners of many partitions.
    pub(super) fn owners(&self, keys: impl Iterator<Item = u64>) -> Vec<u32> {
        self.owners_among(keys, self.strategy.nodes, None)
    }

    /// The owners of many partitions among `nodes` nodes, of which one may be dead.
    fn owners_among(
        &self,
        keys: impl Iterator<Item = u64>,
        nodes: u32,
        dead: Option<u32>,
    ) -> Vec<u32> {
        if self.strategy.assignment == Assignment::Hash {
            let alive = u64::from(nodes - u32::from(dead.is_some()));
            let owner = |key| (hash(self.plan.seed, key) % alive) as u32;
            return keys.map(owner).collect();
        }
        let mut ring = self.ring(nodes);
        ring.retain(|_, node| Some(*node) != dead);
        keys.map(|key| {
            let position = hash(self.plan.seed, key);
            let next = ring.range(position..).next().or(ring.first_key_value());
            next.map_or(0, |(_, node)| *node)
        })
        .collect()
    }

    /// The share of the URLs that get another node if the first node dies now.
    pub(super) fn reassigned(&self, total: u64) -> f64 {
        if self.strategy.nodes == 1 {
            // There is no other node.
            return 0.0;
        }
        if self.is_static() {
            let urls = || {
                let sites = self.sites.iter();
                sites.flat_map(|site| (0..site.pages).map(|page| (site.number, page)))
            };
            let keys = || urls().map(|url| self.unit_key(url));
            let before = self.owners(keys());
            let after = self.owners_among(keys(), self.strategy.nodes, Some(0));
            let last = self.strategy.nodes - 1;
            // With a modulus the nodes are numbered anew, so the last number takes the place of the first.
            let moved = before.iter().zip(&after).filter(|(before, after)| {
                let after = match self.strategy.assignment {
                    Assignment::Hash if **after == 0 => last,
                    _ => **after,
                };
                **before != after
            });
            return moved.count() as f64 / total as f64;
        }
        let first = &self.workers[..self.strategy.workers as usize];
        let held = first.iter().filter_map(|worker| worker.work.as_ref());
        let held: usize = held.map(|work| work.urls.len()).sum();
        let queued = self.node_queues[0].iter();
        let queued: usize = queued.map(|unit| self.units[*unit as usize].len()).sum();
        (held + queued) as f64 / total as f64
    }

    /// Counts the links that nodes send, and the DNS questions that they need for that.
    pub(super) fn count_links(&mut self) {
        let mut asked: HashSet<(u32, u32)> = HashSet::new();
        let mut owners: HashMap<u64, u32> = HashMap::new();
        let ring = self.ring(self.strategy.nodes);
        let nodes = u64::from(self.strategy.nodes);
        let is_hash = self.strategy.assignment == Assignment::Hash;
        let seed = self.plan.seed;
        let mut owner = |key: u64| {
            *owners.entry(key).or_insert_with(|| {
                let position = hash(seed, key);
                if is_hash {
                    return (position % nodes) as u32;
                }
                let next = ring.range(position..).next().or(ring.first_key_value());
                next.map_or(0, |(_, node)| *node)
            })
        };
        for site in &self.sites {
            for number in 0..site.pages {
                let from = (site.number, number);
                for to in page::links(self.plan, site, number) {
                    let is_inside = match self.strategy.partition {
                        Partition::Page => to == from,
                        Partition::Site | Partition::GatedSite => to.0 == from.0,
                        Partition::Address => {
                            self.addresses[to.0 as usize] == self.addresses[from.0 as usize]
                        }
                    };
                    let has_address = self.strategy.partition == Partition::Address;
                    if has_address && self.is_static() && to.0 != from.0 {
                        // The node must know the address of the other site, to know its owner. With a common frontier
                        // that is asked once for all, and the answer goes with the site.
                        asked.insert((owner(self.unit_key(from)), to.0));
                    }
                    if is_inside {
                        continue;
                    }
                    if !self.is_static() {
                        self.cost.links_to_frontier += 1;
                    } else if owner(self.unit_key(from)) != owner(self.unit_key(to)) {
                        self.cost.links_to_nodes += 1;
                    }
                }
            }
        }
        // A node that also fetches the site asks only once.
        let both = asked.iter().filter(|pair| self.known_names.contains(*pair));
        let both = both.count() as u64;
        self.cost.dns_for_links = asked.len() as u64 - both;
    }
}
