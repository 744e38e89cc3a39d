//! The disk is filled up under the server, and gets room again: a disk in memory of its own.

use anyhow::{Context, Result};

use crate::badday::day::{About, Day, SINGLE};
use crate::badday::stage::Stage;
use crate::crash::dice::Dice;
use crate::targets::Kind;

/// See the file's head.
#[derive(Default)]
pub struct FullDisk;

/// The name on the command line, which decides that there is such a disk.
pub const NAME: &str = "full-disk";

impl Day for FullDisk {
    const ABOUT: About = About {
        name: NAME,
        what: "the disk is full for a while; the others share it, so their stall is not judged",
        contenders: &[Kind::SlipringBeanstalkd],
        stall_ms_max: f64::INFINITY,
        recovery_s_max: 3.0,
        load: SINGLE,
    };

    async fn strike(&mut self, stage: &mut Stage<'_>) -> Result<()> {
        let dice = Dice::new(stage.seed, 0);
        stage.disk.as_ref().context("this target is on no disk of its own")?.fill(&dice)
    }

    async fn relent(&mut self, stage: &mut Stage<'_>) -> Result<()> {
        stage.disk.as_ref().context("this target is on no disk of its own")?.free()
    }
}
