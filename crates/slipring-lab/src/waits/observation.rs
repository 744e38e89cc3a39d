//! One observation: what was there before, what was sampled, what was there after.

use std::time::Duration;

use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};

use super::classes::{self, Class, Source};
use super::counters::{self, Counter, Counters};
use super::dead_rows::DeadRows;
use super::flame;
use super::sampler::{Seen, sample};
use super::server::{Rights, Server};
use crate::drive::Stop;
use crate::findings::{Axis, Findings, Plot, Series, Table};
use crate::folder;
use crate::run::condition::number;

/// How an observation ends whose server does not answer any more.
const GONE: &str = "the server went away";

/// What was observed.
pub struct Observation {
    pub(super) seen: Seen,
    every: Duration,
    server: Option<(String, Rights)>,
    counters: Vec<Counter>,
    dead_rows: Option<Table>,
    classes: Vec<Class>,
    notes: Vec<String>,
    incomplete: Option<String>,
}

impl Observation {
    /// Observes a PostgreSQL, a Slipring, or both.
    ///
    /// # Errors
    /// When the first look is not possible.
    pub async fn make(
        url: Option<&str>,
        source: &Source,
        (every, length): (Duration, Duration),
        stop: &Stop,
        bar: &ProgressBar,
    ) -> Result<Observation> {
        let classes_before = source.read()?;
        let mut observation = Observation {
            seen: Seen::default(),
            every,
            server: None,
            counters: Vec::new(),
            dead_rows: None,
            classes: Vec::new(),
            notes: Vec::new(),
            incomplete: None,
        };
        match url {
            Some(url) => {
                let server = Server::open(url).await?;
                observation.server = Some((server.name.clone(), server.rights));
                observation.notes.extend(server.rights.unseen());
                observation.postgres(&server, length, stop, bar).await?;
            }
            None => {
                tokio::select! {
                    () = tokio::time::sleep(length) => {}
                    () = stop.told() => {}
                }
            }
        }
        let after = source.read();
        match after.and_then(|after| classes::difference(&classes_before, &after)) {
            Ok(classes) => observation.classes = classes,
            Err(error) => observation.end_early(&format!("no wait classes: {error:#}")),
        }
        if let Some(why) = stop.reason() {
            observation.end_early(&why);
        }
        Ok(observation)
    }

    fn end_early(&mut self, why: &str) {
        self.incomplete.get_or_insert(why.to_owned());
    }

    async fn postgres(
        &mut self,
        server: &Server,
        length: Duration,
        stop: &Stop,
        bar: &ProgressBar,
    ) -> Result<()> {
        let before = Counters::read(&server.client, server.version).await?;
        let dead_before = DeadRows::read(server).await?;
        self.notes.extend(before.unseen.iter().map(|view| format!("not seen: {view}")));
        let show = |passed: Duration| bar.set_position(passed.as_millis() as u64);
        let sampled = sample(server, (self.every, length), stop, &mut self.seen, show).await;
        if let Err(error) = sampled {
            self.end_early(&format!("{GONE}: {error:#}"));
            return Ok(());
        }
        let after = async {
            let counters = Counters::read(&server.client, server.version).await?;
            anyhow::Ok((counters, DeadRows::read(server).await?))
        };
        match after.await {
            Ok((counters, dead)) => {
                self.counters = counters.since(&before);
                self.dead_rows = Some(dead.since(&dead_before));
            }
            Err(error) => self.end_early(&format!("{GONE}: {error:#}")),
        }
        Ok(())
    }

    /// What sessions did, for a run that has tables of its own for the rest.
    pub fn session_tables(&self) -> Vec<Table> {
        self.seen.profile.tables()
    }

    /// What the reader must know.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = self.notes.clone();
        // A run that goes on without its observation must say so.
        notes.extend(self.incomplete.clone().filter(|why| why.starts_with(GONE)));
        notes.push(self.sampling_note());
        notes
    }

    fn sampling_note(&self) -> String {
        let samples = self.seen.profile.samples;
        let mean = self.seen.sampling.as_secs_f64() * 1000.0 / samples.max(1) as f64;
        format!(
            "{samples} samples of sessions in {} s, {} ms asked for between two; each took {} ms",
            number(self.seen.length.as_secs_f64()),
            self.every.as_millis(),
            number(mean)
        )
    }

    /// The stacks of the flame graph, one line each.
    pub fn folded(&self) -> Vec<String> {
        let samples = u32::try_from(self.seen.profile.samples).unwrap_or(u32::MAX);
        // Looks that take long are further apart than was asked for.
        let every = self.seen.length.checked_div(samples).unwrap_or(self.every);
        flame::folded(&self.seen.profile, &self.classes, every.as_nanos() as u64)
    }

    /// As tables and plots.
    ///
    /// # Errors
    /// When there is no folder for data.
    pub fn findings(&self) -> Result<Findings> {
        let what = self.server.as_ref().map_or("a Slipring server", |(name, _)| name.as_str());
        let title = format!("what {what} waited for");
        let mut findings = Findings::new("waits", &title, &folder::data()?);
        findings.incomplete.clone_from(&self.incomplete);
        if self.server.is_some() {
            self.tell_of_postgres(&mut findings);
        }
        if !self.classes.is_empty() {
            findings.tables.push(classes::table("waits of Slipring meanwhile", &self.classes));
        }
        findings.notes.extend(self.notes.iter().cloned());
        let drawn = match self.folded().is_empty() {
            true => "nothing waited, so there is no flame graph",
            false => "the flame graph of waiting is waits-flame.svg, its stacks waits-stacks.txt",
        };
        findings.notes.push(drawn.to_owned());
        Ok(findings)
    }

    fn tell_of_postgres(&self, findings: &mut Findings) {
        let seen = &self.seen;
        findings.tables.extend(seen.profile.tables());
        findings.tables.push(seen.horizon.table());
        findings.tables.extend(self.dead_rows.clone());
        let seconds = seen.length.as_secs_f64();
        let title = "counters of PostgreSQL meanwhile";
        findings.tables.push(counters::table(title, &self.counters, seconds));
        findings.plots.extend([self.sessions_plot(), self.wal_plot()]);
        let samples = seen.profile.samples;
        findings.notes.push(self.sampling_note());
        if seen.profile.not_visible() > 0 {
            let share = seen.profile.not_visible() as f64 / samples.max(1) as f64;
            findings.notes.push(format!("not visible: {} sessions on average", number(share)));
        }
    }

    fn sessions_plot(&self) -> Plot {
        let series = self.seen.sessions.iter();
        let series =
            series.map(|(name, points)| Series { name: name.clone(), points: points.clone() });
        Plot {
            name: "sessions".to_owned(),
            title: "sessions by what they waited for".to_owned(),
            x: Axis::linear("s"),
            y: Axis::linear("sessions"),
            series: series.collect(),
        }
    }

    fn wal_plot(&self) -> Plot {
        let points = self.seen.wal.iter().map(|(at, bytes)| (*at, bytes / 1e6)).collect();
        Plot {
            name: "wal".to_owned(),
            title: "WAL written".to_owned(),
            x: Axis::linear("s"),
            y: Axis::linear("MB/s"),
            series: vec![Series { name: "WAL".to_owned(), points }],
        }
    }
}

/// Shows on a terminal how much of the time has passed.
pub fn bar(length: Duration) -> ProgressBar {
    let bar = ProgressBar::new(length.as_millis() as u64);
    if let Ok(style) = ProgressStyle::with_template("looking [{bar:30}] {percent:>3}%") {
        bar.set_style(style.progress_chars("=> "));
    }
    bar
}
