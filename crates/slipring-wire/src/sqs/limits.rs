//! The limits of the protocol, with the values AWS documents.

/// What requests are checked against. All inclusive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Largest message in bytes, attributes counted, and largest batch. Default 1 MiB.
    pub message_bytes_max: u64,
    /// Most entries of a batch. Default 10.
    pub batch_entries_max: usize,
    /// Longest id of a batch entry in bytes. Default 80.
    pub entry_id_bytes_max: usize,
    /// Most attributes of a message. Default 10.
    pub message_attributes_max: usize,
    /// Longest name of a message attribute, and longest type, in characters. Default 256.
    pub attribute_name_chars_max: usize,
    /// Longest message group or deduplication id in bytes. Default 128.
    pub fifo_id_bytes_max: usize,
    /// Longest delay in seconds. Default 900.
    pub delay_seconds_max: i64,
    /// Longest visibility timeout in seconds, and longest time from a receive on. Default 43,200.
    pub visibility_seconds_max: i64,
    /// Longest wait of a receive in seconds. Default 20.
    pub wait_seconds_max: i64,
    /// Most messages of one receive. Default 10.
    pub receive_messages_max: i64,
    /// Most results of one page of a list. Default 1,000.
    pub page_max: i64,
    /// Longest queue name in bytes, `.fifo` counted. Default 80.
    pub queue_name_bytes_max: usize,
    /// Most tags of a queue. Default 50.
    pub tags_max: usize,
    /// Most messages per second of a move task. Default 500.
    pub move_rate_max: i64,
    /// Most move tasks listed. Default 10.
    pub move_tasks_listed_max: i64,
    /// Most actions of a permission. Default 7.
    pub permission_actions_max: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            message_bytes_max: 1 << 20,
            batch_entries_max: 10,
            entry_id_bytes_max: 80,
            message_attributes_max: 10,
            attribute_name_chars_max: 256,
            fifo_id_bytes_max: 128,
            delay_seconds_max: 900,
            visibility_seconds_max: 43_200,
            wait_seconds_max: 20,
            receive_messages_max: 10,
            page_max: 1_000,
            queue_name_bytes_max: 80,
            tags_max: 50,
            move_rate_max: 500,
            move_tasks_listed_max: 10,
            permission_actions_max: 7,
        }
    }
}
