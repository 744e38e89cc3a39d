-- Purpose: a name as an error shows it: quoted where it is empty or has characters that no queue's name
--          has, and what steers a terminal or is not seen as its code; cut where it has more than 80.
-- Inputs:  p_name, or null, which is shown as null.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.name_shown(p_name text)
RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN p_name IS NULL THEN 'null'
        WHEN p_name ~ '^[-A-Za-z0-9+/;.$_()]+$' THEN left(p_name, 80)
        ELSE quote_literal((
            SELECT string_agg(CASE
                WHEN c ~ '[\u0001-\u001f\u007f-\u00a0\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]'
                THEN '<' || lpad(upper(to_hex(ascii(c))), 4, '0') || '>' ELSE c END, '' ORDER BY n)
            FROM regexp_split_to_table(left(p_name, 80), '') WITH ORDINALITY u(c, n))) END
        || CASE WHEN length(p_name) > 80 THEN format('... (%s characters)', length(p_name))
        ELSE '' END
$$;
