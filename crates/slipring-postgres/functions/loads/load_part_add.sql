-- Purpose: notes a part of a load, and where its messages get their numbers.
-- Inputs:  p_load; p_part; p_checksum; p_now_ms; of its messages one by one, or with one entry for
--          all: p_priorities; p_sizes, their bytes; p_count, how many there are.
-- Lock:    the caller holds the load's lock, shared; waits for who is appending the same part.
-- Index:   load_part_pkey, load_block_pkey.
-- Answers: the number before the first message; null when the part is there already.
CREATE OR REPLACE FUNCTION slipring.load_part_add(
    p_load slipring.load, p_part bigint, p_checksum bigint, p_now_ms bigint,
    p_priorities bigint[], p_sizes bigint[], p_count int)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_part slipring.load_part;
    v_base bigint := (SELECT b.base FROM slipring.load_block b
        WHERE b.load_id = p_load.load_id AND b.block = p_part / {{LOAD_BLOCK_PARTS}});
BEGIN
    IF p_part IS NULL OR p_part NOT BETWEEN 0 AND {{LOAD_PART_MAX}} THEN
        PERFORM slipring.fail('SR007', format('the part is %s; give 0 to {{LOAD_PART_MAX}}',
            coalesce(p_part::text, 'null')), jsonb_build_object('load', p_load.load_id));
    ELSIF p_count > {{BATCH_MESSAGES_MAX}} THEN
        PERFORM slipring.fail_limit(NULL, 'load_part_messages_max', {{BATCH_MESSAGES_MAX}}, p_count);
    ELSIF v_base IS NULL THEN
        PERFORM slipring.fail('SR007', format('part %s of load %s is not reserved; call '
            'load_reserve before', p_part, p_load.load_id),
            jsonb_build_object('load', p_load.load_id, 'part', p_part));
    END IF;
    SELECT p_load.load_id, p_part, p_count, coalesce(sum(l.size), 0), p_checksum, p_now_ms,
        coalesce(array_agg(l.lane), '{}'), coalesce(array_agg(l.n), '{}'),
        coalesce(array_agg(l.size), '{}')
    INTO v_part FROM (
        SELECT m.lane, CASE WHEN cardinality(p_priorities) = 1 THEN p_count ELSE count(*) END AS n,
            sum(m.size)::bigint AS size
        FROM unnest(p_priorities, p_sizes) m(lane, size)
        WHERE p_count > 0 GROUP BY m.lane) l;
    INSERT INTO slipring.load_part SELECT (v_part).* ON CONFLICT DO NOTHING;
    IF FOUND THEN
        -- A sixteenth of a block has 16,384 numbers.
        RETURN v_base + (p_part % {{LOAD_BLOCK_PARTS}}) * {{LOAD_PART_NUMBERS}} - 1;
    END IF;
    SELECT * INTO v_part FROM slipring.load_part p
    WHERE p.load_id = p_load.load_id AND p.part = p_part;
    IF (v_part.messages, v_part.checksum) IS DISTINCT FROM (p_count, p_checksum) THEN
        PERFORM slipring.fail('SR007', format('part %s of load %s is there with other messages, group, priority or headers',
            p_part, p_load.load_id),
            jsonb_build_object('load', p_load.load_id, 'part', p_part));
    END IF;
    RETURN NULL;
END $$;
