-- Purpose: ranges of lease_newest that have all leases of given fences: few, and hardly longer than
--          what they are for. Of transactions that ran beside each other the one's lease is known and
--          the next one's is not: a step in the index for each costs more than to pass over some.
-- Inputs:  p_taken, see state. The caller looks at each lease whether its fence is one of them.
-- Lock:    none.
-- Index:   none.
-- Answers: see spans.
CREATE OR REPLACE FUNCTION slipring.taken_spans(p_taken int8multirange)
RETURNS TABLE (first bigint, past bigint) LANGUAGE sql IMMUTABLE AS $$
    SELECT lower(r), coalesce(upper(r), {{BIGINT_MAX}}) FROM (
        SELECT range_agg(int8range(lower(r), upper(r) + {{TAKEN_GAP}})) AS all_of_them
        FROM unnest(p_taken) r) s
    CROSS JOIN LATERAL unnest(s.all_of_them) r
$$;
