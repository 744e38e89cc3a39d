-- Purpose: a name as an error shows it: quoted where it is empty or has characters that no queue's name
--          has, cut where it has more than 80.
-- Inputs:  p_name, or null, which is shown as null.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.name_shown(p_name text)
RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN p_name IS NULL THEN 'null'
        WHEN p_name ~ '^[-A-Za-z0-9+/;.$_()]+$' THEN left(p_name, 80)
        ELSE quote_literal(left(p_name, 80)) END
        || CASE WHEN length(p_name) > 80 THEN format('... (%s characters)', length(p_name))
        ELSE '' END
$$;
