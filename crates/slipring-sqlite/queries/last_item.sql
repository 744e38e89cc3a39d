-- Purpose: when the last item that got its number from a lane was sent
-- Inputs: ?1 before the lane's first position, ?2 the lane's last position
-- Lock: none
-- Index: primary key of item
SELECT sent FROM item WHERE id > ?1 AND id <= ?2 ORDER BY id DESC LIMIT 1
