//! Part (b) of the second case as tables and checks: one FIFO latch, a combiner, the engine.

use anyhow::{Context, Result};

use super::extents::{Discipline, Load, Loaded, PAGES, RECORDS_PER_EXTENT};
use super::measured::{Measured, Sizes, load_once};
use super::send_path::Sent;
use crate::findings::{Axis, Findings, Plot, Series, Table};
use crate::interrupt::Interrupt;
use crate::run::condition::{Condition, number};
use crate::targets::Wait;

/// What the engine's acquisitions of the log for one message may be, of the baseline's.
const FRACTION_MAX: f64 = 0.5;

/// Adds the tables, plot and checks of what was measured; of numbers of workers that lack a run,
/// nothing.
pub fn show(measured: &Measured, findings: &mut Findings) {
    findings.tables.push(published());
    let records = u64::from(measured.extents) * RECORDS_PER_EXTENT as u64;
    let mut table = Table::new(
        "ours: the same load here (acquisitions: of the latch, turns, transactions of the store)",
        &[
            "workers",
            "design",
            "records/s",
            "acquisitions",
            "per 1,000 records",
            "waits",
            "waits/append",
            "mean wait µs",
            "longest ms",
        ],
    );
    for (&workers, latch) in &measured.latch {
        let runs = (measured.combiner.get(&workers), measured.sent.get(&workers));
        let (Some(combiner), Some(sent)) = runs else { continue };
        let of = |count: u64| number(count as f64 / records as f64 * 1000.0);
        let log = &latch.log;
        table.row([
            workers.to_string(),
            "FIFO latch".into(),
            number(records as f64 / latch.seconds),
            log.acquisitions.to_string(),
            of(log.acquisitions),
            log.contended.to_string(),
            number(log.contended as f64 / log.acquisitions.max(1) as f64),
            mean_us(log.total_ns, log.contended),
            number(log.max_ns as f64 / 1e6),
        ]);
        let (turns, appends) = (&combiner.log, &combiner.appends);
        table.row([
            workers.to_string(),
            "combining log".into(),
            number(records as f64 / combiner.seconds),
            turns.acquisitions.to_string(),
            of(turns.acquisitions),
            appends.contended.to_string(),
            number(appends.contended as f64 / appends.acquisitions.max(1) as f64),
            mean_us(appends.total_ns, appends.contended),
            number(appends.max_ns as f64 / 1e6),
        ]);
        let commits = sent.of_class("sqlite.commit", |class| class.acquisitions);
        let turn = |figure: fn(&Wait) -> u64| sent.of_class("send_turn", figure);
        let contended = turn(|class| class.contended);
        table.row([
            workers.to_string(),
            "engine, durable".into(),
            number(sent.rate()),
            number(commits),
            number(commits / sent.messages as f64 * 1000.0),
            number(contended),
            number(contended / sent.calls()),
            number(turn(|class| class.total_ns) / contended.max(1.0) / 1000.0),
            number(turn(|class| class.max_ns) / 1e6),
        ]);
        findings.conditions.push(asked(workers, measured.extents, latch, sent));
    }
    findings.tables.push(table);
    findings.plots.push(rates(measured, records));
    findings.notes.extend(notes());
    wait_table(measured, findings);
}

/// The engine's acquisitions of the log for a message, as a part of the latch's.
fn asked(workers: usize, extents: u32, latch: &Loaded, sent: &Sent) -> Condition {
    let records = f64::from(extents) * RECORDS_PER_EXTENT as f64;
    let theirs = latch.log.acquisitions as f64 / records;
    let commits = sent.of_class("sqlite.commit", |class| class.acquisitions);
    let ours = commits / sent.messages as f64;
    let target = format!("engine's acquisitions a message, of the latch's, at {workers}");
    Condition::at_most(&target, "times", ours / theirs, FRACTION_MAX)
}

/// Every lock and wait of the engine on the way, at the most callers.
fn wait_table(measured: &Measured, findings: &mut Findings) {
    let Some(sent) = measured.sent.values().next_back() else { return };
    let title = format!(
        "the engine's wait table: {} messages by {} callers, {} in a call",
        sent.messages, sent.callers, sent.batch
    );
    let columns = ["class", "acquisitions", "contended", "total ms", "longest ms"];
    let mut table = Table::new(&title, &columns);
    for wait in sent.waits.iter().filter(|wait| wait.acquisitions > 0) {
        table.row([
            wait.name.clone(),
            wait.acquisitions.to_string(),
            wait.contended.to_string(),
            number(wait.total_ns as f64 / 1e6),
            number(wait.max_ns as f64 / 1e6),
        ]);
    }
    findings.tables.push(table);
}

fn mean_us(total_ns: u64, contended: u64) -> String {
    number(total_ns as f64 / contended.max(1) as f64 / 1000.0)
}

fn published() -> Table {
    let mut table =
        Table::new("published: a parallel insert of 7,373,280 KB into a heap", &["what", "figure"]);
    for (what, figure) in [
        ("extents of 64 KB", "115,208"),
        ("log records", "347,321"),
        ("acquisitions of the latch", "347,435"),
        ("of those for each of the three allocation pages", "115,192 115,189 115,187"),
        ("acquisitions an extent", "3.02"),
        ("latches in a quantum of 4 ms, one worker: faster, slower query", "150, 84"),
        ("fastest number of workers", "about 8"),
        ("acquisitions that wait at 16 to 24 workers", "nearly all"),
        ("with a busy query on one scheduler, 8 workers", "141,162 ms"),
        ("with a busy query on one scheduler, 16 workers", "82,245 ms"),
    ] {
        table.row([what.to_owned(), figure.to_owned()]);
    }
    table
}

