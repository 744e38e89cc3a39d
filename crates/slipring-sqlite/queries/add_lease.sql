-- Purpose: leases a range of the log
-- Inputs: ?1 first_position, ?2 last_position, ?3 leased_ms, ?4 deadline_ms, ?5 session
-- Lock: the write lock, held by the transaction
-- Index: primary key of lease
INSERT INTO lease (first_position, last_position, leased_ms, deadline_ms, session)
VALUES (?1, ?2, ?3, ?4, ?5)
