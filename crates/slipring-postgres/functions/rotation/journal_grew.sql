-- Purpose: whether the journal has more rows than one state for each queue, so that an idle store
--          does not rotate: for the journal what rotation_worth is for other tables.
-- Inputs:  p_slot that is written now.
-- Lock:    none.
-- Index:   none, all of place; the sizes of the tables are compared with the number of queues.
CREATE OR REPLACE FUNCTION slipring.journal_grew(p_slot int)
RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT pg_relation_size(format('slipring.state_%s', p_slot)::regclass)
            > 65536 + 1024 * (SELECT coalesce(sum(greatest(p.queues, 1)), 0) FROM slipring.place p)
        OR pg_relation_size(format('slipring.ack_%s', p_slot)::regclass) > 65536
$$;
