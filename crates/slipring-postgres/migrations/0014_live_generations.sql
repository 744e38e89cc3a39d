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
            -- What is left where the schema slipring alone was dropped, or restored.
            IF EXISTS (SELECT FROM pg_namespace n
                    WHERE n.nspname = format('%s_%s', v_group.name, slot)
                        AND pg_has_role(n.nspowner, 'USAGE')
                        AND NOT EXISTS (SELECT FROM pg_class c WHERE c.relnamespace = n.oid))
            THEN
                EXECUTE format('DROP SCHEMA %s_%s', v_group.name, slot);
            END IF;
            EXECUTE format('CREATE SCHEMA %s_%s', v_group.name, slot);
            FOREACH v_table IN ARRAY v_group.tables LOOP
                EXECUTE format('CREATE VIEW %1$s_%3$s.%2$s AS
                    SELECT * FROM slipring.%2$s_%3$s UNION ALL SELECT * FROM slipring.%2$s_%4$s',
                    v_group.name, v_table, slot, (slot + 1) % 3);
            END LOOP;
            IF 'item_picture' = ANY (v_group.tables) THEN
                EXECUTE format('CREATE VIEW %1$s_%2$s.item AS
                    SELECT p.* FROM %1$s_%2$s.item_picture p
                    WHERE p.state < 4 AND p.seq = (
                        SELECT n.seq FROM %1$s_%2$s.item_picture n WHERE n.id = p.id
                        ORDER BY n.seq DESC LIMIT 1)', v_group.name, slot);
                EXECUTE format('CREATE VIEW %1$s_%2$s.fifo_group_newest AS
                    SELECT g.* FROM %1$s_%2$s.fifo_group g WHERE g.seq = (
                        SELECT n.seq FROM %1$s_%2$s.fifo_group n
                        WHERE n.queue_id = g.queue_id AND n.name = g.name
                        ORDER BY n.seq DESC LIMIT 1)', v_group.name, slot);
            END IF;
        END LOOP;
    END LOOP;
END $$;
