-- Purpose: the oldest generation of a queue's message tables that is read: tables that an offer names before
--          it are passed over.
-- Inputs:  p_queue; p_low, that of its newest state.
-- Lock:    none.
-- Index:   none; read outside MVCC where the tables are shared. Volatile like that, so that it is inlined.
-- Answers: null while the queue moves between two sets of tables, of which none is passed over.
CREATE OR REPLACE FUNCTION slipring.offer_low(p_queue slipring.queue, p_low bigint)
RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT CASE WHEN p_queue.place_also IS NULL
        THEN coalesce(pg_sequence_last_value(p_queue.generation_low), p_low) END
$$;
