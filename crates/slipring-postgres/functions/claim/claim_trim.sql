-- Purpose: what of rows with packs among them a claim takes: nothing outside the range that each
--          row was read for, and no more than it wants.
-- Inputs:  p_read with rows whole; p_ranges, row by row; p_up_to.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.claim_trim(
    p_read slipring.lane_read, p_ranges int8range[], p_up_to bigint)
RETURNS slipring.lane_read LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    v_ns int[] := p_read.ns;
    v_sizes int[] := p_read.sizes;
    v_eachs int[] := p_read.eachs_bytes;
    v_firsts bigint[] := '{}';
    v_counts int[] := '{}';
    v_rows int := 0;
    v_n int;
    v_each int;
    v_id bigint;
    v_first bigint;
    v_last bigint;
    v_count int;
    v_bytes int;
BEGIN
    p_read.total := 0;
    p_read.bytes := 0;
    p_read.bytes_each := NULL;
    FOREACH v_id IN ARRAY p_read.ids LOOP
        EXIT WHEN p_read.total >= p_up_to;
        v_rows := v_rows + 1;
        v_n := v_ns[v_rows];
        v_bytes := v_sizes[v_rows];
        v_each := CASE WHEN v_n IS NULL THEN v_bytes ELSE v_eachs[v_rows] END;
        v_first := greatest(v_id - coalesce(v_n, 1) + 1, lower(p_ranges[v_rows]));
        v_last := least(v_id, upper(p_ranges[v_rows]) - 1,
            v_first + p_up_to - p_read.total - 1);
        v_count := v_last - v_first + 1;
        IF v_count < v_n THEN
            v_bytes := slipring.pack_end(p_read.bodies[v_rows], (v_last - v_id + v_n)::int)
                - slipring.pack_end(p_read.bodies[v_rows], (v_first - v_id + v_n - 1)::int);
            v_sizes[v_rows] := v_bytes;
        END IF;
        p_read.bytes_each := CASE WHEN v_rows = 1 OR p_read.bytes_each = v_each THEN v_each END;
        v_firsts[v_rows] := v_first;
        v_counts[v_rows] := v_count;
        p_read.total := p_read.total + v_count;
        p_read.bytes := p_read.bytes + v_bytes;
    END LOOP;
    p_read.first_id := v_firsts[1];
    p_read.last_id := v_last;
    p_read.firsts := v_firsts;
    p_read.counts := v_counts;
    p_read.sizes := v_sizes[:v_rows];
    IF v_rows < cardinality(p_read.ids) THEN
        p_read.ids := p_read.ids[:v_rows];
        p_read.sents_ms := p_read.sents_ms[:v_rows];
        p_read.bodies := p_read.bodies[:v_rows];
        p_read.ns := v_ns[:v_rows];
    END IF;
    RETURN p_read;
END $$;
