-- Purpose: the slot of the tables of the shelf that is written now.
-- Inputs:  none.
-- Lock:    none; read outside MVCC, after the transaction has its number: whoever read an older
--          generation has a lower number than the mark that is set later. A caller that changes
--          pictures has the queue's lock by then, so newer pictures are never in older slots.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.shelf_slot()
RETURNS int LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_current_xact_id();
    RETURN pg_sequence_last_value('slipring.shelf') % 3;
END $$;
