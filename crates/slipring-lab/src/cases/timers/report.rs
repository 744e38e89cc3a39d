//! The tables, plots and checks of case 5.

use super::leases::{LEASE, LEASES};
use super::measure::{Measured, Name};
use super::points::{At, Points, largest, median, total};
use crate::findings::{Axis, Findings, Plot, Series, Table};
use crate::run::condition::{Condition, number};

/// Ours is to do so many times what the baseline does, which is what the published cure did.
const TIMES_BASELINE: f64 = 4.0;
/// The end of a wait is at most so late on an idle machine (S5.3, S5.4).
const LATE_MS_MAX: f64 = 50.0;
/// The published kind of load: at least so many timers outstanding, and most threads.
const PUBLISHED_TIMERS: usize = 10_000;
/// Below so many timers resident memory says nothing about one.
const MEMORY_TIMERS: usize = 100_000;

/// Puts all that was measured into the findings.
pub fn fill(findings: &mut Findings, points: &Points) {
    findings.tables = vec![published(points), rates(points), lateness(points), waits(points)];
    findings.plots = plots(points);
    findings.conditions = conditions(points);
    findings.notes = notes(points);
}

/// What was published, beside what was found here.
fn published(points: &Points) -> Table {
    let columns = ["", "throughput, new ÷ old", "failures, old", "failures, new"];
    let mut table = Table::new("published cure, and ours beside the baselines", &columns);
    let cells = ["published (transactions)", "about 4", "a large part", "0"];
    table.row(cells.map(str::to_owned));
    let Some(threads) = points.threads().last().copied() else { return table };
    for timers in points.timers() {
        for name in [Name::DotnetList, Name::OrderedList] {
            let Some(ratio) = points.ratio(timers, threads, name) else { continue };
            let lapsed = |name| lapsed(&points.full(At { timers, threads, name }));
            table.row([
                format!("{} timers, {}, {}", count(timers), of_threads(threads), name.text()),
                number(ratio),
                lapsed(name),
                lapsed(Name::Engine),
            ]);
        }
    }
    table
}

fn lapsed(rounds: &[&Measured]) -> String {
    let (lapsed, renewed) = (total(rounds, |one| one.lapsed), total(rounds, |one| one.renewed));
    format!("{} of {}", count(lapsed as usize), count((lapsed + renewed) as usize))
}

/// Operations per second, the numbers of timers across.
fn rates(points: &Points) -> Table {
    let timers = points.timers();
    let heads: Vec<String> =
        timers.iter().map(|timers| format!("{} timers", count(*timers))).collect();
    let mut columns = vec!["contender", "threads"];
    columns.extend(heads.iter().map(String::as_str));
    let title = "operations/s (a timer cancelled and another created; 1 in 100 created and let \
                 fire), median of the rounds";
    let mut table = Table::new(title, &columns);
    for threads in points.threads() {
        for name in Name::ALL {
            let cells = timers.iter().map(|timers| {
                let at = At { timers: *timers, threads, name };
                let full = points.full(at);
                match points.not_reached(name) {
                    _ if !full.is_empty() => number(median(&full, |one| one.rate)),
                    Some((asked, reached)) if asked == *timers => {
                        format!("reached {}", count(reached))
                    }
                    Some((asked, _)) if asked < *timers => "not tried".to_owned(),
                    _ => "-".to_owned(),
                }
            });
            table.row([name.text().to_owned(), threads.to_string()].into_iter().chain(cells));
        }
    }
    table
}

/// How late timers fire, what becomes of leases, what a timer takes.
fn lateness(points: &Points) -> Table {
    let columns = [
        "timers",
        "threads",
        "contender",
        "late P50 ms",
        "P99 ms",
        "max ms",
        "fired",
        "early",
        "lost",
        "leases lapsed",
        "renewals late P99 ms",
        "max ms",
        "8 operations P50 µs",
        "P99 µs",
        "max ms",
        "bytes/timer",
    ];
    let mut table = Table::new("fire lateness, leases and memory", &columns);
    for (at, rounds) in points.all() {
        let ms = |figure: f64| number(figure / 1000.0);
        let memory = median(&rounds, |one| one.bytes_per_timer);
        let reached = largest(&rounds, |one| one.reached as f64) as usize;
        table.row([
            count(reached),
            at.threads.to_string(),
            at.name.text().to_owned(),
            ms(median(&rounds, |one| one.late.p50_us)),
            ms(median(&rounds, |one| one.late.p99_us)),
            ms(largest(&rounds, |one| one.late.max_us)),
            count(total(&rounds, |one| one.late.count) as usize),
            total(&rounds, |one| one.early).to_string(),
            total(&rounds, |one| one.lost).to_string(),
            lapsed(&rounds),
            ms(median(&rounds, |one| one.renewals_late.p99_us)),
            ms(largest(&rounds, |one| one.renewals_late.max_us)),
            number(median(&rounds, |one| one.turns.p50_us)),
            number(median(&rounds, |one| one.turns.p99_us)),
            ms(largest(&rounds, |one| one.turns.max_us)),
            if reached < MEMORY_TIMERS { "-".to_owned() } else { number(memory) },
        ]);
    }
    table
}

