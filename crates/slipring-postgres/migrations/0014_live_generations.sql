-- Purpose: the tables of the generations that may be read, by the names of all of them: a function
--          that has these schemas in its path, see generations_enter, keeps nobody from emptying
--          the third table.
-- Inputs:  none.
-- Lock:    none that others wait for.
-- Index:   none.
--
-- A view has the columns that its tables have now. Who adds a column makes the views anew.

DO $$
DECLARE
    v_group record;
    v_table text;
BEGIN
    FOR v_group IN
        SELECT * FROM (VALUES ('slipring_journal', ARRAY['state', 'lease', 'ack']),
            ('slipring_shelf', ARRAY['item_picture', 'item_body', 'mark', 'tally', 'tally_sum',
                'fifo_group', 'fifo_touched'])) AS v(name, tables)
    LOOP
        FOR slot IN 0..2 LOOP
            EXECUTE format('CREATE SCHEMA %s_%s', v_group.name, slot);
            FOREACH v_table IN ARRAY v_group.tables LOOP
                EXECUTE format('CREATE VIEW %1$s_%3$s.%2$s AS
                    SELECT * FROM slipring.%2$s_%3$s UNION ALL SELECT * FROM slipring.%2$s_%4$s',
                    v_group.name, v_table, slot, (slot + 1) % 3);
            END LOOP;
            IF 'item_picture' = ANY (v_group.tables) THEN
                EXECUTE format('CREATE VIEW %s_%s.item AS ', v_group.name, slot)
                    || replace(pg_get_viewdef('slipring.item'::regclass), 'slipring.item_picture',
                        format('%s_%s.item_picture', v_group.name, slot));
            END IF;
        END LOOP;
    END LOOP;
END $$;
