//! A model made ready to run: names are numbers, times are nanoseconds, and what could never end
//! is refused.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail};

use super::model::{Combiner, Latch, Log, Model, Order, Pages, Pick, Spread, Step};

/// A step with numbers for names.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Op {
    /// Uses a core.
    Work { ns: f64, ns_per_unit: f64, ns_per_call: f64, spread: Spread },
    /// Waits without a core.
    Sleep { ns: u64, tick_ns: u64 },
    /// Takes a latch.
    Acquire(usize),
    /// Gives it back.
    Release(usize),
    /// Waits for a log.
    Flush(usize),
    /// Reads a page from a disk, perhaps.
    Read(usize),
    /// Leaves a call for a combiner.
    Combine { combiner: usize, units: u64 },
}

/// A latch with nanoseconds.
#[derive(Debug, Clone)]
pub struct LatchPlan {
    pub name: String,
    pub order: Order,
    pub shards: usize,
    pub pick: Pick,
    pub wake_ns: u64,
    pub wake_ns_per_waiter: f64,
}

/// A log with nanoseconds.
#[derive(Debug, Clone)]
pub struct LogPlan {
    pub name: String,
    pub flush_ns: u64,
    pub group: bool,
    pub wake_ns: u64,
}

/// The disk below a set of pages.
#[derive(Debug, Clone)]
pub struct DiskPlan {
    pub miss: f64,
    pub read_ns: u64,
    pub at_a_time: usize,
}

/// A combiner with its own program.
#[derive(Debug, Clone)]
pub struct CombinerPlan {
    pub name: String,
    pub turns: usize,
    pub units_max: u64,
    pub wake_ns: u64,
    pub answer_ns: u64,
    pub turn: Vec<Op>,
}

/// What one run needs to know.
#[derive(Debug, Clone)]
pub struct Program {
    pub steps: Vec<Op>,
    pub latches: Vec<LatchPlan>,
    pub logs: Vec<LogPlan>,
    pub disks: Vec<DiskPlan>,
    pub combiners: Vec<CombinerPlan>,
}

/// Nanoseconds of microseconds.
///
/// # Errors
/// When they are no time, or more than a day.
pub fn nanoseconds(name: &str, us: f64) -> Result<u64> {
    Ok(checked(name, us)?.round() as u64)
}

fn checked(name: &str, us: f64) -> Result<f64> {
    const DAY_US: f64 = 86_400e6;
    if !(0.0..=DAY_US).contains(&us) {
        bail!("{name} is {us}; it must be 0 to {DAY_US} microseconds");
    }
    Ok(us * 1000.0)
}

/// Where names are looked up.
struct Names {
    latches: BTreeMap<String, usize>,
    logs: BTreeMap<String, usize>,
    /// The latch of the pages, and their disk.
    pages: BTreeMap<String, (usize, usize)>,
    combiners: BTreeMap<String, usize>,
}

fn numbered<'a>(names: impl Iterator<Item = &'a String>) -> BTreeMap<String, usize> {
    names.enumerate().map(|(number, name)| (name.clone(), number)).collect()
}

fn find<T: Copy>(names: &BTreeMap<String, T>, kind: &str, name: &str) -> Result<T> {
    let known = || names.keys().cloned().collect::<Vec<_>>().join(", ");
    names.get(name).copied().with_context(|| format!("no {kind} {name:?}; there are: {}", known()))
}

