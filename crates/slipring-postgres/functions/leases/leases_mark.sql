-- Purpose: notes from time to time which leases of the log of a queue are not over, so that who looks
--          for them does not walk over the others: those from a fence on (kind 9), and those of
--          hand-outs without the queue's lock, which have fences below zero (kind 10). Of the latter,
--          open transactions may add some to those before the mark: theirs are among the unseen.
-- Inputs:  p_queue; p_state, which is being written.
-- Lock:    the caller holds the queue's lock.
-- Index:   lease_newest, at most 1,000 steps from the mark before on, and a few for each run of
--          fences that was open then; mark_newest may grow by an entry of each kind.
CREATE OR REPLACE FUNCTION slipring.leases_mark(p_queue int, p_state slipring.state)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_most CONSTANT int := {{MARK_STEPS}};
    v_kept CONSTANT int := 200;
    v_mark slipring.mark;
    v_first bigint;
    v_walked record;
    v_open bigint[];
    v_low bigint;
    v_later int8multirange;
BEGIN
    FOR v_kind IN 9..10 LOOP
        -- Without taken, the first fence of later hand-outs is not known, so no mark can be set.
        CONTINUE WHEN v_kind = 10 AND p_state.taken IS NULL;
        v_mark := slipring.mark_read(p_queue, v_kind);
        CONTINUE WHEN v_mark.seq > 0 AND p_state.seq - v_mark.id
            < greatest(64, 2 * (SELECT count(*) FROM unnest(v_mark.unseen)));
        v_first := greatest(v_mark.turn, CASE WHEN v_kind = 9 THEN 0 END);
        SELECT count(*) AS n, max(l.fence) AS last, array_agg(l.fence) FILTER (WHERE l.n > 0) AS open
        INTO v_walked
        FROM (SELECT DISTINCT ON (l.fence, l.part) l.fence, l.n FROM lease l
              WHERE l.queue_id = p_queue AND l.fence >= v_first
                  AND l.fence < CASE WHEN v_kind = 9 THEN {{BIGINT_MAX}} ELSE 0 END
              ORDER BY l.fence, l.part, l.seq DESC LIMIT v_most) l;
        CONTINUE WHEN v_walked.n = 0;
        v_open := ARRAY(
            SELECT l.fence FROM slipring.leases_in(p_queue, v_mark.unseen) l WHERE l.n > 0
            UNION
            SELECT unnest(v_walked.open)
            ORDER BY 1);
        -- The last one may have more parts. Below zero no transaction that is to come is before the
        -- last range of those that the state does not know.
        v_low := least(coalesce(v_open[v_kept + 1],
                CASE WHEN v_walked.n = v_most THEN v_walked.last
                    WHEN v_kind = 9 THEN p_state.fence + 1 ELSE 0 END),
            CASE WHEN v_kind = 10 THEN (SELECT max(lower(r)) FROM unnest(p_state.taken) r) END);
        v_later := CASE WHEN v_kind = 10
            THEN p_state.taken * int8multirange(int8range(NULL, v_low)) END;
        INSERT INTO slipring.mark (slot, queue_id, kind, seq, turn, id, unseen)
        VALUES (slipring.shelf_slot(), p_queue, v_kind, slipring.shelf_seq(v_mark.seq), v_low,
            p_state.seq, coalesce((SELECT range_agg(int8range(f, f + 1)) FROM unnest(v_open[:v_kept]) f WHERE f < v_low),
            '{}') + coalesce(v_later, '{}'));
    END LOOP;
END $$;
