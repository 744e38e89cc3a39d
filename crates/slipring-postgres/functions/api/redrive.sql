-- Purpose: moves ready and parked messages to another queue, or each back to the queue it was
--          dead-lettered from (S6.4): the first ones, or chosen ones (S6.7).
-- Inputs:  the names of source and target, null for back; at most how many, 1 to 10,000, or the
--          numbers of the messages, at most 1,000.
-- Lock:    the source's lock, to the end of the transaction.
-- Index:   see store_move and store_move_chosen.
-- Answers: how many, 0 when nothing is left to move; of chosen ones one by one moved,
--          message_gone, wrong_state or queue_not_found.
CREATE OR REPLACE FUNCTION slipring.redrive(
    source text, target text DEFAULT NULL, n int DEFAULT 1000)
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, slipring, pg_temp
SET jit = off AS $$
DECLARE
    v_source slipring.queue := slipring.queue_named(source, 'admin');
    v_target int;
BEGIN
    PERFORM slipring.isolation_check();
    IF target IS NOT NULL THEN
        v_target := (slipring.queue_named(target, 'producer')).queue_id;
    END IF;
    RETURN (SELECT coalesce(sum(m.moved), 0) FROM slipring.store_move(v_source.queue_id, v_target,
        slipring.count_check('redrive_messages_max', {{BATCH_MESSAGES_MAX}}, n, source), slipring.now_ms()) m);
END $$;

CREATE OR REPLACE FUNCTION slipring.redrive(
    source text, messages bigint[], target text DEFAULT NULL)
RETURNS text[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, slipring, pg_temp
SET jit = off AS $$
DECLARE
    v_source slipring.queue := slipring.queue_named(source, 'admin');
    v_target int;
    -- Whatever dimensions and bounds it came with.
    v_messages bigint[] := ARRAY(SELECT u.id FROM unnest(messages) WITH ORDINALITY AS u(id, n)
        ORDER BY u.n);
BEGIN
    PERFORM slipring.isolation_check();
    IF target IS NOT NULL THEN
        v_target := (slipring.queue_named(target, 'producer')).queue_id;
    END IF;
    IF cardinality(v_messages) > {{REDRIVE_IDS_MAX}} THEN
        PERFORM slipring.fail_limit(source, 'redrive_ids_max', {{REDRIVE_IDS_MAX}},
            cardinality(v_messages));
    END IF;
    RETURN ARRAY(SELECT coalesce(m.error, 'moved') FROM slipring.store_move_chosen(
        v_source.queue_id, v_target, v_messages, slipring.now_ms()) m ORDER BY m.n);
END $$;
