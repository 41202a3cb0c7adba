//! The URL-seen test of one site: a set of path keys (F4).

use std::collections::HashSet;

use aranha_url::IdentityBuildHasher;

/// Path keys of a site, 8 bytes per page.
pub type Seen = HashSet<u64, IdentityBuildHasher>;
