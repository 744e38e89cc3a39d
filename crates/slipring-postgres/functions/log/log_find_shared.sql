-- Purpose: in which lane a message is, if it is in tables that queues share.
-- Inputs:  p_message.
-- Lock:    none. Those on tables that do not have it are given back at once.
-- Index:   place_shared; message_<place>_<slot>_id, one step for each table that is not empty: the first row
--          from the number on has the message, or there is none.
-- Answers: the lane; null where it is in none of them.
CREATE OR REPLACE FUNCTION slipring.log_find_shared(p_message bigint)
RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_table text;
    v_lane bigint;
BEGIN
    FOR v_table IN SELECT t.name FROM slipring.place p CROSS JOIN generate_series(0, 2) slot
        CROSS JOIN LATERAL (SELECT format('slipring.message_%s_%s', p.place, slot) AS name) t
        WHERE p.shared AND pg_relation_size(t.name::regclass) > 0
    LOOP
        BEGIN
            EXECUTE format('SELECT m.lane FROM (SELECT m.lane, m.id, m.n FROM %s m WHERE m.id >= $1
                ORDER BY m.id LIMIT 1) m WHERE m.id - coalesce(m.n, 1) < $1', v_table)
            INTO v_lane USING p_message;
            IF v_lane IS NOT NULL THEN
                RETURN v_lane;
            END IF;
            -- What a block has locked is given back where it fails.
            RAISE EXCEPTION USING ERRCODE = 'SR100';
        EXCEPTION WHEN SQLSTATE 'SR100' THEN
            NULL;
        END;
    END LOOP;
    RETURN NULL;
END $$;
