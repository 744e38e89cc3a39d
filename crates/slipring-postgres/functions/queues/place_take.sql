-- Purpose: a set of message tables for a new queue: one whose queue is gone and that is empty, or
--          new ones.
-- Inputs:  p_queue, the new queue's number.
-- Lock:    the row of the place; the parent table only against other changes of its partitions,
--          senders go on.
-- Index:   place_free.
CREATE OR REPLACE FUNCTION slipring.place_take(p_queue int)
RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    v_place int;
    v_table text;
BEGIN
    UPDATE slipring.place SET queue_id = p_queue, mark = NULL, empty = false
    WHERE place = (SELECT p.place FROM slipring.place p WHERE p.queue_id IS NULL AND p.empty
                   ORDER BY p.place LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING place INTO v_place;
    IF v_place IS NOT NULL THEN
        RETURN v_place;
    END IF;
    INSERT INTO slipring.place (queue_id) VALUES (p_queue) RETURNING place INTO v_place;
    FOR slot IN 0..2 LOOP
        v_table := format('slipring.message_%s_%s', v_place, slot);
        EXECUTE format('CREATE TABLE %s (LIKE slipring.message INCLUDING DEFAULTS)
            WITH (autovacuum_enabled = false, toast.autovacuum_enabled = false)', v_table);
        EXECUTE format('CREATE UNIQUE INDEX message_%s_%s_order ON %s (lane, id)',
            v_place, slot, v_table);
        -- Attaching takes a weaker lock on the parent than creating as a partition does.
        EXECUTE format('ALTER TABLE slipring.message ATTACH PARTITION %s FOR VALUES IN (%s)',
            v_table, v_place * 4 + slot);
    END LOOP;
    RETURN v_place;
END $$;
