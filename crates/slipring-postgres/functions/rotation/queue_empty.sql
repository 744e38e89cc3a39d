-- Purpose: empties the message table of a queue that nobody reads any more. A generation before it
--          is written again is waited for: transactions that read it before may still be open.
-- Inputs:  p_queue, p_state.
-- Lock:    the caller holds the queue's lock; ACCESS EXCLUSIVE on the table, which is only tried.
-- Index:   none.
-- Answers: whether it did; null where the table is empty, or in use.
CREATE OR REPLACE FUNCTION slipring.queue_empty(p_queue slipring.queue, p_state slipring.state)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_table text := format('slipring.message_%s_%s', p_queue.place,
        (p_state.generation_low + 2) % 3);
BEGIN
    -- After an import all three may be in use.
    IF pg_sequence_last_value(p_queue.generation) > p_state.generation_low + 1
        OR pg_relation_size(v_table::regclass) = 0 THEN
        RETURN NULL;
    END IF;
    -- Its messages were let go of by an earlier transaction, see dump_begins.
    IF slipring.dump_begins() THEN
        RETURN false;
    END IF;
    IF NOT slipring.tables_lock(v_table) THEN
        RETURN false;
    END IF;
    EXECUTE format('TRUNCATE %s', v_table);
    RETURN true;
END $$;
