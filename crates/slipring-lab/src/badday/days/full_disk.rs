//! The disk is filled up under the server, a participant sends until it is refused, and the disk
//! gets room again: a disk in memory of its own.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::badday::day::{About, Day, SINGLE};
use crate::badday::stage::Stage;
use crate::body::{self, Content};
use crate::crash::dice::Dice;
use crate::run::condition::Condition;
use crate::targets::{Caller, Kind, Target};

/// See the file's head.
#[derive(Default)]
pub struct FullDisk {
    refused: bool,
}

/// The name on the command line, which decides that there is such a disk.
pub const NAME: &str = "full-disk";
/// The little room that is left is used up within this.
const REFUSED_WITHIN: Duration = Duration::from_secs(20);
const BATCH: u64 = 500;

/// Whether a send was refused for now, as it is for want of room. The server answers so and stays;
/// a cut connection or a fault of its own is none of this.
fn no_room(error: &anyhow::Error) -> bool {
    format!("{error:#}").contains("OutOfMemory")
}

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
        stage.disk.as_ref().context("this target is on no disk of its own")?.fill(&dice)?;
        let mut sender = stage.tubes().caller("full").await?;
        let content = |number| body::write(Content { number, due_ns: 0 });
        let bodies: Vec<_> = (0..BATCH).map(content).collect();
        let end = Instant::now() + REFUSED_WITHIN;
        while !self.refused && Instant::now() < end {
            match sender.send(&bodies).await {
                Ok(()) => {}
                Err(error) if no_room(&error) => self.refused = true,
                Err(error) => return Err(error.context("a send on a full disk")),
            }
        }
        Ok(())
    }

    async fn relent(&mut self, stage: &mut Stage<'_>) -> Result<()> {
        stage.disk.as_ref().context("this target is on no disk of its own")?.free()
    }

    async fn check(&mut self, _: &mut Stage<'_>) -> Result<Vec<Condition>> {
        let refused = f64::from(u8::from(self.refused));
        Ok(vec![Condition::at_least("refused for want of room".to_owned(), "times", refused, 1.0)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_answer_that_there_is_no_room_is_a_refusal_for_want_of_it() {
        assert!(no_room(&anyhow::anyhow!("put was answered OutOfMemory")));
        assert!(!no_room(&anyhow::anyhow!("put was answered InternalError")));
        assert!(!no_room(&anyhow::anyhow!("the connection was cut")));
    }
}
