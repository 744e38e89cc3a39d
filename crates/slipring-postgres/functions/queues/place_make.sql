-- Purpose: makes the three message tables of a place.
-- Inputs:  p_place; p_shared, whether queues share it: then a message is also found by its number, without
--          its queue.
-- Lock:    the parent table only against other changes of its partitions, senders go on.
-- Index:   message_<place>_<slot>_order is made; of shared ones message_<place>_<slot>_id too.
CREATE OR REPLACE FUNCTION slipring.place_make(p_place int, p_shared boolean)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_table text;
BEGIN
    FOR slot IN 0..2 LOOP
        v_table := format('slipring.message_%s_%s', p_place, slot);
        EXECUTE format('CREATE TABLE %s (LIKE slipring.message INCLUDING DEFAULTS)
            WITH (autovacuum_enabled = false, toast.autovacuum_enabled = false)', v_table);
        PERFORM slipring.to_owner(ARRAY[v_table]);
        EXECUTE format('CREATE UNIQUE INDEX message_%s_%s_order ON %s (lane, id)',
            p_place, slot, v_table);
        IF p_shared THEN
            EXECUTE format('CREATE INDEX message_%s_%s_id ON %s (id)', p_place, slot, v_table);
        END IF;
        -- Attaching takes a weaker lock on the parent than creating as a partition does.
        EXECUTE format('ALTER TABLE slipring.message ATTACH PARTITION %s FOR VALUES IN (%s)',
            v_table, p_place * 4 + slot);
    END LOOP;
END $$;
