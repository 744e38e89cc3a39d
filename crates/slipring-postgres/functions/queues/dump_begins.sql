-- Purpose: whether a dump is being made. It takes a snapshot, and then locks on the tables: one that is
--          emptied in between would be empty in the dump, and what has been copied out of it not
--          be there yet. Who empties tables asks, in a transaction after those that copied.
--          Any session may have any name: those count that may read the tables.
-- Inputs:  none.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.dump_begins()
RETURNS boolean LANGUAGE sql VOLATILE AS $$
    SELECT EXISTS (SELECT FROM pg_stat_activity a
        WHERE a.datname = current_database() AND a.application_name LIKE '%dump%'
            AND a.backend_xmin IS NOT NULL
            AND has_table_privilege(a.usesysid, 'slipring.state'::regclass, 'SELECT'))
$$;
