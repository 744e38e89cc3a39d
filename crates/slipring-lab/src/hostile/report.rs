//! What the attacks did, as tables and checks.

use super::good::Tally;
use super::phase::{Phase, Scene};
use crate::findings::{Findings, Table};
use crate::run::condition::{Condition, number};

/// The server's memory stays below this, in megabytes.
const RESIDENT_MB_MAX: f64 = 400.0;
/// 99 of 100 sends of a good client are answered within this.
const P99_MS_MAX: f64 = 100.0;
/// All is as before within so long after the crowd has left.
const RECOVERY_S_MAX: f64 = 5.0;

/// Adds the tables and the checks of all phases; limits on times are no checks of a smoke run.
pub fn add(findings: &mut Findings, scene: &Scene<'_>, phases: &[Phase], smoke: bool) {
    findings.notes.push(format!(
        "{} hostile connections of each kind for {:.1} s, from 127.0.0.1 to 127.0.0.8; who is let \
         go comes again after 1 s. Good clients at each listener, from 127.0.0.1: one stays and \
         sends every 20 ms, one comes anew every 50 ms. The server as it is by default",
        number(scene.connections as f64),
        scene.length.as_secs_f64()
    ));
    findings.tables.push(server(phases));
    for (title, tallies) in [
        ("sends of those who stay", Phase::staying as fn(&Phase) -> &[Tally]),
        ("sends of those who come anew", Phase::anew),
    ] {
        findings.tables.push(sends(title, phases, tallies));
    }
    for phase in phases {
        let conditions = conditions(phase);
        let kept = conditions.into_iter().filter(|asked| !(smoke && asked.limits_a_time()));
        findings.conditions.extend(kept);
    }
}

/// Adds the check that no answered send was lost, of as many messages as the queue holds.
pub fn account(findings: &mut Findings, phases: &[Phase], stored: u64) {
    let answered: u64 = phases.iter().map(|phase| phase.answered).sum();
    let lost = answered.saturating_sub(stored);
    let target = format!("lost of {answered} answered sends");
    findings.conditions.push(Condition::at_most(&target, "messages", lost as f64, 0.0));
}

impl Phase {
    fn staying(&self) -> &[Tally] {
        &self.staying
    }

    fn anew(&self) -> &[Tally] {
        &self.anew
    }
}

fn server(phases: &[Phase]) -> Table {
    let heads = ["attack", "most at once", "came", "ended", "failed", "files", "MB", "cpu s"];
    let more = ["recovery s", "other programs %"];
    let mut table = Table::new("crowd and server", &[&heads[..], &more].concat());
    for phase in phases {
        let seen = phase.crowd;
        let counts = [seen.most, seen.came, seen.ended, seen.failed].map(|count| count as f64);
        let recovery = phase.recovery.as_secs_f64();
        let server = [phase.files as f64, phase.resident_mb, phase.cpu_s];
        let figures = counts.into_iter().chain(server).chain([recovery, phase.others_percent]);
        let cells = figures.map(number);
        table.row(std::iter::once(phase.attack.name()).chain(cells));
    }
    table
}

fn sends(title: &str, phases: &[Phase], tallies: fn(&Phase) -> &[Tally]) -> Table {
    let columns = ["attack", "at", "sends", "tried again", "P50 ms", "P99 ms", "longest ms"];
    let mut table = Table::new(title, &columns);
    for phase in phases {
        for tally in tallies(phase) {
            let seen = tally.latencies.percentiles();
            let counts = [seen.count as f64, tally.again as f64];
            let times = [seen.p50_us, seen.p99_us, seen.max_us].map(|us| us / 1e3);
            let names = [phase.attack.name(), tally.listener.name().to_owned()];
            let figures = counts.into_iter().chain(times).map(number);
            table.row(names.into_iter().chain(figures));
        }
    }
    table
}

fn conditions(phase: &Phase) -> Vec<Condition> {
    let name = phase.attack.name();
    let memory = format!("{name}: memory");
    let mut all = vec![Condition::at_most(&memory, "MB", phase.resident_mb, RESIDENT_MB_MAX)];
    for tally in &phase.staying {
        let (at, seen) = (tally.listener.name(), tally.latencies.percentiles());
        let p99 = format!("{name}: P99 at {at}");
        all.push(Condition::at_most(&p99, "ms", seen.p99_us / 1e3, P99_MS_MAX));
    }
    let cut: u64 = phase.staying.iter().map(|tally| tally.again).sum();
    let target = format!("{name}: cut or refused who stay");
    all.push(Condition::at_most(&target, "sends", cut as f64, 0.0));
    let recovery = format!("{name}: recovery");
    let seconds = phase.recovery.as_secs_f64();
    all.push(Condition::at_most(&recovery, "s", seconds, RECOVERY_S_MAX));
    all
}
