-- Purpose: checks a message that is sent by SQL against the limits (S12).
-- Inputs:  p_queue; what was given to send; p_index, its place among several, from 0, or null.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.message_check(
    p_queue slipring.queue, p_body bytea, p_priority bigint, p_group text, p_dedup_id text,
    p_headers text, p_index int)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_bytes bigint := octet_length(p_body) + slipring.headers_bytes(p_headers)
        + coalesce(octet_length(p_group), 0) + coalesce(octet_length(p_dedup_id), 0);
    v_facts jsonb := jsonb_strip_nulls(jsonb_build_object('queue', p_queue.name, 'index', p_index));
    v_headers bigint;
BEGIN
    IF p_body IS NULL THEN
        PERFORM slipring.fail('SR007', 'the body is null; send an empty one instead', v_facts);
    ELSIF p_priority IS NULL OR p_priority NOT BETWEEN 0 AND {{PRIORITY_MAX}} THEN
        PERFORM slipring.fail('SR007', format('the priority is %s; give 0 to {{PRIORITY_MAX}}',
            coalesce(p_priority::text, 'null')), v_facts);
    ELSIF v_bytes > p_queue.message_bytes_max THEN
        PERFORM slipring.fail_limit(p_queue.name, 'message_bytes_max',
            p_queue.message_bytes_max, v_bytes, p_index);
    ELSIF octet_length(p_group) > {{GROUP_BYTES_MAX}} THEN
        PERFORM slipring.fail_limit(p_queue.name, 'group_bytes_max', {{GROUP_BYTES_MAX}},
            octet_length(p_group), p_index);
    ELSIF octet_length(p_dedup_id) > {{DEDUP_ID_BYTES_MAX}} THEN
        PERFORM slipring.fail_limit(p_queue.name, 'dedup_id_bytes_max', {{DEDUP_ID_BYTES_MAX}},
            octet_length(p_dedup_id), p_index);
    ELSIF getdatabaseencoding() = 'SQL_ASCII'
        AND NOT slipring.text_is_utf8(concat_ws(' ', p_group, p_dedup_id, p_headers))
    THEN
        PERFORM slipring.fail('SR007', 'the group, the deduplication id or a header is not UTF-8; give '
            'convert_from(convert_to(text, ''SQL_ASCII''), ''LATIN1'') or whatever it is', v_facts);
    ELSIF p_headers IS NOT NULL THEN
        v_headers := (SELECT count(*) FROM jsonb_object_keys(p_headers::jsonb));
        IF v_headers > {{HEADERS_MAX}} THEN
            PERFORM slipring.fail_limit(p_queue.name, 'headers_max', {{HEADERS_MAX}}, v_headers, p_index);
        END IF;
    END IF;
END $$;
