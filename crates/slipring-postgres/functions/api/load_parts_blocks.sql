-- Purpose: the blocks of parts, see load_block.
-- Inputs:  p_first, the first part, and p_parts, how many.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.load_parts_blocks(p_first bigint, p_parts int)
RETURNS bigint[] LANGUAGE plpgsql AS $$
BEGIN
    PERFORM slipring.count_check('load_parts_reserved_max', {{LOAD_PARTS_RESERVED_MAX}}, p_parts);
    IF p_first IS NULL OR p_first < 0 OR p_first + p_parts > 4294967296 THEN
        PERFORM slipring.fail('SR007', format('the parts begin with %s; give 0 to {{LOAD_PART_MAX}}',
            coalesce(p_first::text, 'null')), '{}');
    END IF;
    RETURN ARRAY(SELECT b FROM generate_series(p_first / {{LOAD_BLOCK_PARTS}},
        (p_first + p_parts - 1) / {{LOAD_BLOCK_PARTS}}) b);
END $$;
