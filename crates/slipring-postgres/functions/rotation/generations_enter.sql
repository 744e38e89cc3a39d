-- Purpose: what the caller reads of the journal and the shelf from now on is read from the two
--          generations that may hold what is present, and from no other table: see decision 0041.
--          For the function with a search_path of its own that calls it, and those that this calls.
-- Inputs:  none.
-- Lock:    ACCESS SHARE on state and mark of these generations, for which a rotation that empties
--          them is waited for: one table of the journal and one of the shelf stand for all of them,
--          since a rotation locks all before it empties any. As long as they are held, neither
--          sequence gets past these generations.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.generations_enter()
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_journal bigint;
    v_shelf bigint;
BEGIN
    IF NOT slipring.read_committed() THEN
        -- An older snapshot may have its newest state in any of the tables.
        LOCK TABLE slipring.state, slipring.mark IN ACCESS SHARE MODE;
        RETURN;
    END IF;
    LOOP
        v_journal := pg_sequence_last_value('slipring.journal_low');
        v_shelf := pg_sequence_last_value('slipring.shelf_low');
        PERFORM set_config('search_path', 'pg_catalog, slipring_journal_' || v_journal % 3
            || ', slipring_shelf_' || v_shelf % 3 || ', slipring, pg_temp', true);
        LOCK TABLE state, mark IN ACCESS SHARE MODE;
        -- Those of the oldest were not emptied before, and are not from now on.
        EXIT WHEN pg_sequence_last_value('slipring.journal_low') = v_journal
            AND pg_sequence_last_value('slipring.shelf_low') = v_shelf;
    END LOOP;
END $$;
