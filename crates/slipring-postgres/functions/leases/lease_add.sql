-- Purpose: gives leases on messages of one lane: one for each run of messages with the same terms.
-- Inputs:  p_state, which gets new fences and sums; p_lane; p_region, the ids that were read
--          whole; arrays with one entry for each message: number, bytes, own lease, demand;
--          p_lease_ms and p_session by demand; p_holder.
-- Lock:    the queue's lock.
-- Index:   lease's indexes grow by one entry for each lease.
-- Answers: the state, and fence and deadline of each message.
CREATE OR REPLACE FUNCTION slipring.lease_add(
    p_queue slipring.queue, INOUT p_state slipring.state, p_now_ms bigint, p_lane bigint,
    p_region int8multirange, p_ids bigint[], p_bytes int[], p_own_ms bigint[],
    p_demands int[], p_lease_ms bigint[], p_session boolean[], p_holder bigint,
    OUT fences bigint[], OUT deadlines bigint[])
LANGUAGE plpgsql AS $$
DECLARE
    v_last int := cardinality(p_ids);
    v_slot int := pg_sequence_last_value('slipring.journal') % 3;
    v_deadline bigint;
    v_sum bigint;
    v_each boolean;
BEGIN
    p_state.fence := greatest(p_state.fence, slipring.fence_least(p_now_ms));
    IF p_own_ms IS NULL AND (SELECT count(DISTINCT (l.ms, l.session)) = 1
            FROM unnest(p_lease_ms, p_session) AS l(ms, session)) THEN
        v_deadline := p_now_ms + coalesce(p_lease_ms[1], p_queue.visibility_timeout_ms);
        SELECT sum(b), min(b) = max(b) INTO v_sum, v_each FROM unnest(p_bytes) b;
        p_state.fence := p_state.fence + 1;
        INSERT INTO slipring.lease VALUES (v_slot, p_queue.queue_id, p_state.fence, 0,
            p_state.seq, p_lane, v_deadline, p_now_ms, CASE WHEN p_session[1] THEN p_holder END,
            v_last, v_sum, CASE WHEN v_each THEN p_bytes[1] END,
            p_region * int8multirange(int8range(p_ids[1], p_ids[v_last] + 1)));
        fences := array_fill(p_state.fence, ARRAY[v_last]);
        deadlines := array_fill(v_deadline, ARRAY[v_last]);
    ELSE
        WITH m AS (
            SELECT u.n, u.id, u.bytes, p_session[u.demand + 1] AS session, p_now_ms
                + coalesce(p_lease_ms[u.demand + 1], u.own, p_queue.visibility_timeout_ms)
                AS deadline
            FROM unnest(p_ids, p_bytes, p_own_ms, p_demands)
                WITH ORDINALITY AS u(id, bytes, own, demand, n)),
        turns AS (
            SELECT m.*, (lag(m.deadline) OVER w IS DISTINCT FROM m.deadline
                OR lag(m.session) OVER w IS DISTINCT FROM m.session)::int AS begins
            FROM m WINDOW w AS (ORDER BY m.n)),
        runs AS (
            SELECT t.*, p_state.fence + sum(t.begins) OVER (ORDER BY t.n) AS fence FROM turns t),
        added AS (
            INSERT INTO slipring.lease
            SELECT v_slot, p_queue.queue_id, r.fence, 0, p_state.seq, p_lane, min(r.deadline),
                p_now_ms, CASE WHEN bool_or(r.session) THEN p_holder END, count(*), sum(r.bytes),
                CASE WHEN min(r.bytes) = max(r.bytes) THEN min(r.bytes) END,
                p_region * int8multirange(int8range(min(r.id), max(r.id) + 1))
            FROM runs r GROUP BY r.fence)
        SELECT array_agg(r.fence ORDER BY r.n), array_agg(r.deadline ORDER BY r.n),
            min(r.deadline), sum(r.bytes), max(r.fence)
        INTO fences, deadlines, v_deadline, v_sum, p_state.fence
        FROM runs r;
    END IF;
    p_state.leased := p_state.leased + v_last;
    p_state.leased_bytes := p_state.leased_bytes + v_sum;
    p_state.lapse_ms := least(p_state.lapse_ms, v_deadline);
END $$;
