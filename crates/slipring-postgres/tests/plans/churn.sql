-- Its commits note no hand-outs, which one in eight does otherwise, so that each round is like the one before: they do not
-- where the text has SET CONSTRAINTS (see taken_fold).
DO $$
DECLARE
    v_retry int := (SELECT queue_id FROM slipring.queue WHERE name = 'retry');
    v_log int := (SELECT queue_id FROM slipring.queue WHERE name = 'log');
    v_parking int := (SELECT queue_id FROM slipring.queue WHERE name = 'parking');
    v_fifo int := (SELECT queue_id FROM slipring.queue WHERE name = 'fifo');
    v_dead int := (SELECT queue_id FROM slipring.queue WHERE name = 'dead');
    v_got text[];
    v_id bigint;
BEGIN
    FOR n IN 1..{rounds} LOOP
        -- Delayed, due, received, half of them given back with a delay, and a lease that lapses.
        PERFORM slipring.send_batch('retry', array_fill('m'::text, ARRAY[20]), delay => '1 ms');
        COMMIT;
        PERFORM slipring.store_due_in(v_retry, slipring.now_ms() + 1000);
        COMMIT;
        v_got := ARRAY(SELECT receipt FROM slipring.receive('retry', 20, '1 hour'));
        COMMIT;
        PERFORM slipring.nack(v_got[1:10], '1 ms');
        COMMIT;
        PERFORM slipring.ack(v_got[11:]);
        COMMIT;
        PERFORM slipring.store_due_in(v_retry, slipring.now_ms() + 1000);
        COMMIT;
        v_got := ARRAY(SELECT receipt FROM slipring.receive('retry', 10, '1 hour'));
        COMMIT;
        PERFORM slipring.ack(v_got);
        COMMIT;
        PERFORM slipring.receive('retry', 1, '1 ms');
        COMMIT;
        PERFORM slipring.store_expire_in(v_retry, slipring.now_ms() + 1000);
        COMMIT;
        v_id := slipring.send('retry', 'm'::text, delay => '1 hour');
        COMMIT;
        PERFORM slipring.store_cancel(v_id, slipring.now_ms());
        COMMIT;
        -- The log.
        PERFORM slipring.send_batch('log', array_fill('m'::text, ARRAY[20]));
        COMMIT;
        v_got := ARRAY(SELECT receipt FROM slipring.receive('log', 1, '1 hour'));
        COMMIT;
        PERFORM slipring.ack(v_got);
        COMMIT;
        v_got := ARRAY(SELECT receipt FROM slipring.receive('log', 15, '1 hour'));
        COMMIT;
        PERFORM slipring.ack(v_got[1:14]);
        COMMIT;
        PERFORM slipring.ack(v_got[15:]);
        COMMIT;
        v_got := ARRAY(SELECT receipt FROM slipring.receive('log', 2, '1 hour'));
        COMMIT;
        PERFORM slipring.nack(v_got[1:1], '1 ms');
        COMMIT;
        PERFORM slipring.ack(v_got[2:]);
        COMMIT;
        PERFORM slipring.store_due_in(v_log, slipring.now_ms() + 1000);
        COMMIT;
        v_got := ARRAY(SELECT receipt FROM slipring.receive('log', 2, '1 hour'));
        COMMIT;
        PERFORM slipring.ack(v_got);
        COMMIT;
        PERFORM slipring.store_cancel((SELECT max(id) FROM slipring.store_peek(v_log, 'ready', 10,
            slipring.now_ms())), slipring.now_ms());
        COMMIT;
        -- Parked and kicked; dead letters.
        PERFORM slipring.store_kick(v_parking, 2, slipring.now_ms());
        COMMIT;
        v_got := ARRAY(SELECT receipt FROM slipring.receive('parking', 2));
        COMMIT;
        PERFORM slipring.nack(v_got);
        COMMIT;
        PERFORM slipring.send('failing', 'm'::text, delay => '1 ms');
        COMMIT;
        PERFORM slipring.store_due_in(queue_id, slipring.now_ms() + 1000)
        FROM slipring.queue WHERE name = 'failing';
        COMMIT;
        v_got := ARRAY(SELECT receipt FROM slipring.receive('failing', 1));
        COMMIT;
        PERFORM slipring.nack(v_got);
        COMMIT;
        v_got := ARRAY(SELECT receipt FROM slipring.receive('dead', 1));
        COMMIT;
        PERFORM slipring.ack(v_got);
        COMMIT;
        -- Groups, and windows of deduplication.
        PERFORM slipring.send('fifo', 'm'::text, "group" => 'g' || 1 + (n + k) % 20,
            dedup_id => gen_random_uuid()::text, delay => CASE WHEN k = 1 THEN interval '1 ms' END)
        FROM generate_series(1, 4) k;
        COMMIT;
        PERFORM slipring.store_due_in(v_fifo, slipring.now_ms() + 1000);
        COMMIT;
        v_got := ARRAY(SELECT receipt FROM slipring.receive('fifo', 2, '1 hour'));
        COMMIT;
        PERFORM slipring.nack(v_got, '1 ms');
        COMMIT;
        PERFORM slipring.store_due_in(v_fifo, slipring.now_ms() + 1000);
        COMMIT;
        v_got := ARRAY(SELECT receipt FROM slipring.receive('fifo', 4, '1 hour'));
        COMMIT;
        PERFORM slipring.ack(v_got);
        COMMIT;
    END LOOP;
END $$
