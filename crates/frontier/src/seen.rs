//! The URL-seen test of one site: a set of path keys (F4).

use std::collections::HashSet;

use aranha_url::IdentityBuildHasher;

/// Keys seen so far: eight bytes a page.
pub type Seen = HashSet<u64, IdentityBuildHasher>;
