-- Layout 2: what `aranha nodes` shows, the folders of volumes, and the texts that all nodes share.
ALTER TABLE nodes
    ADD folder int8,                              -- folder of its volumes; NULL for a command that only changes something
    ADD is_draining bool NOT NULL DEFAULT false,  -- it was asked to finish its visits and end
    ADD has_left bool NOT NULL DEFAULT false,     -- it ended in order
    ADD pages int8 NOT NULL DEFAULT 0,            -- pages that it has fetched
    ADD rate float8 NOT NULL DEFAULT 0,           -- pages per second
    ADD renewed int8 NOT NULL DEFAULT 0;          -- last sign of life

-- Folders with volumes. The number is part of the name of each volume.
CREATE TABLE folders (
    folder int8 PRIMARY KEY,
    node text NOT NULL,           -- name of the node that used it last
    place text NOT NULL           -- machine and path
);
CREATE SEQUENCE folder_ids;

-- Texts that all nodes share. Every change takes a new version.
CREATE TABLE texts (name text PRIMARY KEY, version int8 NOT NULL, content text NOT NULL);
CREATE SEQUENCE text_versions;

INSERT INTO named_values VALUES ('crawl', (random() * 9e15)::int8);
