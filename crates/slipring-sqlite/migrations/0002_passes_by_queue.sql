-- Purpose: deadlines are found queue by queue, so that what one queue holds costs the others
--          nothing. Those of items stand in item_order; those of the leases of the log are kept by
--          lane, which is the upper half of a position.

DROP INDEX item_due;

DROP INDEX item_deadline;

DROP INDEX lease_deadline;

CREATE INDEX lease_deadline ON lease (first_position >> 32, deadline_ms);
