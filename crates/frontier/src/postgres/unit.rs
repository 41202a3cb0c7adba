//! The rows and blocks of one transaction, in memory. Rows that a transaction reads are kept. Its writes are collected,
//! so that each table needs one statement.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::net::IpAddr;

use super::later::FirstLater;
use super::link_runs::LinkRun;
use crate::sites::site_row::SiteRow;

/// A row of `sites`, as it is in the transaction.
#[derive(Debug)]
pub(super) struct SiteState {
    /// `None` if the site is unknown.
    pub(super) row: Option<SiteRow>,
    pub(super) class: i64,
    /// Lease, node and time of the check-out, as they were read.
    pub(super) lease: Option<i64>,
    pub(super) node: Option<i64>,
    pub(super) since: Option<i64>,
    /// The address at which the site was last visited, and whether the site waits in line for its gate (`gates.rs`).
    pub(super) gate: Option<IpAddr>,
    pub(super) in_line: bool,
    pub(super) is_new: bool,
    pub(super) is_changed: bool,
}

/// A block of a chain: the id of the previous block, the number of pages, and the bytes.
#[derive(Clone, Debug)]
pub(super) struct ChainBlock {
    pub(super) previous: i64,
    pub(super) count: i64,
    pub(super) bytes: Vec<u8>,
}

/// The blocks of a table of chains.
#[derive(Debug, Default)]
pub(super) struct ChainBlocks {
    pub(super) known: HashMap<i64, ChainBlock>,
    /// Id and site of the blocks to insert. Their content is in `known`.
    pub(super) new: BTreeMap<i64, i64>,
    pub(super) deleted: Vec<i64>,
}

impl ChainBlocks {
    pub(super) fn insert(&mut self, id: i64, site: i64, block: ChainBlock) {
        self.known.insert(id, block);
        self.new.insert(id, site);
    }

    pub(super) fn delete(&mut self, id: i64) {
        self.known.remove(&id);
        if self.new.remove(&id).is_none() {
            self.deleted.push(id);
        }
    }
}

/// The queue of a site.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// The first blocks of the stored queue.
    pub(super) front: VecDeque<(i64, Vec<u8>)>,
    /// The id of the last block that was read.
    pub(super) read_upto: i64,
    /// Whether all stored blocks were read.
    pub(super) is_complete: bool,
    /// Blocks to append. Until they are written, their ids are negative.
    pub(super) new: VecDeque<(i64, Vec<u8>)>,
    /// The rest of the first block, if pages were taken from it.
    pub(super) updated: Option<i64>,
    pub(super) deleted: Vec<i64>,
}

/// The first blocks of a link run with links to a site.
#[derive(Debug, Default)]
pub(super) struct FirstLinks {
    pub(super) blocks: Vec<Vec<u8>>,
    /// Number of the last of these blocks.
    pub(super) last: i64,
}

/// A block of `later` to insert: id, site, kind, due time, pages.
pub(super) type LaterRow = (i64, i64, i16, i64, Vec<u8>);

/// The rows and blocks of a transaction.
#[derive(Debug, Default)]
pub(super) struct Unit {
    /// Whether a writing transaction is under way. Without one, nothing is kept.
    pub(super) is_writing: bool,
    pub(super) sites: BTreeMap<i64, SiteState>,
    pub(super) facts: HashMap<i64, Option<Vec<u8>>>,
    pub(super) new_facts: BTreeSet<i64>,
    /// Id, site, id of the previous block, records.
    pub(super) pages: Vec<(i64, i64, i64, Vec<u8>)>,
    pub(super) keys: ChainBlocks,
    pub(super) held: ChainBlocks,
    pub(super) queues: BTreeMap<i64, Queue>,
    /// Size in bytes of the blocks that were appended to queues and are not written yet.
    pub(super) new_queues: usize,
    /// Change of the number of links in each journal.
    pub(super) journals: [i64; 2],
    pub(super) later: Vec<LaterRow>,
    /// The first blocks of waiting pages, by site and kind.
    pub(super) first_later: HashMap<(i64, i16), FirstLater>,
    pub(super) deleted_later: Vec<i64>,
    /// Sites whose visit has ended normally.
    pub(super) ended: Vec<i64>,
    /// Seeds that this transaction has inserted: site and path.
    pub(super) new_seeds: HashSet<(i64, i64)>,
    /// The link runs, oldest first; `None` until they were read.
    pub(super) runs: Option<Vec<LinkRun>>,
    /// The first blocks with links to a site in a run, in order.
    pub(super) links: HashMap<(i64, i64), FirstLinks>,
    /// The sites whose links were read into `links`.
    pub(super) links_read: HashSet<i64>,
}
