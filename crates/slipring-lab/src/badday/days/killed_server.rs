//! The server is killed under load and started again on the same data and ports: at some moment,
//! and, ours, while it copies its log into its file, beside a flood of large bodies that makes the
//! file grow with each copy.

use std::time::{Duration, Instant};

use anyhow::Result;

use crate::badday::day::{About, Day, SINGLE, TUBES};
use crate::badday::stage::Stage;
use crate::crash::aim::Aim;
use crate::crash::dice::Dice;
use crate::crash::flood::Flood;
use crate::run::condition::Condition;
use crate::targets::Kind;

/// See the file's head.
#[derive(Default)]
pub struct KilledServer {
    flood: Flood,
    kills: u32,
    /// Kills that met a copy of the log.
    met: u32,
    down_ms_max: f64,
}

/// The server goes on for so long, at most, before it is killed.
const BETWEEN_MS: u64 = 1500;

/// As many kills are made for one that meets a copy of the log.
const KILLS_MAX: u32 = 40;

impl Day for KilledServer {
    const ABOUT: About = About {
        name: "killed-server",
        what: "the server is killed (SIGKILL) again and again, also while it copies its log",
        contenders: TUBES,
        stall_ms_max: 5000.0,
        recovery_s_max: 3.0,
        load: SINGLE,
    };

    async fn strike(&mut self, stage: &mut Stage<'_>) -> Result<()> {
        let dice = Dice::new(stage.seed, 0);
        let end = Instant::now() + stage.lengths.fault;
        let ours = stage.kind == Kind::SlipringBeanstalkd;
        let missed = |day: &KilledServer| ours && day.met == 0 && day.kills < KILLS_MAX;
        while self.kills < 2 || missed(self) || Instant::now() < end {
            if ours && self.kills.is_multiple_of(2) {
                self.flood.begin(&stage.addresses().sqs, stage.seed);
                let aim = Aim::at(&stage.file());
                self.met += u32::from(tokio::task::block_in_place(|| aim.copy(&dice)));
            } else {
                let most = if stage.smoke { BETWEEN_MS / 10 } else { BETWEEN_MS };
                tokio::time::sleep(Duration::from_millis(dice.below(most))).await;
            }
            let killed = Instant::now();
            stage.kill()?;
            self.kills += 1;
            tokio::task::block_in_place(|| self.flood.end())?;
            stage.restart().await?;
            self.down_ms_max = self.down_ms_max.max(killed.elapsed().as_secs_f64() * 1e3);
        }
        Ok(())
    }

    async fn check(&mut self, stage: &mut Stage<'_>) -> Result<Vec<Condition>> {
        let (kills, met) = (f64::from(self.kills), f64::from(self.met));
        let mut conditions = vec![
            Condition::at_least("kills".to_owned(), "kills", kills, 2.0),
            Condition::at_most("longest from kill to listening", "ms", self.down_ms_max, 5000.0),
        ];
        if stage.kind == Kind::SlipringBeanstalkd {
            self.flood.check(&stage.addresses().sqs).await?;
            let text = "kills that met a copy of the log".to_owned();
            conditions.push(Condition::at_least(text, "kills", met, 1.0));
        }
        Ok(conditions)
    }
}
