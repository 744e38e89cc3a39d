-- Purpose: sets rows of the log aside that are ready or leased and can be no messages, or have a
--          number that is on the shelf as well. Leases and counts are mended afterwards, see aside_leases
--          and aside_recount.
-- Inputs:  p_queue.
-- Lock:    the caller holds the queue's lock.
-- Index:   the tables' order indexes, for about 300 ms: what is handed out first, and what wants to
--          retire, is looked at first.
CREATE OR REPLACE FUNCTION slipring.aside_messages(p_queue slipring.queue)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_state slipring.state := slipring.state_read(p_queue);
    v_until timestamptz := clock_timestamp() + interval '{{ASIDE_MS}} ms';
    v_table text;
    v_after bigint;
    v_last bigint;
    v_play int8multirange;
    v_row record;
BEGIN
    FOREACH v_table IN ARRAY slipring.live_table_names(p_queue, v_state) LOOP
        FOR v_at IN 1..cardinality(v_state.lanes) LOOP
            v_play := v_state.open[v_at] + coalesce((SELECT range_agg(r)
                FROM slipring.lease_open(p_queue.queue_id) l CROSS JOIN LATERAL unnest(l.open) r
                WHERE l.lane = v_state.lanes[v_at] AND NOT lower_inf(r)
                    AND NOT upper_inf(r)), '{}');
            v_after := {{BIGINT_MIN}};
            WHILE v_after IS NOT NULL AND clock_timestamp() < v_until LOOP
                EXECUTE format('SELECT max(id) FROM (SELECT id FROM %s WHERE lane = $1 AND id > $2
                    ORDER BY id LIMIT 5000) m', v_table)
                INTO v_last USING v_state.lanes[v_at], v_after;
                FOR v_row IN EXECUTE format('
                        SELECT m.place, m.id, m.size AS n, m.bytes, m.why, m.kept
                        FROM (SELECT m.ctid AS place, m.id, m.bytes, coalesce(m.n, 1)::int AS size,
                                to_jsonb(m) AS kept,
                                coalesce(slipring.message_fault(m.n, m.bytes, m.sent_ms, m.priority,
                                    m.lease_ms, m.headers, m.body), CASE WHEN EXISTS (
                                        SELECT FROM slipring.item_picture p
                                        WHERE p.id > m.id - coalesce(m.n, 1) AND p.id <= m.id
                                            AND p.id <@ $4)
                                    THEN ''its number is another message''''s, too'' END) AS why
                            FROM %s m
                            WHERE m.lane = $1 AND m.id > $2 AND m.id <= $3
                                AND $4 && int8range(m.id - {{PACK_REACH}}, m.id + 1) OFFSET 0) m
                        WHERE m.why IS NOT NULL AND (m.size NOT BETWEEN 1 AND {{PACK_MESSAGES_MAX}}
                            OR $4 && int8range(m.id - m.size + 1, m.id + 1))', v_table)
                    USING v_state.lanes[v_at], v_after, v_last, v_play
                LOOP
                    PERFORM slipring.aside_row(p_queue, 'message', v_row.why,
                        greatest(v_row.n, 0), v_row.kept, v_table::regclass, v_row.place);
                END LOOP;
                v_after := v_last;
            END LOOP;
        END LOOP;
    END LOOP;
END $$;
