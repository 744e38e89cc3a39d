-- Purpose: brings all rows of the journal and the shelf into the tables that are written, in a
--          database that was restored: a dump has rows as they were when it began, but the numbers
--          of the generations as of later, so that some may be in tables that nobody reads.
-- Inputs:  none.
-- Lock:    none; the caller sees to it that no other session uses the store, see store_import.
-- Index:   all indexes of those tables grow.
CREATE OR REPLACE FUNCTION slipring.generations_gather()
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_group record;
    v_slot int;
BEGIN
    -- What was entered for transactions that were open then: it may be there more than once.
    DELETE FROM slipring.ack WHERE id < 0;
    FOR v_group IN
        SELECT 'slipring.journal' AS now, 'slipring.journal_low' AS low,
            ARRAY['state', 'lease', 'ack'] AS tables
        UNION ALL
        SELECT 'slipring.shelf', 'slipring.shelf_low', slipring.shelf_tables()
    LOOP
        v_slot := pg_sequence_last_value(v_group.now) % 3;
        FOR v_at IN 1..cardinality(v_group.tables) LOOP
            EXECUTE format('UPDATE slipring.%s SET slot = %s WHERE slot <> %2$s',
                v_group.tables[v_at], v_slot);
            EXECUTE format('TRUNCATE slipring.%1$s_%2$s, slipring.%1$s_%3$s',
                v_group.tables[v_at], (v_slot + 1) % 3, (v_slot + 2) % 3);
        END LOOP;
        PERFORM setval(v_group.low, pg_sequence_last_value(v_group.now));
    END LOOP;
    UPDATE slipring.state SET journal = pg_sequence_last_value('slipring.journal')
    WHERE journal <> pg_sequence_last_value('slipring.journal');
END $$;
