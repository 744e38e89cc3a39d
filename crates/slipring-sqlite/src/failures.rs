//! The failures that are kept of a message, in its row (S6.8). They move and go with the row.

use rusqlite::params;
use slipring::failures::keep;
use slipring::lifecycle::Settlement;
use slipring::{EndedBy, FailedAttempt, Timestamp};

use crate::fault::Outcome;
use crate::item::{ItemHead, failures_from_sql};
use crate::position::to_sql;
use crate::statements::Query;
use crate::writer::Writer;

/// The failure that a settlement is, if it is to be kept: one with a reason, or of a message of
/// which some are kept.
pub(crate) fn failure_of(
    how: &Settlement,
    some_are_kept: bool,
    attempt: u32,
    at: Timestamp,
) -> Option<FailedAttempt> {
    let ended_by = EndedBy::settlement(how)?;
    let reason = how.reason().cloned();
    (some_are_kept || reason.is_some()).then_some(FailedAttempt { attempt, at, ended_by, reason })
}

impl Writer<'_> {
    /// Adds the lapse of a lease to the row of a message of which failures are kept.
    pub(crate) fn keep_lapse(&mut self, head: &ItemHead, at: Timestamp) -> Outcome<()> {
        let (attempt, ended_by) = (head.attempts, EndedBy::Lapse);
        let failed = FailedAttempt { attempt, at, ended_by, reason: None };
        self.keep_failure(head.id, head.failed.then_some(failed))
    }

    /// Adds a failure to the row of a message.
    pub(crate) fn keep_failure(&mut self, id: u64, failed: Option<FailedAttempt>) -> Outcome<()> {
        let Some(failed) = failed else { return Ok(()) };
        let kept = self.db.first(Query::Failures, [to_sql(id)], |row| failures_from_sql(row, 0))?;
        let mut kept = kept.unwrap_or_default();
        keep(&mut kept, failed);
        // Numbers, names and texts always have a JSON form.
        let text = serde_json::to_string(&kept).unwrap_or_default();
        self.db.execute(Query::SetFailures, params![to_sql(id), text])?;
        Ok(())
    }
}
