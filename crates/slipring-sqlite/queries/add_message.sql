-- Purpose: appends a message
-- Inputs: ?1 position, ?2 sent, ?3 bytes_sum, ?4 body, ?5 extra_bytes, ?6 lease_ms, ?7 group_name,
--   ?8 dedup_id, ?9 headers
-- Lock: the write lock, held by the transaction
-- Index: primary key of message
INSERT INTO message (position, sent, bytes_sum, body, extra_bytes, lease_ms, group_name, dedup_id,
    headers)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
