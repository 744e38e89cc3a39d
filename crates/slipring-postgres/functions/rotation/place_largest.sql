-- Purpose: the queue that fills the tables it shares with others: it has one part in GROWN_SHARE or more of what was
--          written to a table since the generation began, and so much of p_bytes_min as well.
-- Inputs:  p_place; p_table, the one that is written; p_bytes, how large it is;
--          p_bytes_min, of what size a table is left whatever its age.
-- Lock:    none.
-- Index:   none: about PLACE_SAMPLE_PAGES pages of the table, chosen by chance; place_pkey, queue_pkey.
-- Answers: its number; null where there is none, or where it is alone.
CREATE OR REPLACE FUNCTION slipring.place_largest(
    p_place int, p_table text, p_bytes bigint, p_bytes_min bigint)
RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    v_queue int;
BEGIN
    IF (SELECT p.reserved OR p.queues < 2 FROM slipring.place p WHERE p.place = p_place) THEN
        RETURN NULL;
    END IF;
    EXECUTE format('SELECT s.queue FROM (
            SELECT (m.lane >> {{LANE_SHIFT}})::int AS queue, sum(m.bytes + {{ROW_BYTES}}) AS bytes,
                sum(sum(m.bytes + {{ROW_BYTES}})) OVER () AS whole
            FROM %s m TABLESAMPLE SYSTEM (%s) GROUP BY 1 ORDER BY 2 DESC LIMIT 1) s
        JOIN slipring.queue q ON q.queue_id = s.queue AND q.place = $1 AND q.place_also IS NULL
        WHERE {{GROWN_SHARE}} * s.bytes >= s.whole
            AND {{GROWN_SHARE}} * s.bytes / s.whole * $2 >= $3',
        p_table, least(100, {{PLACE_SAMPLE_PAGES}} * 100.0 * 8192 / greatest(p_bytes, 8192)))
    INTO v_queue USING p_place, p_bytes, p_bytes_min;
    RETURN v_queue;
END $$;
