-- Purpose: the ranges of a multirange as pairs of numbers that an index can be read between.
-- Inputs:  p_ranges, without a lower bound at minus infinity.
-- Lock:    none.
-- Index:   none.
-- Answers: first, and past, the first number after it; the highest there is for a range that does
--          not end.
CREATE OR REPLACE FUNCTION slipring.spans(p_ranges int8multirange)
RETURNS TABLE (first bigint, past bigint) LANGUAGE sql IMMUTABLE AS $$
    SELECT lower(r), coalesce(upper(r), {{BIGINT_MAX}}) FROM unnest(p_ranges) r
$$;
