//! The tables and plots of the case.

use anyhow::Result;

use super::contender::Kind;
use super::found::{Found, StormRuns, percentiles};
use super::load::callers_are;
use super::published::{self, TIME_OUT_MS};
use super::waits::WaitTable;
use crate::findings::{Axis, Plot, Series, Table};
use crate::run::condition::number;
use crate::stats::Percentiles;

fn ms(us: f64) -> String {
    format!("{:.3}", us / 1000.0)
}

fn latencies(seen: &Percentiles) -> [String; 4] {
    [seen.p50_us, seen.p95_us, seen.p99_us, seen.max_us].map(ms)
}

/// P50 and P95 beyond the time-out, as published, where there is such a line.
fn published_of(runs: &StormRuns) -> Option<(f64, f64)> {
    let time_out_ms = runs.storm.time_out.as_secs_f64() * 1e3;
    let (p50_ms, p95_ms) = match (time_out_ms as u64, runs.storm.callers) {
        (10, callers) => published::line(callers).map(|line| (line.p50_ms, line.p95_ms))?,
        (1, 100) => published::SHORT_100_MS,
        _ => return None,
    };
    Some((p50_ms - time_out_ms, p95_ms - time_out_ms))
}

/// The published table beside ours, for one time-out and so many idle receives.
///
/// # Errors
/// As [`StormRuns::overhead`].
pub fn storms(found: &Found, idle: usize, time_out_ms: u128) -> Result<Table> {
    let among =
        if idle > 0 { format!(", among {idle} idle receives on it") } else { String::new() };
    let title = format!(
        "wait-receive on an empty queue with a time-out of {time_out_ms} ms{among}; milliseconds \
         beyond the time-out"
    );
    let columns = [
        "waiters, contender",
        "as",
        "waits",
        "waits/s",
        "P50",
        "P95",
        "P99",
        "max",
        "processor µs/wait",
        "published P50",
        "published P95",
    ];
    let mut table = Table::new(&title, &columns);
    let wanted = |runs: &&StormRuns| {
        runs.storm.idle == idle && runs.storm.time_out.as_millis() == time_out_ms
    };
    for runs in found.storms.iter().filter(wanted) {
        let seen = runs.overhead()?;
        let callers = runs.storm.callers;
        let waits = seen.count as f64;
        let mut row = vec![
            format!("{} {}", number(callers as f64).replace(".00", ""), runs.kind.name()),
            callers_are(callers).to_owned(),
            seen.count.to_string(),
            number(waits / runs.seconds()),
        ];
        row.extend(latencies(&seen));
        row.push(number(runs.processor_seconds() * 1e6 / waits));
        if runs.kind == Kind::OneLatch
            && let Some((p50_ms, p95_ms)) = published_of(runs)
        {
            row.extend([format!("{p50_ms:.0}"), format!("{p95_ms:.0}")]);
        }
        table.row(row);
    }
    Ok(table)
}

/// The latch of the published design, storm by storm.
pub fn latch(found: &Found) -> Table {
    let columns = [
        "waiters",
        "time-out ms",
        "idle",
        "acquisitions",
        "contended %",
        "mean wait ms",
        "max wait ms",
        "mean hold µs",
        "in use %",
        "passed/acquisition",
        "published mean wait ms",
    ];
    let mut table = Table::new("the latch of the published design", &columns);
    for runs in found.storms.iter().filter(|runs| runs.kind == Kind::OneLatch) {
        let (line, used, storm) = (runs.latch(), runs.latch_use(), runs.storm);
        let acquisitions = line.acquisitions as f64;
        let time_out_ms = storm.time_out.as_millis();
        let published = published::line(storm.callers).filter(|_| time_out_ms == 10);
        table.row([
            storm.callers.to_string(),
            time_out_ms.to_string(),
            storm.idle.to_string(),
            line.acquisitions.to_string(),
            number(line.contended as f64 / acquisitions * 100.0),
            format!("{:.4}", line.mean_ms()),
            format!("{:.3}", line.max_ns as f64 / 1e6),
            format!("{:.3}", used.held_ns as f64 / acquisitions / 1e3),
            number(used.held_ns as f64 / runs.seconds() / 1e7),
            number(used.walked as f64 / acquisitions),
            published.map_or(String::new(), |line| format!("{:.2}", line.latch_ms)),
        ]);
    }
    table
}

/// What the wait classes counted, in all and for each of `waits` waits or messages.
pub fn classes(title: &str, table: &WaitTable, waits: f64) -> Table {
    let columns = [
        "wait class",
        "acquisitions",
        "per wait or message",
        "contended",
        "mean wait ms",
        "max wait ms",
    ];
    let mut printed = Table::new(title, &columns);
    for (name, line) in table {
        printed.row([
            (*name).to_owned(),
            line.acquisitions.to_string(),
            number(line.acquisitions as f64 / waits),
            line.contended.to_string(),
            format!("{:.4}", line.mean_ms()),
            format!("{:.3}", line.max_ns as f64 / 1e6),
        ]);
    }
    printed
}

