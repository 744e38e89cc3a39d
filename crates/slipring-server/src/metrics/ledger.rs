//! What a protocol notes of its commands: how long they took, and which errors were answered.

use std::sync::atomic::{AtomicU64, Ordering};

use slipring::clock::monotonic_ns;

use super::latency::Latency;
use super::text::Text;

/// The code of an error that no list names.
const OTHER: &str = "other";

/// The latencies and errors of one protocol. Nothing in it waits for anything.
#[derive(Debug)]
pub(crate) struct Ledger {
    commands: Vec<Took>,
    errors: Vec<(&'static str, AtomicU64)>,
}

#[derive(Debug)]
struct Took {
    command: &'static str,
    /// Of commands that do their work and are over.
    work: Latency,
    /// Of those that may wait for messages.
    polls: Latency,
}

impl Ledger {
    /// For the commands of these names, and errors of these codes.
    pub(crate) fn new(
        commands: impl IntoIterator<Item = &'static str>,
        codes: impl IntoIterator<Item = &'static str>,
    ) -> Ledger {
        let commands = commands.into_iter().map(|command| Took {
            command,
            work: Latency::default(),
            polls: Latency::default(),
        });
        let codes = codes.into_iter().chain([OTHER]);
        Ledger {
            commands: commands.collect(),
            errors: codes.map(|code| (code, AtomicU64::new(0))).collect(),
        }
    }

    /// So many commands of a number, in the order of the names, are over that began together at a
    /// moment of the process. `polls` says that they were ready to wait for messages.
    pub(crate) fn took(&self, command: usize, began_ns: u64, polls: bool, times: u64) {
        let took_ns = monotonic_ns().saturating_sub(began_ns);
        if let Some(took) = self.commands.get(command) {
            if polls { &took.polls } else { &took.work }.took(took_ns, times);
        }
    }

    /// So many commands were answered with an error of this code.
    pub(crate) fn failed(&self, code: &str, times: u64) {
        let known = self.errors.iter().find(|(known, _)| *known == code);
        if let Some((_, count)) = known.or(self.errors.last()) {
            count.fetch_add(times, Ordering::Relaxed);
        }
    }
}

/// The families of all protocols, each by its name.
pub(super) fn write(text: &mut Text, ledgers: &[(&'static str, &Ledger)]) {
    let help = "Errors that were answered, by protocol and code.";
    let mut family = text.counter("slipring_errors_total", help);
    for (protocol, ledger) in ledgers {
        for (code, count) in &ledger.errors {
            let count = count.load(Ordering::Relaxed);
            family.sample(&[("protocol", protocol), ("code", code)], count);
        }
    }
    let help = "From a command that is whole to its answer; without those that may wait.";
    histograms(text, "slipring_command_seconds", help, ledgers, |took| &took.work);
    let help = "The same of receives that may wait for messages.";
    histograms(text, "slipring_poll_seconds", help, ledgers, |took| &took.polls);
}

/// Commands that never came have no lines.
fn histograms(
    text: &mut Text,
    name: &'static str,
    help: &str,
    ledgers: &[(&'static str, &Ledger)],
    of: fn(&Took) -> &Latency,
) {
    let mut family = text.histogram(name, help);
    for (protocol, ledger) in ledgers {
        for took in &ledger.commands {
            if let Some(shown) = of(took).show() {
                let labels = [("protocol", *protocol), ("command", took.command)];
                family.histogram(&labels, &shown.bounds, shown.sum);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_and_polls_are_families_of_their_own_and_unknown_codes_are_counted_together() {
        let ledger = Ledger::new(["put", "reserve"], ["BAD"]);
        ledger.took(0, monotonic_ns(), false, 3);
        ledger.took(1, 0, true, 1);
        ledger.failed("BAD", 2);
        ledger.failed("WORSE", 1);
        let mut text = Text::default();
        write(&mut text, &[("p", &ledger)]);
        let text = text.finish();
        for line in [
            "slipring_errors_total{protocol=\"p\",code=\"BAD\"} 2",
            "slipring_errors_total{protocol=\"p\",code=\"other\"} 1",
            "slipring_command_seconds_bucket{protocol=\"p\",command=\"put\",le=\"60\"} 3",
            "slipring_command_seconds_count{protocol=\"p\",command=\"put\"} 3",
            "slipring_poll_seconds_count{protocol=\"p\",command=\"reserve\"} 1",
        ] {
            assert!(text.lines().any(|given| given == line), "{line} is not in\n{text}");
        }
        assert!(!text.contains("slipring_command_seconds_count{protocol=\"p\",command=\"reserve"));
    }
}
