//! Clients ask again and again for a large job, and never read an answer.

use std::time::Duration;

use anyhow::{Result, bail};
use bytes::Bytes;
use futures::future::join_all;
use slipring_wire::beanstalkd::{Command, Put, Reply, TubeName};

use crate::badday::day::{About, Day, SINGLE, TUBES};
use crate::badday::stage::Stage;
use crate::run::condition::Condition;
use crate::wire::beanstalkd::Connection;

/// See the file's head.
#[derive(Default)]
pub struct UnreadAnswers {
    connections: Vec<Connection>,
    before_mb: f64,
}

/// The default limit of the original.
const BODY_BYTES: usize = 60_000;
const CLIENTS: usize = 10;
/// A server that keeps unread answers in memory grows by less than this, in megabytes.
const GROWTH_MB_MAX: f64 = 200.0;
/// A server may stop reading from such a client, which then cannot write either.
const WRITTEN_WITHIN: Duration = Duration::from_millis(200);

impl Day for UnreadAnswers {
    const ABOUT: About = About {
        name: "unread-answers",
        what: "ten clients pipeline peeks at a job of 60 kB and never read",
        contenders: TUBES,
        stall_ms_max: 250.0,
        recovery_s_max: 2.0,
        load: SINGLE,
    };

    async fn prepare(&mut self, stage: &mut Stage<'_>) -> Result<()> {
        for client in 0..CLIENTS {
            let mut connection = Connection::open(&stage.addresses().beanstalkd).await?;
            connection.use_tube(&TubeName::from_bytes(b"unread")?).await?;
            if client == 0 {
                let body = Bytes::from(vec![b'x'; BODY_BYTES]);
                let put = Put { priority: 0, delay: 0, time_to_run: 60, body };
                match connection.call(&Command::Put(put)).await? {
                    Reply::Inserted { .. } => {}
                    other => bail!("put was answered {other:?}"),
                }
            }
            self.connections.push(connection);
        }
        self.before_mb = stage.resident_peak_mb()?;
        Ok(())
    }

    async fn strike(&mut self, stage: &mut Stage<'_>) -> Result<()> {
        let peeks = if stage.smoke { 1000 } else { 20_000 };
        let asked = self.connections.iter_mut().map(|connection| {
            (0..peeks).for_each(|_| connection.add(&Command::PeekReady));
            tokio::time::timeout(WRITTEN_WITHIN, connection.flush())
        });
        // A client that could not write all of it has asked enough; one that was cut is told.
        for asked in join_all(asked).await.into_iter().flatten() {
            asked?;
        }
        Ok(())
    }

    async fn relent(&mut self, _: &mut Stage<'_>) -> Result<()> {
        self.connections.clear();
        Ok(())
    }

    async fn check(&mut self, stage: &mut Stage<'_>) -> Result<Vec<Condition>> {
        let growth = stage.resident_peak_mb()? - self.before_mb;
        Ok(vec![Condition::at_most("growth of the server", "MB", growth, GROWTH_MB_MAX)])
    }
}
