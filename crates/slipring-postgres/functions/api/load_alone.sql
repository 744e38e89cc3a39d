-- Purpose: refuses a step of a load that takes effect for others in a transaction that has done
--          something else, or reads by an old snapshot.
-- Inputs:  p_name of the function.
-- Lock:    none.
-- Index:   none.
CREATE OR REPLACE FUNCTION slipring.load_alone(p_name text)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM slipring.isolation_check();
    IF pg_current_xact_id_if_assigned() IS NOT NULL THEN
        PERFORM slipring.fail('SR007', format('the transaction has written something; call %s in '
            'a transaction of its own', p_name), '{}');
    END IF;
END $$;