/// Queue B alone and beside queue A.
///
/// # Errors
/// As [`percentiles`].
pub fn neighbours(found: &Found) -> Result<Table> {
    let columns = ["queue B", "waits", "P50", "P95", "P99", "max"];
    let title = "one caller on queue B, time-out 10 ms; milliseconds beyond the time-out";
    let mut table = Table::new(title, &columns);
    for (beside, kind, seen) in &found.neighbours {
        let idle = beside.idle;
        let among = if idle > 0 { format!(", {idle} idle on A") } else { String::new() };
        let busy = format!("beside {} on A", beside.callers);
        let cases = [("alone", &seen.alone), (busy.as_str(), &seen.beside)];
        let waits = cases.iter().map(|(case, seen)| (*case, "", &seen.waits));
        let plain = cases.iter().map(|(case, seen)| (*case, ", does not wait", &seen.plain));
        for (case, how, windows) in waits.chain(plain) {
            let seen = percentiles(windows.iter())?;
            let mut row = vec![format!("{}, {case}{among}{how}", kind.name())];
            row.push(seen.count.to_string());
            row.extend(latencies(&seen));
            table.row(row);
        }
    }
    let (beside, plain) = (published::BESIDE_100_MS, published::PLAIN_MS);
    let one = published::line(1).map_or((f64::NAN, f64::NAN), |line| (line.p50_ms, line.p95_ms));
    for (what, (p50_ms, p95_ms), time_out_ms) in [
        ("published, alone", one, TIME_OUT_MS),
        ("published, beside 100 on A", beside, TIME_OUT_MS),
        ("published, beside 100 on A, does not wait", plain, 0.0),
    ] {
        let cell = |ms: f64| format!("{:.0}", ms - time_out_ms);
        table.row([what.to_owned(), String::new(), cell(p50_ms), cell(p95_ms)]);
    }
    Ok(table)
}

/// Messages on queue B beside queue A.
///
/// # Errors
/// As [`percentiles`].
pub fn wakes(found: &Found) -> Result<Table> {
    let title = "a send on queue B wakes the receive that waits there; milliseconds from the send";
    let columns =
        ["contender, queue A", "wakes", "P50", "P95", "P99", "max", "messages/s of A, received"];
    let mut table = Table::new(title, &columns);
    for runs in &found.wakes {
        let seen = runs.wakes()?;
        let what = format!("{}, {}", runs.kind.name(), runs.wake.busy.name(runs.wake.callers));
        let mut row = vec![what, seen.count.to_string()];
        row.extend(latencies(&seen));
        row.push(number(runs.busy_rate()));
        table.row(row);
    }
    Ok(table)
}

/// Idle receives.
pub fn idles(found: &Found) -> Table {
    let columns = [
        "contender",
        "idle receives",
        "processor % without",
        "processor % with",
        "ns/s of each",
        "bytes of each",
        "all woken in s",
    ];
    let mut table = Table::new("idle receives with a time-out of an hour", &columns);
    for (kind, idle) in &found.idles {
        table.row([
            kind.name().to_owned(),
            idle.waiters.to_string(),
            format!("{:.3}", idle.empty_percent),
            format!("{:.3}", idle.idle_percent),
            number(idle.ns_per_second()),
            number(idle.bytes),
            format!("{:.3}", idle.wake_seconds),
        ]);
    }
    table
}

/// P95 against waiters, all contenders and the published line.
///
/// # Errors
/// As [`StormRuns::overhead`].
pub fn plot(found: &Found, idle: usize, name: &str, title: &str) -> Result<Plot> {
    let mut series = Vec::new();
    for kind in Kind::ALL {
        let mut points = Vec::new();
        let runs = found.storms.iter().filter(|runs| {
            (runs.kind, runs.storm.idle) == (kind, idle) && runs.storm.time_out.as_millis() == 10
        });
        for runs in runs {
            points.push((runs.storm.callers as f64, runs.overhead()?.p95_us / 1000.0));
        }
        series.push(Series { name: kind.name().to_owned(), points });
    }
    let line = published::TABLE.iter();
    let points = line.map(|line| (line.threads as f64, line.p95_ms - TIME_OUT_MS)).collect();
    series.push(Series { name: "published".to_owned(), points });
    // Few sizes, as published, are drawn to scale; sizes of several powers of ten are not.
    let axis = if idle > 0 { Axis::linear } else { Axis::logarithmic };
    let (x, y) = (axis("waiters"), axis("P95 beyond the time-out, ms"));
    Ok(Plot { name: name.to_owned(), title: title.to_owned(), x, y, series })
}

/// The mean wait for the latch against waiters.
pub fn latch_plot(found: &Found, idle: usize) -> Plot {
    let line = |name: &str, idle: usize| {
        let runs = found.storms.iter().filter(|runs| {
            (runs.kind, runs.storm.idle) == (Kind::OneLatch, idle)
                && runs.storm.time_out.as_millis() == 10
        });
        let points = runs.map(|runs| (runs.storm.callers as f64, runs.latch().mean_ms())).collect();
        Series { name: name.to_owned(), points }
    };
    let published = published::TABLE.iter().map(|line| (line.threads as f64, line.latch_ms));
    let series = vec![
        line("one latch", 0),
        line(&format!("one latch, {idle} idle"), idle),
        Series { name: "published".to_owned(), points: published.collect() },
    ];
    Plot {
        name: "latch".to_owned(),
        title: "mean wait of those who waited for the latch".to_owned(),
        x: Axis::logarithmic("waiters"),
        y: Axis::logarithmic("ms"),
        series,
    }
}
