-- Purpose: the published table of jobs: the columns of the framework, and those that the
--   published methods added.
-- Inputs: none.
-- Lock: of a new table.
-- Index: makes the primary key; see index.sql for the other.
CREATE TABLE jobs (
    id bigserial PRIMARY KEY,
    queue varchar(255) NOT NULL,
    payload text NOT NULL,
    attempts smallint NOT NULL,
    reserved_at integer,
    available_at integer NOT NULL,
    created_at integer NOT NULL,
    version integer NOT NULL DEFAULT 0,
    delete_mark smallint NOT NULL DEFAULT 0
)