/// The picture of waiting threads.
fn waits(points: &Points) -> Table {
    let columns = [
        "timers",
        "threads",
        "contender",
        "wait class",
        "acquisitions",
        "contended",
        "contended %",
        "waited ms",
        "longest ms",
        "waited by all, % of thread time",
        "blocked per million operations",
        "not running, % of thread time",
    ];
    let mut table = Table::new("waiting threads (sums over the rounds)", &columns);
    for (at, rounds) in points.all() {
        let seen: Vec<_> = rounds.iter().filter_map(|one| one.waits.as_ref()).collect();
        let sum =
            |of: fn(&super::measure::Waited) -> f64| seen.iter().map(|one| of(one)).sum::<f64>();
        let acquired = sum(|one| one.acquisitions as f64);
        let contended = sum(|one| one.contended as f64);
        let longest = seen.iter().map(|one| one.max_ms).fold(0.0, f64::max);
        let share = sum(|one| one.share) / seen.len().max(1) as f64;
        let class = seen.first().map_or("(not counted)", |one| one.class.as_str());
        let visible = |text: String| if seen.is_empty() { "-".to_owned() } else { text };
        table.row([
            count(at.timers),
            at.threads.to_string(),
            at.name.text().to_owned(),
            class.to_owned(),
            visible(number(acquired)),
            visible(number(contended)),
            visible(number(contended / acquired.max(1.0) * 100.0)),
            visible(number(sum(|one| one.total_ms))),
            visible(number(longest)),
            visible(number(share * 100.0)),
            number(median(&rounds, |one| one.blocked_per_million)),
            number(median(&rounds, |one| one.idle_share) * 100.0),
        ]);
    }
    table
}

fn plots(points: &Points) -> Vec<Plot> {
    let threads = points.threads();
    let (Some(least), Some(most)) = (threads.first(), threads.last()) else { return Vec::new() };
    let rate = |one: &[&Measured]| median(one, |one| one.rate);
    let p99 = |one: &[&Measured]| median(one, |one| one.late.p99_us / 1000.0);
    let max = |one: &[&Measured]| largest(one, |one| one.late.max_us / 1000.0);
    vec![
        plot(points, "rate-one", *least, "operations/s", &rate),
        plot(points, "rate-most", *most, "operations/s", &rate),
        plot(points, "late-p99", *most, "fire lateness P99, ms", &p99),
        plot(points, "late-max", *most, "fire lateness max, ms", &max),
    ]
}

fn plot(
    points: &Points,
    name: &str,
    threads: usize,
    what: &str,
    figure: &dyn Fn(&[&Measured]) -> f64,
) -> Plot {
    let series = Name::ALL.map(|name| {
        let at = |timers| points.full(At { timers, threads, name });
        let all = points.timers().into_iter().map(|timers| (timers as f64, figure(&at(timers))));
        let points = all.filter(|(_, figure)| figure.is_finite()).collect();
        Series { name: name.text().to_owned(), points }
    });
    Plot {
        name: name.to_owned(),
        title: format!("{what} by outstanding timers, {}", of_threads(threads)),
        x: Axis::logarithmic("outstanding timers"),
        y: Axis::logarithmic(what),
        series: series.into(),
    }
}

fn conditions(points: &Points) -> Vec<Condition> {
    let (timers, threads) = (points.timers(), points.threads());
    let mut conditions = Vec::new();
    let ends = threads.first().zip(threads.last());
    for (&timers, (&least, &most)) in timers.iter().filter_map(|timers| Some((timers, ends?))) {
        // A contender that could not reach so many timers is compared with nothing.
        let beside = |name, threads, factor: f64| {
            points.full(At { timers, threads, name }).first()?;
            let ratio = points.ratio(timers, threads, name).unwrap_or(f64::NAN);
            let (timers, threads) = (count(timers), of_threads(threads));
            let target = format!("{factor} × {}, {timers} timers, {threads}", name.text());
            Some(Condition::at_least(target, "ratio", ratio, factor))
        };
        conditions.extend(beside(Name::TokioSleep, least, 1.0));
        let baselines = [Name::DotnetList, Name::OrderedList];
        if timers >= PUBLISHED_TIMERS {
            conditions.extend(
                baselines.into_iter().filter_map(|name| beside(name, most, TIMES_BASELINE)),
            );
        }
    }
    let ours: Vec<Vec<&Measured>> = points
        .all()
        .filter_map(|(at, rounds)| (at.name == Name::Engine).then_some(rounds))
        .collect();
    let sum = |of: fn(&Measured) -> u64| -> f64 {
        let sums = ours.iter().map(|rounds| total(rounds, of) as f64);
        sums.reduce(|sum, one| sum + one).unwrap_or(f64::NAN)
    };
    conditions.push(Condition::at_most("lapsed leases", "leases", sum(|one| one.lapsed), 0.0));
    conditions.push(Condition::at_most(
        "timers that fired early",
        "timers",
        sum(|one| one.early),
        0.0,
    ));
    conditions.push(Condition::at_most(
        "timers that never fired",
        "timers",
        sum(|one| one.lost),
        0.0,
    ));
    for (&timers, &threads) in timers.iter().filter_map(|timers| Some((timers, threads.first()?))) {
        let rounds = points.full(At { timers, threads, name: Name::Engine });
        let late = median(&rounds, |one| one.late.p99_us / 1000.0);
        let target = format!("late P99, {} timers, {}", count(timers), of_threads(threads));
        conditions.push(Condition::at_most(&target, "ms", late, LATE_MS_MAX));
    }
    conditions
}

