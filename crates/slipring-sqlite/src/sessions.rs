//! The end of leases of connections whose process is no more, when the first process opens the
//! file.

use slipring::Timestamp;

use crate::fault::Outcome;
use crate::passes::PASS_MESSAGES_MAX;
use crate::position::{from_sql, to_sql};
use crate::statements::Query;
use crate::writer::Writer;

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