fn notes() -> Vec<String> {
    vec![
        format!(
            "load: extents of 64 KB with {RECORDS_PER_EXTENT} records of 100 bytes, read back and \
             checked; each is entered in {PAGES} allocation pages, a log record of 64 bytes each, \
             which is appended to a file under the latch or in a turn"
        ),
        "the latch and the combining log leave pages to the file system and flush the log once at \
         the end; the engine's messages are durable when a call returns (durability full), so its \
         records/s stand beside the others only as a share of its own at other numbers of callers"
            .into(),
        "an acquisition of the engine is a transaction of the store; all its locks are in its wait \
         table; the fastest of the rounds is shown, which other programs disturbed least"
            .into(),
    ]
}

fn rates(measured: &Measured, records: u64) -> Plot {
    let line = |name: &str, points: Vec<(f64, f64)>| Series { name: name.into(), points };
    let loads = |runs: &std::collections::BTreeMap<usize, Loaded>| {
        let rate = |seconds: f64| records as f64 / seconds;
        runs.iter().map(|(&workers, run)| (workers as f64, rate(run.seconds))).collect()
    };
    let sent = measured.sent.iter().map(|(&callers, sent)| (callers as f64, sent.rate()));
    Plot {
        name: "measured".into(),
        title: "a load of extents through one log, measured".into(),
        x: Axis::linear("workers"),
        y: Axis::logarithmic("records/s"),
        series: vec![
            line("FIFO latch", loads(&measured.latch)),
            line("combining log", loads(&measured.combiner)),
            line("nothing shared", loads(&measured.apart)),
            line("engine, durable", sent.collect()),
        ],
    }
}

/// Workers of the load beside a busy thread: as many as are fastest in the published case.
const WORKERS_BESIDE: usize = 8;

/// Measures both designs with a busy thread on the core of the first worker, by turns, and adds
/// what was seen.
///
/// # Errors
/// When a load fails, or the run is to end.
pub fn beside_a_hog(sizes: &Sizes, stop: &Interrupt, findings: &mut Findings) -> Result<()> {
    if findings.head.machine.cores < 2 {
        let why = "one core only: no worker can run while another waits for the busy thread";
        findings.notes.push(why.into());
        return Ok(());
    }
    let columns =
        ["design", "alone ms", "beside a hog ms", "times", "mean wait µs", "longest wait ms"];
    let title = format!(
        "a busy thread on the core of the first of {WORKERS_BESIDE} workers, the others on the \
         other cores"
    );
    let mut table = Table::new(&title, &columns);
    for discipline in [Discipline::Latch, Discipline::Combiner] {
        let mut seconds = [f64::INFINITY; 2];
        let mut waits = None;
        for _ in 0..sizes.rounds {
            for (place, hog) in [false, true].into_iter().enumerate() {
                stop.check()?;
                let (workers, extents) = (WORKERS_BESIDE, sizes.extents());
                let load = Load { discipline, workers, extents, hog };
                let loaded = load_once(load)?;
                if loaded.seconds < seconds[place] {
                    seconds[place] = loaded.seconds;
                    if hog {
                        let waited = match discipline {
                            Discipline::Combiner => loaded.appends,
                            _ => loaded.log,
                        };
                        waits = Some(waited);
                    }
                }
            }
        }
        let waits = waits.context("no run beside a busy thread")?;
        table.row([
            if discipline == Discipline::Latch { "FIFO latch" } else { "combining log" }.to_owned(),
            number(seconds[0] * 1000.0),
            number(seconds[1] * 1000.0),
            number(seconds[1] / seconds[0]),
            mean_us(waits.total_ns, waits.contended),
            number(waits.max_ns as f64 / 1e6),
        ]);
    }
    findings.tables.push(table);
    findings.notes.push(
        "the kernel here is preemptive: a thread that wakes may interrupt the busy one, or wait \
         for the end of its slice; the mean wait above says how much of the published 4 ms for \
         each wait appears, and a part of the loss is the core that the busy thread takes; the \
         published effect itself is simulated"
            .into(),
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use slipring::WaitSnapshot;

    use super::*;

    #[test]
    fn an_engine_whose_wait_table_lacks_the_class_misses() {
        let log = WaitSnapshot {
            name: "log",
            acquisitions: 1_000_000,
            contended: 0,
            total_ns: 0,
            max_ns: 0,
            p50_ns: 0,
            p95_ns: 0,
            p99_ns: 0,
            buckets: Vec::new(),
        };
        let latch = Loaded { seconds: 1.0, appends: log.clone(), log, hold_ns: 1.0 };
        let class = Wait { name: "sqlite.commit".into(), acquisitions: 10, ..Wait::default() };
        let sent = |waits| Sent {
            callers: 1,
            batch: 100,
            messages: 1000,
            seconds: 1.0,
            writer_cpu_ns: 1.0,
            cpu_ns: 1.0,
            waits,
        };
        assert!(asked(1, 100, &latch, &sent(vec![class])).pass);
        assert!(!asked(1, 100, &latch, &sent(Vec::new())).pass);
    }
}
