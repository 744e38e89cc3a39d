//! A session of a test stops within a function of the store while others do something.

use tokio_postgres::Client;

use crate::{Cluster, Database, run, waiting};

impl Cluster {
    /// Runs `step`, which is the owner's, stops it where it first calls a function of the store on
    /// whose arguments `when` holds, lets `meanwhile` be done, and lets the step go on. Answers
    /// what the step answers. The function waits before each later call, too, but nobody keeps it.
    ///
    /// # Panics
    /// When the step does not call the function.
    pub async fn amid<T>(
        &self,
        database: &Database,
        owner: &Client,
        (function, when): (&str, &str),
        step: impl Future<Output = T>,
        meanwhile: impl Future<Output = ()>,
    ) -> T {
        run(owner, &halting(function, when)).await;
        run(owner, "SET test.halt = on").await;
        let keeper = self.client(database).await;
        run(&keeper, "SELECT pg_advisory_lock(77)").await;
        let others = async {
            waiting(&keeper, "advisory", 1).await;
            meanwhile.await;
            run(&keeper, "SELECT pg_advisory_unlock(77)").await;
        };
        let (done, ()) = tokio::join!(step, others);
        run(owner, "SET test.halt = off").await;
        done
    }
}

/// Puts a function in the place of another of the same name and arguments, which waits for advisory
/// lock 77 in a session with `test.halt`, and then calls it.
fn halting(function: &str, when: &str) -> String {
    format!(
        "DO $do$
        DECLARE
            f record;
        BEGIN
            SELECT p.oid, pg_get_function_arguments(p.oid) AS arguments,
                pg_get_function_result(p.oid) AS result,
                (SELECT string_agg('$' || n, ', ') FROM generate_series(1, p.pronargs) n) AS given
            INTO STRICT f FROM pg_proc p
            WHERE p.pronamespace = 'slipring'::regnamespace AND p.proname = '{function}';
            EXECUTE format('ALTER FUNCTION %s RENAME TO {function}_itself', f.oid::regprocedure);
            EXECUTE format('CREATE FUNCTION slipring.{function}(%s) RETURNS %s LANGUAGE sql AS $f$
                SELECT pg_advisory_xact_lock(77)
                WHERE current_setting(''test.halt'', true) = ''on'' AND ({when});
                SELECT * FROM slipring.{function}_itself(%s) $f$', f.arguments, f.result, f.given);
        END $do$"
    )
}
