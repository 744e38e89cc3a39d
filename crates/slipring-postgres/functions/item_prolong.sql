-- Purpose: sets the deadlines of leased rows of item; of several entries for one the last counts.
-- Inputs:  p_ids, p_untils_ms.
-- Lock:    the queue's lock.
-- Index:   item_pkey.
CREATE OR REPLACE FUNCTION slipring.item_prolong(p_ids bigint[], p_untils_ms bigint[])
RETURNS void LANGUAGE sql AS $$
    UPDATE slipring.item i SET turn = u.until_ms
    FROM (SELECT DISTINCT ON (u.id) u.* FROM unnest(p_ids, p_untils_ms)
              WITH ORDINALITY AS u(id, until_ms, n)
          ORDER BY u.id, u.n DESC) u
    WHERE i.id = u.id
$$;
