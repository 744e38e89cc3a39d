-- Purpose: appends a part to a load
-- Inputs: $1 load, $2 part, $3 checksum, $4 now_ms, $5 bodies, $6 priorities, $7 leases_ms,
--   $8 groups, $9 headers as JSON, $10 and $11 of packs, $12 sizes, $13 count, $14 the largest size
--   and $15 where it is; $16 wait_ms, see functions/store/in_turn.sql
-- Lock: see functions/store/store_load_append.sql
-- Index: see functions/store/store_load_append.sql
SELECT slipring.store_load_append(slipring.in_turn($1, $16), $2, $3, $4, $5, $6, $7, $8, $9, $10,
  $11, $12, $13, $14, $15)
