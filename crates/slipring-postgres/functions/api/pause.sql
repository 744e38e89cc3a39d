-- Purpose: pauses a queue: it takes messages and settlements and hands out nothing (S14.3).
-- Inputs:  the queue's name; until when, null or infinity for until resume is called.
-- Lock:    the queue's lock, to the end of the transaction.
-- Index:   queue_name.
CREATE OR REPLACE FUNCTION slipring.pause(queue text, until timestamptz DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, slipring, pg_temp
SET jit = off AS $$
BEGIN
    IF until < timestamptz '1970-01-01 00:00:00+00' THEN
        PERFORM slipring.fail('SR007', format('until is %s; give a time to come, or null for until '
            'resume is called', until), jsonb_build_object('queue',
                left(queue, {{QUEUE_NAME_MAX}}), 'asked', until));
    END IF;
    PERFORM slipring.configure(queue, CASE WHEN until IS NULL OR until = 'infinity'
        THEN '{"paused": true}'
        ELSE jsonb_build_object('paused_until',
            ceil(extract(epoch FROM until) * 1000)::bigint) END);
END $$;
