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
    v_columns text;
BEGIN
    -- The hand-outs were folded, or are, by whoever has the queue's lock next.
    ALTER TABLE slipring.lease DISABLE TRIGGER taken_fold;
    FOR v_group IN
        SELECT 'slipring.journal' AS now, 'slipring.journal_low' AS low,
            slipring.journal_tables() AS tables
        UNION ALL
        SELECT 'slipring.shelf', 'slipring.shelf_low', slipring.shelf_tables()
    LOOP
        v_slot := pg_sequence_last_value(v_group.now) % 3;
        FOR v_at IN 1..cardinality(v_group.tables) LOOP
            v_columns := (SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum)
                FROM pg_attribute a
                WHERE a.attrelid = ('slipring.' || v_group.tables[v_at])::regclass
                    AND a.attnum > 0 AND NOT a.attisdropped AND a.attname <> 'slot');
            -- By rows that are added: a table without a primary key that is published allows no
            -- other way. What was entered with a number below zero was for transactions that were
            -- open then, and may be there more than once.
            EXECUTE format('CREATE TEMP TABLE slipring_gathered ON COMMIT DROP AS
                SELECT %s FROM slipring.%s WHERE %s', v_columns, v_group.tables[v_at],
                CASE WHEN v_group.tables[v_at] = 'ack' THEN 'id >= 0' ELSE 'slot <> ' || v_slot END);
            EXECUTE CASE WHEN v_group.tables[v_at] = 'ack' THEN 'TRUNCATE slipring.ack'
                ELSE format('TRUNCATE slipring.%1$s_%2$s, slipring.%1$s_%3$s',
                    v_group.tables[v_at], (v_slot + 1) % 3, (v_slot + 2) % 3) END;
            EXECUTE format('INSERT INTO slipring.%s (slot, %s) SELECT %s, * FROM
                pg_temp.slipring_gathered', v_group.tables[v_at], v_columns, v_slot);
            DROP TABLE pg_temp.slipring_gathered;
        END LOOP;
        -- A dump reads the two one after the other. Elsewhere, where an import may fail, which gives the rows
        -- back and no sequence, they stay as they are.
        PERFORM setval(v_group.low, pg_sequence_last_value(v_group.now))
        WHERE pg_sequence_last_value(v_group.now) - pg_sequence_last_value(v_group.low) NOT BETWEEN 0 AND 1;
    END LOOP;
    ALTER TABLE slipring.lease ENABLE TRIGGER taken_fold;
END $$;
