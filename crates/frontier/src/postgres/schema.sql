-- The tables of a frontier in PostgreSQL, layout 1. They are in a schema of their own, so that several crawls can share a
-- database. The encoding of the blobs is that of the embedded engine: docs/decisions/0002-frontier-layout.md.
--
-- Keys of sites and paths are 64-bit hashes, stored as signed integers. A block is a blob with the data of many pages
-- or links. Blocks form a chain: a row of `sites` has the id of the newest block, and each block has the id of the
-- previous one (0 = none). Nodes take ids from a sequence in steps, so the ids of a chain are not in ascending order.

-- Nodes: each opening of the frontier is a node of its own. A node that does not renew `expires` in time is declared
-- dead by another node, which gives its sites back.
CREATE TABLE nodes (
    node int8 PRIMARY KEY,
    name text NOT NULL,
    since int8 NOT NULL,          -- unix milliseconds on the clock of the database
    expires int8 NOT NULL,        -- the same
    alive bool NOT NULL,
    successor int8,               -- node that has taken over the leases of this one
    folder int8,                  -- folder of its volumes; NULL for a command that only changes something
    is_draining bool NOT NULL DEFAULT false,  -- it was asked to finish its visits and end
    has_left bool NOT NULL DEFAULT false,     -- it ended in order
    pages int8 NOT NULL DEFAULT 0,            -- pages that it has fetched
    rate float8 NOT NULL DEFAULT 0,           -- pages per second
    renewed int8 NOT NULL DEFAULT 0           -- last sign of life
);
CREATE INDEX nodes_alive ON nodes (expires) WHERE alive;
CREATE SEQUENCE node_ids;

-- Folders with volumes. The number is part of the name of each volume.
CREATE TABLE folders (
    folder int8 PRIMARY KEY,
    node text NOT NULL,           -- name of the node that used it last
    place text NOT NULL           -- machine and path
);
CREATE SEQUENCE folder_ids;

-- Texts that all nodes share. Every change increases the version.
CREATE TABLE texts (name text PRIMARY KEY, version int8 NOT NULL, content text NOT NULL);
CREATE SEQUENCE text_versions;
-- The number of the newest stored group of check-ins of each node.
CREATE TABLE taken (node int8 PRIMARY KEY, number int8 NOT NULL) WITH (fillfactor = 50);

-- Gates of addresses: only the node that owns the gate of an address sends requests to it.
CREATE TABLE gates (
    gate inet PRIMARY KEY,
    node int8,                    -- owner; NULL if there is none
    free int8 NOT NULL,           -- no request before this time
    line bool NOT NULL            -- whether sites may be in line for it
) WITH (fillfactor = 50);
CREATE INDEX gates_node ON gates (node);
CREATE INDEX gates_line ON gates (node) WHERE line;

CREATE TABLE sites (
    key int8 PRIMARY KEY,
    name text NOT NULL,
    origin text NOT NULL,        -- preferred origin; if it ends in '/' or '.', `name` is to be appended
    class int2 NOT NULL,         -- 0 seed, never visited; 4 seed, visited; 1 found by links; with only revisits to do:
                                 -- 2 seed, 3 found by links
    due int8,                    -- can be leased from this time on; NULL if leased, idle or blocked
    free int8 NOT NULL,          -- end of the courtesy pause
    lease int8,                  -- id of the lease
    blocked bool NOT NULL,
    inbox bool NOT NULL,         -- whether link runs newer than `consumed` have links to the site
    consumed int8 NOT NULL,      -- newest link run whose links were merged
    held int8 NOT NULL,          -- pages in the window
    queued int8 NOT NULL,        -- pages in `pending`
    later int8 NOT NULL,         -- pages in `later` that wait for a retry
    later_due int8,              -- earliest due time of these pages
    known int8 NOT NULL,         -- admitted pages
    records int8 NOT NULL,       -- page records
    pages int8 NOT NULL,         -- newest block in `pages`
    keys int8 NOT NULL,          -- newest block in `keys`
    key_blocks int8 NOT NULL,    -- number of blocks of keys ever appended
    again int8 NOT NULL,         -- pages in `later` that wait for a revisit
    again_due int8,              -- earliest due time of these pages
    win int8 NOT NULL,           -- newest block in `held`
    win_blocks int8 NOT NULL,    -- number of blocks in the chain of the window
    win_pages int8 NOT NULL,     -- number of pages in that chain, including pages that left the window
    node int8,                   -- node that holds the lease
    since int8,                  -- time of the check-out
    gate inet,                   -- address at which the site was last visited
    in_line bool NOT NULL        -- whether the site waits for its gate, and not in the queue of due sites
) WITH (fillfactor = 80);
CREATE INDEX sites_due ON sites (class, due) WHERE due IS NOT NULL AND NOT in_line;
CREATE INDEX sites_line ON sites (gate, due) WHERE in_line;
CREATE INDEX sites_node ON sites (node) WHERE node IS NOT NULL;

CREATE TABLE facts (site int8 PRIMARY KEY, facts bytea NOT NULL);

-- Ids of blocks. A node takes 4,096 ids at a time.
CREATE SEQUENCE block_ids INCREMENT 4096;

CREATE TABLE pages (id int8 PRIMARY KEY, site int8 NOT NULL, previous int8 NOT NULL, records bytea NOT NULL);
CREATE TABLE keys (id int8 PRIMARY KEY, site int8 NOT NULL, previous int8 NOT NULL, keys bytea NOT NULL);
CREATE TABLE held (id int8 PRIMARY KEY, site int8 NOT NULL, previous int8 NOT NULL, count int8 NOT NULL, pages bytea NOT NULL);

