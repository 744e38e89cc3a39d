-- Purpose: what is due or lapses is found queue by queue.
-- Inputs:  none. The marks of all queues together (queue 0) are not read any more, and go with their
--          tables.
-- Lock:    ACCESS EXCLUSIVE on item_picture, while an index is built.
-- Index:   item_order_new anew, for all states; item_time and item_time_new are not needed any more.

DROP INDEX slipring.item_time, slipring.item_time_new, slipring.item_order_new;
CREATE INDEX item_order_new ON slipring.item_picture (queue_id, state, entry) WHERE state < 4;
