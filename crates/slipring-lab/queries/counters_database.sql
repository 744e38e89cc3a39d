-- Purpose: counters of this database: transactions, blocks, rows, temporary files, deadlocks.
-- Inputs: none.
-- Lock: none.
-- Index: none.
SELECT c.name, c.value::float8
FROM pg_stat_database AS d,
     LATERAL (VALUES
         ('commits', d.xact_commit::float8),
         ('rollbacks', d.xact_rollback),
         ('blocks read', d.blks_read),
         ('blocks found', d.blks_hit),
         ('block read ms', d.blk_read_time),
         ('block write ms', d.blk_write_time),
         ('rows returned', d.tup_returned),
         ('rows fetched', d.tup_fetched),
         ('rows inserted', d.tup_inserted),
         ('rows updated', d.tup_updated),
         ('rows deleted', d.tup_deleted),
         ('temporary bytes', d.temp_bytes),
         ('deadlocks', d.deadlocks),
         ('active ms', d.active_time),
         ('idle in transaction ms', d.idle_in_transaction_time)
     ) AS c (name, value)
WHERE d.datname = current_database()
