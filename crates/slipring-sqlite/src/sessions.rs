//! The end of leases of connections whose process is no more, when the first process opens the
//! file.

use slipring::Timestamp;

use crate::fault::Outcome;
use crate::passes::PASS_MESSAGES_MAX;
use crate::position::{from_sql, to_sql};
use crate::statements::Query;
use crate::writer::{Core, Writer};

impl Writer<'_> {
    /// Sets the deadline of leases of connections to 0, of at most a pass at a time, from a
    /// position on, which it moves; answers whether there may be more.
    pub(crate) fn end_sessions(&mut self, from: &mut u64) -> Outcome<bool> {
        let limit = to_sql(PASS_MESSAGES_MAX);
        let values = [to_sql(*from), limit];
        let leases: Vec<i64> =
            self.db.all(Query::EndLeaseSessions, values, |row| row.get::<_, i64>(0))?;
        let items = self.db.execute(Query::EndItemSessions, [limit])?;
        // Rows of an update come in no order.
        *from = leases.iter().max().map_or(*from, |last| from_sql(*last) + 1);
        Ok(items > 0 || !leases.is_empty())
    }

    /// A pass over the leases that [`Writer::end_sessions`] has ended; answers whether there are
    /// more.
    pub(crate) fn lapse_sessions(&mut self) -> Outcome<bool> {
        let pass = self.expire(Timestamp::from_millis(0))?;
        Ok(pass.next == Some(Timestamp::from_millis(0)))
    }
}

/// Ends the leases of connections of processes that are no more, as lapses (see the failure table
/// of `docs/semantics.md`), in steps. A full file or disk opens all the same, so that it can be
/// emptied: those for which there is no room end in later passes, or at their deadlines.
pub(crate) fn end_sessions(core: &mut Core) -> Outcome<()> {
    match end_all(core) {
        Err(fault) if fault.is_full() => {
            let error = fault.into_error();
            tracing::warn!(%error, "not all reservations of connections that are gone end now");
            Ok(())
        }
        ended => ended,
    }
}

fn end_all(core: &mut Core) -> Outcome<()> {
    let mut from = 0;
    while core.alone(|writer| writer.end_sessions(&mut from))? {}
    while core.alone(|writer| writer.lapse_sessions())? {}
    Ok(())
}
