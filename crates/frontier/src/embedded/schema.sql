-- The tables of frontier.db, layout 8 (the same tables as in layout 7). docs/decisions/0002-frontier-layout.md
-- describes the encoding of the blobs, and 0007-runs.md that of the journal. Link runs are files beside the database
-- (link_run_file.rs).
--
-- Keys of sites and paths are 64-bit hashes, stored as signed integers. A block is a blob with the data of many pages
-- or links. Blocks form a chain: a row of `sites` has the id of the newest block, and each block has the id of the
-- previous one (0 = none).

CREATE TABLE sites (
    key INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    origin TEXT NOT NULL,        -- preferred origin; if it ends in '/' or '.', `name` is to be appended
    class INTEGER NOT NULL,      -- 0 seed, never visited; 4 seed, visited; 1 found by links; with only revisits to do:
                                 -- 2 seed, 3 found by links
    due INTEGER,                 -- can be leased from this time on; NULL if leased, idle or blocked
    free INTEGER NOT NULL,       -- end of the courtesy pause
    lease INTEGER,               -- id of the lease
    blocked INTEGER NOT NULL,
    inbox INTEGER NOT NULL,      -- 1 if link runs newer than `consumed` have links to the site
    consumed INTEGER NOT NULL,   -- newest link run whose links were merged
    held INTEGER NOT NULL,       -- pages in the window
    queued INTEGER NOT NULL,     -- pages in `pending`
    later INTEGER NOT NULL,      -- pages in `later` that wait for a retry
    later_due INTEGER,           -- earliest due time of these pages
    known INTEGER NOT NULL,      -- admitted pages
    records INTEGER NOT NULL,    -- page records
    pages INTEGER NOT NULL,      -- newest block in `pages`
    keys INTEGER NOT NULL,       -- newest block in `keys`
    key_blocks INTEGER NOT NULL, -- number of blocks of keys ever appended
    again INTEGER NOT NULL,      -- pages in `later` that wait for a revisit
    again_due INTEGER,           -- earliest due time of these pages
    window INTEGER NOT NULL,     -- newest block in `held`
    window_blocks INTEGER NOT NULL, -- number of blocks in the chain of the window
    window_pages INTEGER NOT NULL   -- number of pages in that chain, including pages that left the window
);
CREATE INDEX sites_due ON sites (class, due) WHERE due IS NOT NULL;

CREATE TABLE facts (site INTEGER PRIMARY KEY, facts BLOB NOT NULL);

-- Blocks of page records, one per check-in.
CREATE TABLE pages (id INTEGER PRIMARY KEY, site INTEGER NOT NULL, previous INTEGER NOT NULL, records BLOB NOT NULL);

-- Blocks of keys of admitted pages.
CREATE TABLE keys (id INTEGER PRIMARY KEY, site INTEGER NOT NULL, previous INTEGER NOT NULL, keys BLOB NOT NULL);

-- Blocks of the window. The window consists of the last `sites.held` pages of the chain.
CREATE TABLE held (
    id INTEGER PRIMARY KEY,
    site INTEGER NOT NULL,
    previous INTEGER NOT NULL,
    count INTEGER NOT NULL,      -- pages of the block
    pages BLOB NOT NULL
);

-- Blocks of the queue behind the window, in order of id.
CREATE TABLE pending (id INTEGER PRIMARY KEY, site INTEGER NOT NULL, pages BLOB NOT NULL);
CREATE INDEX pending_site ON pending (site);

-- Blocks of pages that wait until their due time: retries and revisits.
CREATE TABLE later (
    id INTEGER PRIMARY KEY,
    site INTEGER NOT NULL,
    again INTEGER NOT NULL,      -- 0 for retries, 1 for revisits
    due INTEGER NOT NULL,        -- earliest due time of the block
    pages BLOB NOT NULL
);
CREATE INDEX later_site ON later (site, again, due);

CREATE TABLE leases (id INTEGER PRIMARY KEY AUTOINCREMENT, site INTEGER NOT NULL, node TEXT NOT NULL,
                     since INTEGER NOT NULL, expires INTEGER NOT NULL);
CREATE INDEX leases_expires ON leases (expires);

-- Problem sites: sites whose last visit was ended by a fault of the crawler. A visit that ends normally deletes the
-- row.
CREATE TABLE problems (
    site INTEGER PRIMARY KEY,
    faults INTEGER NOT NULL,     -- visits in a row that were ended by a fault
    time INTEGER NOT NULL,       -- time of the last fault
    problem TEXT NOT NULL        -- the last fault, as a sentence
);

CREATE TABLE seeds (id INTEGER PRIMARY KEY, url TEXT NOT NULL, site INTEGER NOT NULL, path INTEGER NOT NULL,
                    time INTEGER NOT NULL, UNIQUE (site, path));

-- What the user has set for the seeds of a site; NULL = not set. Sites without settings have no row.
CREATE TABLE seed_settings (
    site INTEGER PRIMARY KEY,
    depth INTEGER,               -- maximum link depth
    every INTEGER,               -- interval after the first visit of a page, milliseconds
    max_every INTEGER            -- longest interval between two visits of a page, milliseconds
);

-- Gathered links that are not yet in a complete link run.
CREATE TABLE journal (id INTEGER PRIMARY KEY AUTOINCREMENT, links BLOB NOT NULL);

-- Link runs, one row per file.
CREATE TABLE runs (
    run INTEGER PRIMARY KEY AUTOINCREMENT,
    level INTEGER NOT NULL,
    last INTEGER NOT NULL,       -- newest link run of level 0 whose links this one contains
    links INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    journal INTEGER NOT NULL,    -- while it is written: newest journal entry with links of this run
    upto INTEGER                 -- while it is written: last site key written so far; NULL if complete
);

CREATE TABLE totals (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;

-- Page records by outcome. `outcome` is code * 65536 + HTTP status.
CREATE TABLE outcomes (outcome INTEGER PRIMARY KEY, count INTEGER NOT NULL);
