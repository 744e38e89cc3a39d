-- Purpose: whether a text can be read by a server, which reads UTF-8. In a database without an encoding (SQL_ASCII)
--          PostgreSQL does not check it.
-- Inputs:  p_text.
-- Lock:    none.
-- Index:   none. For databases with an encoding callers do not ask: the handler is a subtransaction.
CREATE OR REPLACE FUNCTION slipring.text_is_utf8(p_text text)
RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN convert_from(convert_to(p_text, 'SQL_ASCII'), 'UTF8') IS NOT NULL;
EXCEPTION WHEN character_not_in_repertoire OR untranslatable_character THEN
    RETURN false;
END $$;
