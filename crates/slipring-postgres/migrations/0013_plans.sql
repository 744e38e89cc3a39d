-- Purpose: indexes that only their own statements can use.
-- Inputs:  none.
-- Lock:    ACCESS EXCLUSIVE on the tables whose indexes it makes anew.
-- Index:   those named below, instead of those of the same names.
--
-- Plans are made while tables are empty: a rotation throws them away together with the rows. All
-- indexes are alike then, and one that only begins with the same column was taken, or one that only
-- has the same condition, by which a call walked over all that was written since. Each of these
-- begins with an expression that stands in the statements that are to use it and nowhere else, and
-- so does its condition. They are no larger: the expression takes the room of the columns and of
-- what aligned them.

DROP INDEX slipring.item_order, slipring.item_order_new, slipring.item_sent,
    slipring.lease_deadline, slipring.ack_queue, slipring.fifo_group_line,
    slipring.fifo_group_new;

CREATE INDEX item_order ON slipring.item_picture ((queue_id * 8::bigint + state), turn, id)
    WHERE state + 0 < 4;
CREATE INDEX item_order_new ON slipring.item_picture ((queue_id * 16::bigint + state), entry)
    WHERE state + 1 < 5;
CREATE INDEX item_sent ON slipring.item_picture ((queue_id * 2::bigint), sent_ms, id)
    WHERE state + 2 < 6;
CREATE INDEX lease_deadline ON slipring.lease ((queue_id * 2::bigint), deadline_ms);
CREATE INDEX ack_queue ON slipring.ack ((queue_id * 2::bigint), id);
CREATE INDEX fifo_group_line ON slipring.fifo_group ((queue_id * 2::bigint), turn)
    WHERE turn + 0 IS NOT NULL;
CREATE INDEX fifo_group_new ON slipring.fifo_group ((queue_id * 4::bigint), entry)
    WHERE turn + 1 IS NOT NULL;