impl Program {
    /// Compiles a model for a run with so many workers.
    ///
    /// # Errors
    /// When a name is unknown, a time is none, a latch is not given back, or the order in which
    /// latches are taken could stop all workers.
    pub fn of(model: &Model, workers: usize) -> Result<Program> {
        model.check()?;
        let first_page = model.latches.len();
        let pages = model.pages.keys().enumerate();
        let names = Names {
            latches: numbered(model.latches.keys()),
            logs: numbered(model.logs.keys()),
            pages: pages.map(|(disk, name)| (name.clone(), (first_page + disk, disk))).collect(),
            combiners: numbered(model.combiners.keys()),
        };
        let mut latches = Vec::new();
        for (name, latch) in &model.latches {
            latches.push(LatchPlan::of(name, latch)?);
        }
        let mut disks = Vec::new();
        for (name, pages) in &model.pages {
            latches.push(LatchPlan::of_pages(name, pages)?);
            disks.push(DiskPlan::of(name, pages)?);
        }
        let logs = model.logs.iter().map(|(name, log)| LogPlan::of(name, log));
        let mut orders = BTreeSet::new();
        let mut compile = |steps: &[Step], what: &str, turn: bool| {
            let ops = compile(steps, &names, workers, turn);
            let ops = ops.with_context(|| format!("the steps of {what}"))?;
            balance(&ops, &mut orders).with_context(|| format!("the steps of {what}"))?;
            Ok::<_, anyhow::Error>(ops)
        };
        let steps = compile(&model.steps, "a worker", false)?;
        let mut combiners = Vec::new();
        for (name, combiner) in &model.combiners {
            let turn = compile(&combiner.turn, &format!("the turn {name:?}"), true)?;
            combiners.push(CombinerPlan::of(name, combiner, turn)?);
        }
        let logs = logs.collect::<Result<Vec<_>>>()?;
        if let Some((a, b)) = circle(&orders) {
            let name = |latch: usize| latches.get(latch).map_or("", |latch| latch.name.as_str());
            bail!("{:?} is taken under {:?}, and the other way round", name(b), name(a));
        }
        Ok(Program { steps, latches, logs, disks, combiners })
    }
}

impl LatchPlan {
    fn of(name: &str, latch: &Latch) -> Result<LatchPlan> {
        if latch.shards == 0 || latch.shards > super::model::WORKERS_MAX {
            bail!("the latch {name:?} has {} shards; 1 to 100,000", latch.shards);
        }
        Ok(LatchPlan {
            name: name.to_owned(),
            order: latch.order,
            shards: latch.shards,
            pick: latch.pick,
            wake_ns: nanoseconds("wake_us", latch.wake_us)?,
            wake_ns_per_waiter: checked("wake_us_per_waiter", latch.wake_us_per_waiter)?,
        })
    }

    fn of_pages(name: &str, pages: &Pages) -> Result<LatchPlan> {
        let latch = Latch {
            order: Order::Fifo,
            shards: pages.count,
            pick: pages.pick,
            wake_us: pages.wake_us,
            wake_us_per_waiter: 0.0,
        };
        LatchPlan::of(name, &latch)
    }
}

impl LogPlan {
    fn of(name: &str, log: &Log) -> Result<LogPlan> {
        Ok(LogPlan {
            name: name.to_owned(),
            flush_ns: nanoseconds("flush_us", log.flush_us)?,
            group: log.group,
            wake_ns: nanoseconds("wake_us", log.wake_us)?,
        })
    }
}

impl DiskPlan {
    fn of(name: &str, pages: &Pages) -> Result<DiskPlan> {
        if !(0.0..=100.0).contains(&pages.miss_percent) || pages.reads_at_a_time == 0 {
            bail!("the pages {name:?}: miss_percent is 0 to 100, reads_at_a_time at least 1");
        }
        Ok(DiskPlan {
            miss: pages.miss_percent / 100.0,
            read_ns: nanoseconds("read_us", pages.read_us)?,
            at_a_time: pages.reads_at_a_time,
        })
    }
}

impl CombinerPlan {
    fn of(name: &str, combiner: &Combiner, turn: Vec<Op>) -> Result<CombinerPlan> {
        if combiner.turns == 0 || combiner.units_max == 0 {
            bail!("the combiner {name:?}: turns and units_max are at least 1");
        }
        Ok(CombinerPlan {
            name: name.to_owned(),
            turns: combiner.turns,
            units_max: combiner.units_max,
            wake_ns: nanoseconds("wake_us", combiner.wake_us)?,
            answer_ns: nanoseconds("answer_us", combiner.answer_us)?,
            turn,
        })
    }
}

