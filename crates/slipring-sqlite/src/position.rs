//! How the numbers in the file are made up: positions of messages, and moments of sending.

/// Bits of a position that number the message within its lane. 2³¹ lanes of 2³² − 1 messages each
/// fit into a row number of SQLite.
const SEQ_BITS: u32 = 32;

/// The last place in a lane.
pub(crate) const SEQ_MAX: u64 = (1 << SEQ_BITS) - 1;

/// The last lane.
pub(crate) const LANE_MAX: u64 = (1 << (63 - SEQ_BITS)) - 1;

/// Bits of a stamp that count within the millisecond.
const COUNT_BITS: u32 = 20;

/// The position of a place in a lane. Lane 0 begins with position 1.
pub(crate) fn position(lane: u64, seq: u64) -> u64 {
    (lane << SEQ_BITS) | seq
}

/// The lane of a position.
pub(crate) fn lane_of(position: u64) -> u64 {
    position >> SEQ_BITS
}

/// The place of a position in its lane.
pub(crate) fn seq_of(position: u64) -> u64 {
    position & SEQ_MAX
}

/// The first stamp of a millisecond. A stamp says when a message was sent and orders it before
/// all that were sent later, also within the millisecond and over all queues.
pub(crate) fn stamp_at(ms: u64) -> u64 {
    ms.min((1 << (63 - COUNT_BITS)) - 1) << COUNT_BITS
}

/// The time of a stamp in milliseconds.
pub(crate) fn stamp_ms(stamp: u64) -> u64 {
    stamp >> COUNT_BITS
}

/// A number as SQLite stores it. What does not fit becomes the largest number there is, which no
/// row has.
pub(crate) fn to_sql(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A stored number; the store never writes a negative one.
pub(crate) fn from_sql(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_names_its_lane_and_place_and_fits_a_row_number() {
        assert_eq!(position(0, 1), 1);
        let last = position(LANE_MAX, SEQ_MAX);
        assert_eq!((lane_of(last), seq_of(last)), (LANE_MAX, SEQ_MAX));
        assert_eq!(from_sql(to_sql(last)), last);
        assert!(position(7, SEQ_MAX) < position(8, 1));
        assert_eq!(to_sql(u64::MAX), i64::MAX);
    }

    #[test]
    fn stamps_keep_the_millisecond_and_order_within_it() {
        let first = stamp_at(1_700_000_000_000);
        assert_eq!(stamp_ms(first + 1000), 1_700_000_000_000);
        assert!(first + 1000 < stamp_at(1_700_000_000_001));
        assert!(i64::try_from(stamp_at(u64::MAX)).is_ok());
    }
}