-- Blocks of the queue behind the window, in order of id. The id is taken when the row is inserted, while the row of the
-- site is locked. So the ids of a site are in ascending order, whichever node inserts them.
CREATE TABLE pending (site int8 NOT NULL, id int8 NOT NULL, pages bytea NOT NULL, PRIMARY KEY (site, id));
CREATE SEQUENCE queue_ids;

-- Blocks of pages that wait until their due time: retries (again = 0) and revisits (1).
CREATE TABLE later (id int8 PRIMARY KEY, site int8 NOT NULL, again int2 NOT NULL, due int8 NOT NULL, pages bytea NOT NULL);
CREATE INDEX later_site ON later (site, again, due);

CREATE TABLE problems (site int8 PRIMARY KEY, faults int4 NOT NULL, time int8 NOT NULL, problem text NOT NULL);

CREATE TABLE seeds (id int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY, url text NOT NULL, site int8 NOT NULL,
                    path int8 NOT NULL, time int8 NOT NULL, UNIQUE (site, path));

-- What the user has set for the seeds of a site; null = not set. Sites without settings have no row.
CREATE TABLE seed_settings (
    site int8 PRIMARY KEY,
    depth int8,                   -- maximum link depth
    every int8,                   -- interval after the first visit of a page, milliseconds
    max_every int8                -- longest interval between two visits of a page, milliseconds
);

-- Link runs. The links of a run are in the table run_SLOT.
CREATE TABLE runs (
    run int8 PRIMARY KEY,
    slot int4 NOT NULL UNIQUE,
    level int8 NOT NULL,
    last int8 NOT NULL,           -- newest link run of level 0 whose links this one contains
    links int8 NOT NULL,
    bytes int8 NOT NULL,
    upto int8                     -- last site that was announced; NULL if all sites were
);
CREATE SEQUENCE run_ids;

-- The unfinished merge of link runs; at most one row. Its links are in the table run_SLOT.
CREATE TABLE merges (
    slot int4 PRIMARY KEY,
    node int8 NOT NULL,           -- node that made the last step
    sources int8[] NOT NULL,      -- link runs that are merged
    upto int8,                    -- last site whose links were merged; NULL if all were
    parts int8 NOT NULL,          -- number of blocks written
    links int8 NOT NULL,
    bytes int8 NOT NULL
);

-- Single named values; `journal` is the number of the journal that takes new links.
CREATE TABLE named_values (name text PRIMARY KEY, value int8 NOT NULL);
-- `crawl` distinguishes this crawl from others, and `horizon` is the common horizon.
INSERT INTO named_values VALUES ('journal', 0), ('crawl', (random() * 9e15)::int8);

-- Totals: the sum over all nodes. Each node adds to rows of its own, so that nodes do not wait for each other.
CREATE TABLE totals (node int8 NOT NULL, name text NOT NULL, value int8 NOT NULL, PRIMARY KEY (node, name)) WITH (fillfactor = 50);
CREATE TABLE outcomes (node int8 NOT NULL, outcome int8 NOT NULL, count int8 NOT NULL, PRIMARY KEY (node, outcome)) WITH (fillfactor = 50);

-- Rows of these tables are changed or deleted all the time, most of all those of due sites. The default settings would
-- start a vacuum only when a fifth of the rows of a table are dead.
ALTER TABLE sites SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 100000);
ALTER TABLE keys SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 100000);
ALTER TABLE held SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 100000);
ALTER TABLE pending SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 100000);
ALTER TABLE later SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 100000);
ALTER TABLE keys SET (toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 100000);
ALTER TABLE held SET (toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 100000);
ALTER TABLE pending SET (toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 100000);
ALTER TABLE later SET (toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 100000);

-- Blobs are compressed by aranha.
ALTER TABLE facts ALTER facts SET STORAGE EXTERNAL;
ALTER TABLE pages ALTER records SET STORAGE EXTERNAL;
ALTER TABLE keys ALTER keys SET STORAGE EXTERNAL;
ALTER TABLE held ALTER pages SET STORAGE EXTERNAL;
ALTER TABLE pending ALTER pages SET STORAGE EXTERNAL;
ALTER TABLE later ALTER pages SET STORAGE EXTERNAL;

-- Links to other sites that are in no link run yet, unsorted. Two tables take turns: one takes new links while the
-- other is sorted and truncated. Link runs are sorted blocks. Their tables are truncated after a merge.
DO $$
BEGIN
    FOR slot IN 0..1 LOOP
        EXECUTE format('CREATE TABLE journal_%s (links bytea NOT NULL, count int8 NOT NULL) WITH (autovacuum_enabled = false)', slot);
        EXECUTE format('ALTER TABLE journal_%s ALTER links SET STORAGE EXTERNAL', slot);
    END LOOP;
    FOR slot IN 0..95 LOOP
        EXECUTE format('CREATE TABLE run_%s (first int8 NOT NULL, part int8 NOT NULL, links bytea NOT NULL) WITH (autovacuum_enabled = false)', slot);
        EXECUTE format('CREATE INDEX run_%s_first ON run_%s (first, part)', slot, slot);
        EXECUTE format('CREATE INDEX run_%s_part ON run_%s (part)', slot, slot);
        EXECUTE format('ALTER TABLE run_%s ALTER links SET STORAGE EXTERNAL', slot);
    END LOOP;
END $$;
