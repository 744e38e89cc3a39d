//! The machine's monotonic clock as a number that means the same in every process.

use nix::time::{ClockId, clock_gettime};

/// Nanoseconds of `CLOCK_MONOTONIC`, comparable between processes of one boot of the machine.
pub fn monotonic_ns() -> u64 {
    nanoseconds(ClockId::CLOCK_MONOTONIC)
}

/// Processor time of this process in nanoseconds, as a user and in the kernel, all threads.
pub fn processor_ns() -> u64 {
    nanoseconds(ClockId::CLOCK_PROCESS_CPUTIME_ID)
}

fn nanoseconds(clock: ClockId) -> u64 {
    // The clocks are there on every Linux; were one not, all its durations would show as zero.
    let Ok(time) = clock_gettime(clock) else { return 0 };
    let seconds = u64::try_from(time.tv_sec()).unwrap_or(0);
    seconds * 1_000_000_000 + u64::try_from(time.tv_nsec()).unwrap_or(0)
}

/// The wall clock in milliseconds since 1970.
pub fn wall_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// A date as `YYYY-MM-DD`, from seconds since 1970-01-01 UTC.
pub fn date(unix_seconds: u64) -> String {
    // Days are counted from 0000-03-01, so that the leap day is the last of its year.
    let days = unix_seconds / 86_400 + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let leaps = day_of_era / 1460 + day_of_era / 146_096 - day_of_era / 36_524;
    let year_of_era = (day_of_era - leaps) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(951_782_400), "2000-02-29");
        assert_eq!(date(1_709_251_199), "2024-02-29");
        assert_eq!(date(1_795_219_200), "2026-11-21");
    }

    #[test]
    fn the_clock_does_not_run_backwards() {
        let earlier = monotonic_ns();
        assert!(earlier > 0 && monotonic_ns() >= earlier);
        assert!(processor_ns() > 0);
    }
}
