//! The numbers of `functions/constants.txt`, for what Rust has to know of them.
#![allow(dead_code, reason = "most of them are for functions only")]

include!(concat!(env!("OUT_DIR"), "/constants.rs"));

#[cfg(test)]
mod tests {
    use slipring::{QueueName, load};

    use super::*;

    #[test]
    fn what_the_core_knows_as_well_is_the_same() {
        assert_eq!(u128::from(LOAD_KEPT_MS.unsigned_abs()), load::KEPT.as_millis());
        assert_eq!(usize::try_from(QUEUE_NAME_MAX), Ok(QueueName::BYTES_MAX));
    }
}
