-- Purpose: the published table of jobs: the columns of the framework, and those that the
--   published methods added.
-- Inputs: none.
-- Lock: of a new table.
-- Index: makes the primary key; see index.sql for the other.
CREATE TABLE jobs (
    id bigint UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    queue varchar(255) NOT NULL,
    payload longtext NOT NULL,
    attempts tinyint UNSIGNED NOT NULL,
    reserved_at int UNSIGNED,
    available_at int UNSIGNED NOT NULL,
    created_at int UNSIGNED NOT NULL,
    version int UNSIGNED NOT NULL DEFAULT 0,
    delete_mark tinyint NOT NULL DEFAULT 0
) ENGINE=InnoDB
