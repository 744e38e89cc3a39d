-- Purpose: ends what act_as_owner has begun: roles are made by who migrates, who may have the right to
-- Inputs: none
-- Lock: none
-- Index: none
DO $$
BEGIN
    IF current_user <> current_setting('slipring.migrates') THEN
        PERFORM set_config('role', current_setting('slipring.migrates'), true);
    END IF;
END $$
