//! Messages that always fail are given back at once, as fast as they come: the workload `poison`
//! of the row of this name, beside the others.

use anyhow::Result;

use crate::badday::day::{About, Day, SINGLE, TUBES};
use crate::badday::stage::Stage;
use crate::run::condition::Condition;
use crate::workloads::{Answer, Settings, Work};

/// See the file's head.
#[derive(Default)]
pub struct Poison(Answer);

impl Day for Poison {
    const ABOUT: About = About {
        name: "poison",
        what: "ten messages that always fail are given back at once, among good ones",
        contenders: TUBES,
        stall_ms_max: 250.0,
        recovery_s_max: 2.0,
        load: SINGLE,
    };

    async fn strike(&mut self, stage: &mut Stage<'_>) -> Result<()> {
        let messages = if stage.smoke { 200 } else { 10_000 };
        let settings = stage.work(Work::Poison);
        let settings = Settings { callers: 8, batch: 10, messages, poisons: 10, ..settings };
        self.0 = stage.participate(&settings).await?;
        Ok(())
    }

    async fn check(&mut self, _: &mut Stage<'_>) -> Result<Vec<Condition>> {
        let failures = self.0.figures.get("poison_deliveries_per_s").copied().unwrap_or(f64::NAN);
        let text = "failures".to_owned();
        Ok(vec![
            Condition::at_least(text, "deliveries/s", failures, 0.1),
            Condition::at_most("its own lost", "messages", self.0.checks.missing as f64, 0.0),
        ])
    }
}
