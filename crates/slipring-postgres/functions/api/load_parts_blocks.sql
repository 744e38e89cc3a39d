-- Purpose: the blocks of parts, see load_block.
-- Inputs:  p_first, the first part, and p_parts, how many; for errors p_queue, the queue's name, and
--          p_load, or null.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.load_parts_blocks(
    p_first bigint, p_parts int, p_queue text, p_load bigint DEFAULT NULL)
RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
    v_facts jsonb := jsonb_strip_nulls(jsonb_build_object('queue', p_queue, 'load', p_load));
BEGIN
    PERFORM slipring.count_check('load_parts_reserved_max', {{LOAD_PARTS_RESERVED_MAX}}, p_parts,
        p_queue, 'parts', p_load);
    IF p_first IS NULL OR p_first NOT BETWEEN 0 AND {{LOAD_PART_MAX}} THEN
        PERFORM slipring.fail('SR007', format('first is %s; give 0 to {{LOAD_PART_MAX}}',
            coalesce(p_first::text, 'null')), v_facts);
    ELSIF p_first + p_parts - 1 > {{LOAD_PART_MAX}} THEN
        PERFORM slipring.fail('SR007', format('the last of the parts would be %s; the last that '
            'can be is {{LOAD_PART_MAX}}: with first = %s give at most %s for parts',
            p_first + p_parts - 1, p_first, {{LOAD_PART_MAX}} - p_first + 1), v_facts);
    END IF;
    RETURN ARRAY(SELECT b FROM generate_series(p_first / {{LOAD_BLOCK_PARTS}},
        (p_first + p_parts - 1) / {{LOAD_BLOCK_PARTS}}) b);
END $$;
