SELECT slipring.create_queue('dead');
SELECT slipring.create_queue('log', '{"retention_ms": 86400000}');
SELECT slipring.create_queue('retry', '{"retention_ms": 86400000}');
SELECT slipring.create_queue('parking', '{"max_attempts": 1}');
SELECT slipring.create_queue('failing', '{"max_attempts": 1, "dead_letter": "dead"}');
SELECT slipring.create_queue('fifo', '{"fifo": true}');
SELECT slipring.create_queue('emptied');

SELECT slipring.send_batch(q, array_fill('kept'::text, ARRAY[20]), delay => '5 hours')
FROM unnest(ARRAY['retry', 'fifo']) q;
SELECT slipring.send_batch('retry', array_fill('kept'::text, ARRAY[101]), delay => '1 ms');
SELECT slipring.send_batch('log', array_fill('kept'::text, ARRAY[101]));
SELECT slipring.send_batch('parking', array_fill('kept'::text, ARRAY[20]));
SELECT slipring.send_batch('fifo', array_fill('kept'::text, ARRAY[3]), "group" => 'g' || n)
FROM generate_series(1, 20) n;
SELECT slipring.store_due_in(queue_id, slipring.now_ms() + 1000) FROM slipring.queue;
-- Held all the time.
SELECT FROM slipring.receive('retry', 5, '5 hours');
SELECT FROM slipring.receive('log', 1, '5 hours');
SELECT FROM slipring.receive('log', 4, '5 hours');
SELECT slipring.nack(receipt) FROM slipring.receive('parking', 20);
-- Parked so often that they count as failing.
SELECT slipring.store_kick(queue_id, 20, 0) FROM slipring.queue WHERE name = 'parking';
SELECT slipring.nack(receipt) FROM slipring.receive('parking', 20);
SELECT slipring.store_kick(queue_id, 20, 0) FROM slipring.queue WHERE name = 'parking';
SELECT slipring.nack(receipt) FROM slipring.receive('parking', 20);
SELECT slipring.store_kick(queue_id, 20, 0) FROM slipring.queue WHERE name = 'parking';
SELECT slipring.nack(receipt) FROM slipring.receive('parking', 20);
