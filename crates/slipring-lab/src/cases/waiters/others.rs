//! What other programs used of the processors during the case: it decides what P95 is worth.

use anyhow::Result;

use crate::process::machine_cpu_seconds;
use crate::time::{monotonic_ns, processor_ns};

/// The processors at the start of the case.
pub struct Others {
    began_ns: u64,
    own_ns: u64,
    machine_seconds: f64,
}

impl Others {
    /// From now on.
    ///
    /// # Errors
    /// When the kernel does not say.
    pub fn now() -> Result<Others> {
        let machine_seconds = machine_cpu_seconds()?;
        Ok(Others { began_ns: monotonic_ns(), own_ns: processor_ns(), machine_seconds })
    }

    /// What others used since, in percent of one processor.
    fn percent(&self) -> Result<f64> {
        let own = (processor_ns() - self.own_ns) as f64 / 1e9;
        let seconds = (monotonic_ns() - self.began_ns).max(1) as f64 / 1e9;
        Ok(((machine_cpu_seconds()? - self.machine_seconds - own) / seconds).max(0.0) * 100.0)
    }

    /// The same as a note.
    ///
    /// # Errors
    /// When the kernel does not say.
    pub fn note(&self) -> Result<String> {
        let percent = self.percent()?;
        let advice = if percent < 15.0 { "" } else { ": believe no ratio of P95" };
        Ok(format!("other programs used {percent:.0} % of one processor meanwhile{advice}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_use_is_told_and_judged() {
        let busy =
            Others { began_ns: monotonic_ns(), own_ns: processor_ns(), machine_seconds: 0.0 };
        assert!(busy.percent().unwrap() > 15.0, "all the time of the machine within a moment");
        assert!(busy.note().unwrap().ends_with("believe no ratio of P95"));
        let machine_seconds = machine_cpu_seconds().unwrap() + 1e6;
        let quiet = Others { machine_seconds, ..busy };
        assert!(quiet.note().unwrap().contains(" 0 % of one processor"));
    }
}
