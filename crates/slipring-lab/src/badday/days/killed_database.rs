//! PostgreSQL is killed under our server and started again.

use anyhow::Result;

use crate::badday::day::{About, Day, SINGLE};
use crate::badday::stage::Stage;
use crate::targets::Kind;

/// See the file's head.
#[derive(Default)]
pub struct KilledDatabase;

impl Day for KilledDatabase {
    const ABOUT: About = About {
        name: "killed-database",
        what: "PostgreSQL is killed under our server and recovers; judged is the time after that",
        contenders: &[Kind::PostgresServer],
        stall_ms_max: f64::INFINITY,
        recovery_s_max: 5.0,
        load: SINGLE,
    };

    async fn strike(&mut self, stage: &mut Stage<'_>) -> Result<()> {
        let cluster = stage.cluster()?;
        cluster.kill()?;
        cluster.restart().await
    }
}
