//! The statements in `queries/`: compiled in as text, prepared once for each connection.

use std::cell::{RefCell, RefMut};
use std::sync::LazyLock;

use rusqlite::{CachedStatement, Connection, Params, Row};

macro_rules! queries {
    ($($name:ident $file:literal,)*) => {
        /// A file of `queries/`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Query {
            $(#[doc = concat!("`queries/", $file, ".sql`")] $name,)*
        }

        /// The text of every query, in the order of [`Query`].
        const TEXTS: &[&str] = &[$(include_str!(concat!("../queries/", $file, ".sql")),)*];

        #[cfg(test)]
        const FILES: &[&str] = &[$($file,)*];
    };
}

queries! {
    Begin "begin",
    BeginRead "begin_read",
    Commit "commit",
    Rollback "rollback",
    DataVersion "data_version",
    PageCount "page_count",
    FreePages "free_pages",
    VacuumMode "vacuum_mode",
    GiveBack "give_back",
    Probe "probe",
    Queue "queue",
    Queues "queues",
    QueueChanges "queue_changes",
    QueueIdByName "queue_id_by_name",
    TakeQueueId "take_queue_id",
    AddQueue "add_queue",
    SetQueue "set_queue",
    DeleteQueue "delete_queue",
    RememberedId "remembered_id",
    DeletedQueue "deleted_queue",
    LaneOfQueue "lane_of_queue",
    ClearGroups "clear_groups",
    ClearDedup "clear_dedup",
    ClearItemCount "clear_item_count",
    ClearQueue "clear_queue",
    Gate "gate",
    Pauses "pauses",
    QueuesWithRetention "queues_with_retention",
    LastSent "last_sent",
    SetLastSent "set_last_sent",
    AnythingTimed "anything_timed",
    LanesOfQueue "lanes_of_queue",
    LaneById "lane_by_id",
    QueueOfLane "queue_of_lane",
    TakeLaneId "take_lane_id",
    AddLane "add_lane",
    FreeLane "free_lane",
    FreeLanes "free_lanes",
    TakeFreeLane "take_free_lane",
    RaiseTail "raise_tail",
    LaneTail "lane_tail",
    RelabelLane "relabel_lane",
    SetLane "set_lane",
    DeleteLane "delete_lane",
    AddPlain "add_plain",
    AddMessage "add_message",
    LogAfter "log_after",
    LogSizes "log_sizes",
    LogSums "log_sums",
    LogBytes "log_bytes",
    OwnLease "own_lease",
    GroupOfLog "group_of_log",
    LastOfLog "last_of_log",
    OldestOfLog "oldest_of_log",
    FirstSent "first_sent",
    DeleteFromLog "delete_from_log",
    LogToItems "log_to_items",
    AddLease "add_lease",
    DeleteLease "delete_lease",
    DeleteLeases "delete_leases",
    LeaseAt "lease_at",
    LeasesInOrder "leases_in_order",
    LapsedLease "lapsed_lease",
    NextLapse "next_lapse",
    NextLaneOfLeases "next_lane_of_leases",
    EndLeaseSessions "end_lease_sessions",
    ItemHead "item_head",
    Failures "failures",
    SetFailures "set_failures",
    ItemMessage "item_message",
    ItemsOfState "items_of_state",
    FirstItems "first_items",
    ItemsInOrder "items_in_order",
    AddItem "add_item",
    SetItem "set_item",
    DeleteItem "delete_item",
    LastItem "last_item",
    ItemsBefore "items_before",
    ItemSizes "item_sizes",
    OldestItem "oldest_item",
    NewestItem "newest_item",
    DueItems "due_items",
    NextDue "next_due",
    NthDue "nth_due",
    NextSlot "next_slot",
    SlotIds "slot_ids",
    OpenSlotItem "open_slot_item",
    ItemsOfSlot "items_of_slot",
    LapsedItems "lapsed_items",
    NextItemLapse "next_item_lapse",
    NextQueueOfItems "next_queue_of_items",
    EndItemSessions "end_item_sessions",
    NextSource "next_source",
    ItemsOfSource "items_of_source",
    FirstOfNextTurn "first_of_next_turn",
    FirstReadyItem "first_ready_item",
    ItemCount "item_count",
    SetItemCount "set_item_count",
    GroupByName "group_by_name",
    AddGroup "add_group",
    FirstOfGroup "first_of_group",
    SetGroup "set_group",
    DeleteGroup "delete_group",
    OpenGroups "open_groups",
    MessagesOfGroup "messages_of_group",
    GroupOfItem "group_of_item",
    FirstOfGroups "first_of_groups",
    DedupFirst "dedup_first",
    DedupRemember "dedup_remember",
    ForgetDedup "forget_dedup",
    IdsFrom "ids_from",
    SetIdsFrom "set_ids_from",
    AddLoad "add_load",
    Load "load",
    Loads "loads",
    OpenLoads "open_loads",
    OpenLoad "open_load",
    OldLoad "old_load",
    SetLoad "set_load",
    DeleteLoad "delete_load",
    DeleteLoads "delete_loads",
    LeaveLoad "leave_load",
    PublishLanes "publish_lanes",
    AddPart "add_part",
    Part "part",
    Parts "parts",
    ClearParts "clear_parts",
    NextDedupEnd "next_dedup_end",
}

const COUNT: usize = TEXTS.len();

/// The statements of a connection for as long as a task works with it. Each is taken from the
/// connection's cache when it is first used, and from then on found by its number.
pub(crate) struct Statements<'c> {
    connection: &'c Connection,
    taken: [RefCell<Option<CachedStatement<'c>>>; COUNT],
}

/// Lets a connection keep all statements.
pub(crate) fn keep_statements(connection: &Connection) {
    connection.set_prepared_statement_cache_capacity(COUNT);
}