fn notes(points: &Points) -> Vec<String> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut notes = vec![
        "an operation cancels a random time-out (120 to 240 s) of the thread and creates another; \
         1 in 100 creates a timer that is due 5 to 25 ms later and is let fire"
            .to_owned(),
        format!(
            "beside the load {LEASES} leases of {} ms of a real engine (in-memory store) are \
             renewed by the contender's timers when a third has passed; one whose renewal is \
             refused has lapsed",
            LEASE.as_millis()
        ),
        "both lists: their entries are in an arena without allocation, due times are exact, and \
         what fired is told after the lock is let go; the system timer under them has 64 steps a \
         second. The ordered list walks from its end to a new timer's place"
            .to_owned(),
        "tokio sleep: each place holds one Sleep that is replaced and polled once, so memory is \
         used again and no task is needed; one lock per runtime. That lock is not counted by \
         tokio: see how often threads blocked and how long they did not run. Sleep::reset to a \
         later moment costs less, but puts a timer off instead of cancelling it"
            .to_owned(),
        "DelayQueue and ours: as many shards as an engine has by default, a thread always uses the \
         same; both count the lock of a shard"
            .to_owned(),
        format!(
            "{cores} processors: threads beyond them wait for a processor as well, which shows as \
             time not running and in the longest of 8 operations, for all contenders alike. How \
             the lock of a list does on more processors cannot be seen here; what can is how \
             often it was contended and how long it was held up"
        ),
    ];
    for name in Name::ALL {
        if let Some((asked, reached)) = points.not_reached(name) {
            let (asked, reached) = (count(asked), count(reached));
            notes.push(format!(
                "{}: {reached} of {asked} timers were set in the time there was; no larger number \
                 was tried, and figures in the tables at that number are those of what it had",
                name.text()
            ));
        }
    }
    notes
}

/// So many threads, in words.
fn of_threads(threads: usize) -> String {
    format!("{threads} thread{}", if threads == 1 { "" } else { "s" })
}

/// A count with thousands parted.
fn count(figure: usize) -> String {
    let text = number(figure as f64);
    text.strip_suffix(".00").map_or(text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::super::points::tests::one;
    use super::*;

    fn findings(points: &Points) -> Findings {
        let folder = tempfile::tempdir().unwrap();
        let mut findings = Findings::new("case-5", "a title", folder.path());
        fill(&mut findings, points);
        findings
    }

    fn points(ours: f64, lapsed: u64) -> Points {
        let mut points = Points::default();
        for threads in [1, 8] {
            for name in Name::ALL {
                let rate = if name == Name::Engine { ours } else { 10.0 };
                points.add(0, Measured { lapsed, ..one(name, PUBLISHED_TIMERS, threads, rate) });
            }
        }
        points
    }

    #[test]
    fn the_checks_ask_for_what_was_published() {
        let met = findings(&points(40.0, 0));
        assert_eq!((met.conditions.len(), met.missed()), (7, 0), "{}", met.text());
        // Both baselines, tokio's, and the leases.
        let missed = findings(&points(9.0, 1));
        assert_eq!(missed.missed(), 4, "{}", missed.text());
        for plot in &met.plots {
            assert!(plot.series.iter().all(|line| line.points.len() == 1), "{}", plot.name);
        }
    }

    #[test]
    fn what_cannot_be_seen_or_was_not_reached_is_no_figure() {
        let mut points = points(40.0, 0);
        let short = Measured { reached: 7, ..one(Name::OrderedList, 1_000_000, 1, 1.0) };
        points.add(0, short);
        let text = findings(&points).text();
        assert!(text.contains("reached 7") && text.contains("7 of 1,000,000 timers"), "{text}");
        assert!(text.contains("(not counted)"), "{text}");
    }

    #[test]
    fn what_was_not_measured_of_ours_is_a_miss() {
        let mut points = Points::default();
        for threads in [1, 8] {
            for name in Name::ALL.into_iter().filter(|name| *name != Name::Engine) {
                points.add(0, one(name, PUBLISHED_TIMERS, threads, 10.0));
            }
        }
        let found = findings(&points);
        assert_eq!((found.missed(), found.conditions.len()), (7, 7), "{}", found.text());
    }

    #[test]
    fn nothing_measured_is_a_report_too() {
        let found = findings(&Points::default());
        // Nothing is known of leases that lapsed, or of timers that were early or lost.
        assert_eq!((found.missed(), found.conditions.len()), (3, 3), "{}", found.text());
        assert!(found.plots.is_empty());
    }
}
