//! Case 5: timers that all threads create and cancel. The published design, one list under one
//! lock, beside tokio's timers and the engine's own, each with leases that its timers renew.

mod contender;
mod delay_queues;
mod dotnet_list;
mod engine_wheel;
mod leases;
mod list;
mod load;
mod locked_list;
pub mod measure;
mod ordered_list;
mod points;
mod report;
mod tokio_sleeps;

use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;

use self::measure::{Measured, Name};
use self::points::Points;
use super::Options;
use crate::child::Group;
use crate::findings::Findings;
use crate::folder;
use crate::interrupt::Interrupt;

/// What is measured.
struct Sizes {
    timers: &'static [usize],
    threads: &'static [u16],
    time: Duration,
    /// For how long timers are set before a measurement, at most.
    fill_max_s: u64,
    rounds: usize,
}

/// From so many timers on there is one round: setting them takes longer than the measurement.
const ONE_ROUND_TIMERS: usize = 10_000_000;

/// A measurement takes so many seconds; time-outs would fire in a longer one.
const SECONDS: std::ops::RangeInclusive<f64> = 0.05..=60.0;

impl Sizes {
    fn of(options: &Options) -> Result<Sizes> {
        let seconds = options.seconds(1.0, 0.25);
        if !SECONDS.contains(&seconds) {
            let (least, most) = (SECONDS.start(), SECONDS.end());
            bail!("--seconds {seconds}: a timer case takes {least} to {most}");
        }
        let time = Duration::from_secs_f64(seconds);
        if options.smoke {
            let (timers, threads) = (&[1_000, 10_000], &[1, 2]);
            return Ok(Sizes { timers, threads, time, fill_max_s: 5, rounds: 1 });
        }
        Ok(Sizes {
            timers: &[1_000, 10_000, 100_000, 1_000_000, ONE_ROUND_TIMERS],
            threads: &[1, 2, 4, 8],
            time,
            fill_max_s: 15,
            rounds: 3,
        })
    }
}

/// Runs the case.
///
/// # Errors
/// When it cannot begin. What fails later makes the findings incomplete.
pub fn run(options: &Options) -> Result<Findings> {
    let (sizes, interrupt) = (Sizes::of(options)?, Interrupt::listen()?);
    let title = "one timer list under one lock, tokio's timers, and the engine's wheel";
    let mut findings = Findings::new("case-5", title, &folder::data()?);
    let mut points = Points::default();
    if let Err(error) = measure_all(&sizes, &interrupt, &mut points) {
        findings.incomplete = Some(format!("{error:#}"));
    }
    report::fill(&mut findings, &points);
    Ok(findings)
}

fn measure_all(sizes: &Sizes, interrupt: &Interrupt, points: &mut Points) -> Result<()> {
    for &timers in sizes.timers {
        let rounds = if timers < ONE_ROUND_TIMERS { sizes.rounds } else { 1 };
        for &threads in sizes.threads {
            for round in 0..rounds {
                for place in 0..Name::ALL.len() {
                    let name = Name::ALL[(place + round) % Name::ALL.len()];
                    if !points.is_beyond(name, timers) {
                        let arguments = arguments(name, timers, threads, sizes);
                        points.add(round, one(&arguments, sizes, interrupt)?);
                    }
                }
            }
        }
    }
    Ok(())
}

/// The command line of a child that measures.
fn arguments(name: Name, timers: usize, threads: u16, sizes: &Sizes) -> Vec<String> {
    let name = name.to_possible_value().map_or(String::new(), |name| name.get_name().to_owned());
    let of = |flag: &str, value: String| [format!("--{flag}"), value];
    let flags = [
        of("contender", name),
        of("timers", timers.to_string()),
        of("threads", threads.to_string()),
        of("time-ms", sizes.time.as_millis().to_string()),
        of("fill-max-s", sizes.fill_max_s.to_string()),
    ];
    std::iter::once("case-timers".to_owned()).chain(flags.into_iter().flatten()).collect()
}

fn one(arguments: &[String], sizes: &Sizes, interrupt: &Interrupt) -> Result<Measured> {
    let generous = Duration::from_secs(sizes.fill_max_s + 120) + sizes.time * 4;
    let out = Group::start(arguments)?.finish_unless(generous, || interrupt.came());
    let out = out.with_context(|| format!("slipring-lab {}", arguments.join(" ")))?;
    serde_json::from_str(out.trim()).with_context(|| format!("reading {out:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_that_make_no_measurement_are_refused_with_their_limits() {
        let of = |seconds| {
            let seconds = Some(seconds);
            let (number, smoke, out, strict) = (5, true, None, false);
            Sizes::of(&Options { number, smoke, seconds, out, strict, contender: Vec::new() })
        };
        assert!(of(0.5).is_ok());
        for seconds in [f64::NAN, -1.0, 0.0, 61.0] {
            let refused = of(seconds).err().unwrap().to_string();
            assert!(refused.ends_with("a timer case takes 0.05 to 60"), "{refused}");
        }
    }
}
