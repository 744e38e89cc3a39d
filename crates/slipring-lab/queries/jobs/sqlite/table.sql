-- Purpose: the published table of jobs: the columns of the framework, and those that the
--   published methods added.
-- Inputs: none.
-- Lock: of a new table.
-- Index: makes the primary key; see index.sql for the other.
CREATE TABLE jobs (
    id integer PRIMARY KEY AUTOINCREMENT NOT NULL,
    queue varchar NOT NULL,
    payload text NOT NULL,
    attempts integer NOT NULL,
    reserved_at integer,
    available_at integer NOT NULL,
    created_at integer NOT NULL,
    version integer NOT NULL DEFAULT 0,
    delete_mark integer NOT NULL DEFAULT 0
)
