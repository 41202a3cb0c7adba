//! What the nodes of one crawl share beside sites and pages: the nodes themselves, their folders, the horizon, and texts
//! such as the black list.
//!
//! A frontier for several nodes implements [`SharedCrawl`], which [`crate::Frontier::shared`] returns. A frontier of
//! one machine does not, because the folder of its collection contains this data.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use serde::Serialize;

use crate::FrontierError;

/// Name of the text with the black list: the content of `blacklist.txt`.
pub const BLACKLIST: &str = "blacklist.txt";
/// Name of the text with the settings of the crawl: the content of `aranha.toml`.
pub const SETTINGS: &str = "aranha.toml";
/// Name of the text with what `aranha forget` has deleted: one JSON object per line, as in `forgotten.jsonl`.
pub const FORGOTTEN: &str = "forgotten.jsonl";
/// Name of the text with the rules for links of the last crawl: the content of `link-rules.toml`.
pub const LINK_RULES: &str = "link-rules.toml";

/// The state of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeState {
    /// The node visits sites.
    Alive,
    /// The node finishes its visits, and then ends.
    Draining,
    /// The node ended normally.
    Left,
    /// The node gave no sign of life in time. Another node has released its sites, or will do so soon.
    Dead,
}

impl NodeState {
    /// The name of the state.
    pub fn name(self) -> &'static str {
        match self {
            NodeState::Alive => "alive",
            NodeState::Draining => "draining",
            NodeState::Left => "left",
            NodeState::Dead => "dead",
        }
    }
}

/// A node of the crawl.
#[derive(Clone, PartialEq, Debug)]
pub struct NodeEntry {
    /// Number of the node. Each start of a process is a new node.
    pub number: i64,
    /// Name of the node.
    pub name: String,
    /// Machine and folder of its volumes.
    pub place: String,
    /// State.
    pub state: NodeState,
    /// When the node joined, in unix milliseconds on the clock of the database.
    pub since: i64,
    /// Milliseconds since the node's last sign of life.
    pub silent: i64,
    /// Milliseconds until the node counts as dead; negative if that time has passed.
    pub expires_in: i64,
    /// Pages that the node has fetched, as of its last sign of life.
    pub pages: u64,
    /// Pages per second over the last seconds, as of its last sign of life.
    pub pages_per_second: f64,
    /// Sites that the node holds now.
    pub leases: u64,
}

/// A folder in which a node stores volumes. Its number is a part of every volume's name and of every
/// [`crate::Location`], so that the locations of the crawl are unique.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FolderEntry {
    /// Number of the folder.
    pub number: u32,
    /// Name of the node that used the folder last.
    pub node: String,
    /// Machine and path.
    pub place: String,
}

/// A text that all nodes share.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SharedText {
    /// Each change of any text gets a higher version than all changes before.
    pub version: i64,
    /// The text.
    pub text: String,
}

/// What has changed in the crawl. Reading it takes one statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct News {
    /// Whether this node was asked to finish its visits and end.
    pub is_draining: bool,
    /// The newest version of any text.
    pub texts: i64,
    /// The number of the newest seed.
    pub seeds: i64,
    /// The common horizon, on the clock of the database. `None` if no crawl has set one yet.
    pub horizon: Option<i64>,
}

/// What a node reports about itself. The next sign of life writes it to the database.
#[derive(Debug, Default)]
pub struct NodeReport {
    pages: AtomicU64,
    /// Pages per second, as the bits of a floating-point number.
    rate: AtomicU64,
}

impl NodeReport {
    /// Sets the number of fetched pages, and the current rate in pages per second.
    pub fn set(&self, pages: u64, rate: f64) {
        self.pages.store(pages, Relaxed);
        self.rate.store(rate.to_bits(), Relaxed);
    }

    pub(crate) fn pages(&self) -> u64 {
        self.pages.load(Relaxed)
    }

    pub(crate) fn rate(&self) -> f64 {
        f64::from_bits(self.rate.load(Relaxed))
    }
}

/// Operations on the data that the nodes of a crawl share.
pub trait SharedCrawl {
    /// The number of the folder of this node ([`FolderEntry::number`]); 0 if it has none.
    fn folder(&self) -> u32;

    /// The report of this node, which the engine keeps up to date.
    fn report(&self) -> Arc<NodeReport>;

    /// Reads what has changed, with one statement.
    fn news(&mut self) -> Result<News, FrontierError>;

    /// Set the horizon of all nodes ([`crate::Frontier::revisit_until`]).
    fn set_horizon(&mut self, now: i64, horizon: i64) -> Result<(), FrontierError>;

    /// Use the horizon that another node has set ([`News::horizon`]).
    fn follow_horizon(&mut self, horizon: i64);

    /// The seeds after the seed with the number `after`, with the number of the last.
    fn seeds_after(&mut self, after: i64) -> Result<(i64, Vec<String>), FrontierError>;

    /// The text with this name, if there is one.
    fn text(&mut self, name: &str) -> Result<Option<SharedText>, FrontierError>;

    /// Change the text with this name, in one transaction. `change` gets the current text (empty if there is none) and
    /// returns the new text, or `None` to keep the current one. The call returns the text after the change.
    fn change_text(
        &mut self,
        name: &str,
        change: &mut dyn FnMut(&str) -> Option<String>,
    ) -> Result<SharedText, FrontierError>;
}

/// Reads the data that the nodes of a crawl share.
pub(crate) trait SharedReader {
    fn nodes(&self) -> Result<Vec<NodeEntry>, FrontierError>;
    fn folders(&self) -> Result<Vec<FolderEntry>, FrontierError>;
    fn text(&self, name: &str) -> Result<Option<SharedText>, FrontierError>;
}