/// A query without the comments at its head, which are many times longer.
fn text(query: Query) -> &'static str {
    static BARE: LazyLock<Vec<&'static str>> =
        LazyLock::new(|| TEXTS.iter().map(|text| bare(text)).collect());
    BARE.get(query as usize).copied().unwrap_or_default()
}

fn bare(text: &str) -> &str {
    let head: usize =
        text.split_inclusive('\n').take_while(|l| l.starts_with("--")).map(str::len).sum();
    text.get(head..).unwrap_or(text).trim()
}

impl<'c> Statements<'c> {
    pub(crate) fn new(connection: &'c Connection) -> Statements<'c> {
        Statements { connection, taken: [const { RefCell::new(None) }; COUNT] }
    }

    pub(crate) fn connection(&self) -> &'c Connection {
        self.connection
    }

    /// The statement of a query. The same query must not be in use already.
    pub(crate) fn get(&self, query: Query) -> rusqlite::Result<RefMut<'_, CachedStatement<'c>>> {
        let slot = self.taken.get(query as usize).ok_or(rusqlite::Error::InvalidQuery)?;
        let mut slot = slot.try_borrow_mut().map_err(|_| rusqlite::Error::InvalidQuery)?;
        if slot.is_none() {
            *slot = Some(self.connection.prepare_cached(text(query))?);
        }
        RefMut::filter_map(slot, Option::as_mut).map_err(|_| rusqlite::Error::InvalidQuery)
    }

    /// Runs a statement to its end; answers how many rows it changed.
    pub(crate) fn execute(&self, query: Query, values: impl Params) -> rusqlite::Result<usize> {
        let mut statement = self.get(query)?;
        if statement.column_count() == 0 {
            return statement.execute(values);
        }
        let mut rows = statement.query(values)?;
        while rows.next()?.is_some() {}
        Ok(0)
    }

    /// The first row of a query, if there is one.
    pub(crate) fn first<T>(
        &self,
        query: Query,
        values: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<Option<T>> {
        let mut statement = self.get(query)?;
        let mut rows = statement.query(values)?;
        rows.next()?.map(read).transpose()
    }

    /// All rows of a query; for queries whose number of rows is bounded.
    pub(crate) fn all<T>(
        &self,
        query: Query,
        values: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<Vec<T>> {
        self.get(query)?.query_map(values, read)?.collect()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use rusqlite::StatementStatus;

    use super::*;

    /// Statements that the code runs before there is a writer.
    const ELSEWHERE: [&str; 2] = ["new_store", "receipt_key"];

    const NO_PLAN: [&str; 4] = ["BEGIN", "COMMIT", "ROLLBACK", "PRAGMA"];

    fn migrated() -> Connection {
        let mut connection = Connection::open_in_memory().unwrap();
        crate::open::keep_plans(&connection).unwrap();
        crate::migrate::up(&mut connection, &crate::SqliteOptions::default()).unwrap();
        connection
    }

    #[test]
    fn every_file_is_used_and_fits_the_schema() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("queries");
        let mut found: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
            .collect();
        found.sort();
        let mut used: Vec<&str> = FILES.iter().chain(&ELSEWHERE).copied().collect();
        used.sort_unstable();
        assert_eq!(found, used);
        let connection = migrated();
        for (file, text) in FILES.iter().zip(TEXTS) {
            assert!(connection.prepare(text).is_ok(), "{file} does not fit the schema");
        }
    }

    #[test]
    fn no_query_walks_a_table_or_sorts_what_an_index_has_in_order() {
        // The open leases of one lane, which are bounded by the queue's in_flight_max; a look at a
        // slot that nothing exact is before, which is opened soon.
        const SORTS: [&str; 2] = ["leases_in_order", "items_of_slot"];
        // All queues are listed; one ends at the first row of each table; the indexes of the others
        // hold only rows that are looked for.
        const SCANS: [&str; 6] =
            ["queues", "loads", "old_load", "anything_timed", "deleted_queue", "end_item_sessions"];
        // One look at the end of an index.
        const ENDS: [&str; 1] = ["dedup_until"];
        let connection = migrated();
        for (file, text) in FILES.iter().zip(TEXTS) {
            let text = bare(text);
            if NO_PLAN.iter().any(|word| text.starts_with(word)) {
                continue;
            }
            let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {text}")).unwrap();
            let values = vec![1_i64; plan.parameter_count()];
            let values = rusqlite::params_from_iter(values);
            let lines = plan.query_map(values, |row| row.get::<_, String>(3)).unwrap();
            for line in lines.map(Result::unwrap) {
                let scans = line.starts_with("SCAN ") && !SCANS.contains(file);
                // A walk that looks for the least or the greatest is called a search too.
                let scans = scans
                    || line.starts_with("SEARCH ")
                        && !line.contains('(')
                        && !ENDS.iter().any(|index| line.ends_with(index));
                let sorts = line.contains("TEMP B-TREE") && !SORTS.contains(file);
                assert!(!scans && !sorts, "{file}: {line}");
            }
        }
    }

    #[test]
    fn no_statement_is_planned_anew_for_other_values() {
        let connection = migrated();
        for (file, text) in FILES.iter().zip(TEXTS) {
            if NO_PLAN.iter().any(|word| bare(text).starts_with(word)) {
                continue;
            }
            let mut statement = connection.prepare(text).unwrap();
            for value in 1_i64..4 {
                let values = vec![value; statement.parameter_count()];
                let mut rows = statement.query(rusqlite::params_from_iter(values)).unwrap();
                // What these values are refused for is no matter here.
                while let Ok(Some(_)) = rows.next() {}
            }
            assert_eq!(statement.get_status(StatementStatus::RePrepare), 0, "{file}");
        }
    }
}
