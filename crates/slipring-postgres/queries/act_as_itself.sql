-- Purpose: ends what act_as_owner has begun: the role that migrates may have the right to make roles, which the owner may lack
-- Inputs: none
-- Lock: none
-- Index: none
DO $$
BEGIN
    IF current_user <> current_setting('slipring.migrates') THEN
        PERFORM set_config('role', current_setting('slipring.migrates'), true);
    END IF;
END $$
