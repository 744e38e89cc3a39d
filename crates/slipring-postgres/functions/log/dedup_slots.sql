-- Purpose: the slots in which a sender enters its deduplication ids, the older one first. Until
--          nobody who writes to the older generation only is left, and for senders who may not see
--          what those have committed, these are two: what each enters meets the other's entry.
-- Inputs:  none. The caller has its transaction number.
-- Lock:    none; read outside MVCC, before the statement that reads entries.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.dedup_slots()
RETURNS int[] LANGUAGE plpgsql AS $$
DECLARE
    v_now bigint := pg_sequence_last_value('slipring.dedup_now');
BEGIN
    IF pg_sequence_last_value('slipring.dedup_low') = v_now
        OR (pg_sequence_last_value('slipring.dedup_settled') = v_now
            AND (slipring.read_committed()
                OR pg_snapshot_xmin(pg_current_snapshot())::text::bigint
                    >= pg_sequence_last_value('slipring.dedup_mark'))) THEN
        RETURN ARRAY[v_now % 3];
    END IF;
    RETURN ARRAY[(v_now - 1) % 3, v_now % 3];
END $$;