fn compile(steps: &[Step], names: &Names, workers: usize, turn: bool) -> Result<Vec<Op>> {
    let mut ops = Vec::new();
    for step in steps {
        match step {
            Step::Work { us, us_per_unit, us_per_call, us_per_worker, spread } => {
                let others = workers.saturating_sub(1) as f64;
                ops.push(Op::Work {
                    ns: checked("us", us + us_per_worker * others)?,
                    ns_per_unit: checked("us_per_unit", *us_per_unit)?,
                    ns_per_call: checked("us_per_call", *us_per_call)?,
                    spread: *spread,
                });
            }
            Step::Sleep { us, tick_us } => ops.push(Op::Sleep {
                ns: nanoseconds("us", *us)?,
                tick_ns: nanoseconds("tick_us", *tick_us)?,
            }),
            Step::Acquire { latch } => ops.push(Op::Acquire(find(&names.latches, "latch", latch)?)),
            Step::Release { latch } => ops.push(Op::Release(find(&names.latches, "latch", latch)?)),
            Step::Flush { log } => ops.push(Op::Flush(find(&names.logs, "log", log)?)),
            Step::Page { pages, us } => {
                let (latch, disk) = find(&names.pages, "pages", pages)?;
                let work = Step::work(*us);
                ops.extend([Op::Acquire(latch), Op::Read(disk)]);
                ops.extend(compile(&[work], names, 1, turn)?);
                ops.push(Op::Release(latch));
            }
            Step::Combine { combiner, units } => {
                if turn {
                    bail!("a turn leaves a call for a combiner; only workers do");
                }
                let combiner = find(&names.combiners, "combiner", combiner)?;
                ops.push(Op::Combine { combiner, units: *units });
            }
        }
    }
    Ok(ops)
}

/// Checks that each latch that is taken is given back, and notes which is taken under which.
fn balance(ops: &[Op], orders: &mut BTreeSet<(usize, usize)>) -> Result<()> {
    let mut held: Vec<usize> = Vec::new();
    for op in ops {
        match op {
            Op::Acquire(latch) if held.contains(latch) => bail!("a latch is taken twice"),
            Op::Acquire(latch) => {
                orders.extend(held.iter().map(|&outer| (outer, *latch)));
                held.push(*latch);
            }
            Op::Release(latch) => {
                let at = held.iter().position(|held| held == latch);
                held.remove(at.context("a latch is given back that was not taken")?);
            }
            Op::Combine { .. } if !held.is_empty() => bail!("a call is left under a latch"),
            _ => {}
        }
    }
    if !held.is_empty() {
        bail!("a latch is taken and not given back");
    }
    Ok(())
}

/// Two latches that are taken each under the other, also by way of others.
fn circle(orders: &BTreeSet<(usize, usize)>) -> Option<(usize, usize)> {
    let mut under = orders.clone();
    loop {
        let next = under.iter().flat_map(|&(a, b)| {
            orders.iter().filter(move |&&(from, _)| from == b).map(move |&(_, to)| (a, to))
        });
        let next: Vec<_> = next.filter(|pair| !under.contains(pair)).collect();
        if next.is_empty() {
            break;
        }
        under.extend(next);
    }
    under.iter().find(|&&(a, b)| a == b).map(|&(a, _)| {
        let way = orders.iter().find(|&&(from, to)| from == a && under.contains(&(to, a)));
        way.copied().unwrap_or((a, a))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(steps: &str) -> Model {
        let head = "name = 'x'\noperations = 1\nworkers = [1]\n[scheduler]\nkind = 'preemptive'\n\
                    [latches.a]\n[latches.b]\n";
        Model::parse(&format!("{head}{steps}"), false).unwrap()
    }

    fn refused(steps: &str) -> String {
        format!("{:#}", Program::of(&model(steps), 1).unwrap_err())
    }

    fn step(what: &str, latch: &str) -> String {
        format!("[[steps]]\ndo = '{what}'\nlatch = '{latch}'\n")
    }

    #[test]
    fn names_and_the_order_of_latches_are_checked() {
        let (take, give) = (step("acquire", "a"), step("release", "a"));
        assert!(refused(&step("acquire", "c")).contains("no latch \"c\"; there are: a, b"));
        assert!(refused(&take).contains("not given back"));
        assert!(refused(&give).contains("not taken"));
        assert!(refused(&format!("{take}{take}")).contains("taken twice"));
        let one = format!("{take}{}{}{give}", step("acquire", "b"), step("release", "b"));
        assert!(Program::of(&model(&one), 1).is_ok());
        let other = one.replace("'a'", "'c'").replace("'b'", "'a'").replace("'c'", "'b'");
        assert!(refused(&format!("{one}{other}")).contains("the other way round"));
    }

    #[test]
    fn a_time_below_nothing_is_refused() {
        let text = refused("[[steps]]\ndo = 'work'\nus = -1\n");
        assert!(text.contains("us is -1; it must be 0 to"), "{text}");
    }
}
