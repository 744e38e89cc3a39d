-- Purpose: counts how many deliveries of a queue went past messages that failed again and again.
-- Inputs:  none.
-- Lock:    ACCESS EXCLUSIVE on state.
-- Index:   none.
-- The turn of a picture that is ready in a standard queue is from now on its priority and its
-- standing, see item_turn; one that was ready before keeps its turn until it is handed out the
-- next time.
-- The first ready messages of one standing, see claim_share.
CREATE TYPE slipring.feed AS (
    -- The lane of the log's messages, 0 of those with pictures.
    ats int[],
    turns bigint[],
    ranks bigint[],
    ids bigint[],
    sizes int[],
    own bigint[],
    attempts bigint[],
    fences bigint[]
);

ALTER TABLE slipring.state ADD COLUMN passed_over int NOT NULL DEFAULT 0;
