//! A producer appends a part of a load by SQL, and leaves its transaction open. An append keeps no
//! lock of the queue, and the publication waits for it before it takes one, so sends to the queue
//! and receives from it do not wait.
//!
//! By SQL the transaction reserves parts as well, and so has the queue's lock: senders and
//! receivers by SQL do without.

use std::time::Duration;

use anyhow::{Context, Result};
use tokio::task::JoinHandle;
use tokio_postgres::Client;

use crate::badday::day::{About, Day, SINGLE};
use crate::badday::open::{self, Calls, Open, PATIENCE, Seen, UNFELT_MS};
use crate::badday::stage::Stage;
use crate::run::condition::Condition;
use crate::targets::Kind;

/// See the file's head.
#[derive(Default)]
pub struct OpenLoad {
    open: Option<Open>,
    load: i64,
    publisher: Option<JoinHandle<Result<i64>>>,
    waited: bool,
    seen: Seen,
    published: i64,
    beside_ms: f64,
}

/// Messages of all parts, one in each: while a receiver of the others has these, which come before
/// its own, it has nothing else, and that counts as a stall.
const MESSAGES: i64 = 3;
/// The first part that is not reserved when a load begins.
const FURTHER: i64 = 16;

/// The priority of the others, which has its place in the queue.
fn priority(stage: &Stage<'_>) -> i64 {
    if stage.kind == Kind::Sql { 1024 } else { 0 }
}

async fn append(session: &Client, load: i64, part: i64, priority: i64) -> Result<()> {
    let append = include_str!("../../../queries/open_load_append.sql");
    let bodies = open::bodies(1);
    let bodies: Vec<&[u8]> = bodies.iter().map(<[u8; _]>::as_slice).collect();
    let appended = session.execute(append, &[&load, &part, &bodies, &priority]).await;
    appended.with_context(|| format!("appending part {part}"))?;
    Ok(())
}

impl Day for OpenLoad {
    const ABOUT: About = About {
        name: "open-load",
        what: "a part of a load is appended by SQL in a transaction that stays open",
        contenders: &[Kind::Sql, Kind::PostgresServer],
        stall_ms_max: UNFELT_MS,
        recovery_s_max: 2.0,
        load: SINGLE,
    };

    async fn prepare(&mut self, stage: &mut Stage<'_>) -> Result<()> {
        let (session, queue) = (stage.session().await?, open::queue());
        open::create(&session, &queue).await?;
        let begin = include_str!("../../../queries/open_load_begin.sql");
        let begun = session.query_one(begin, &[&queue]).await.context("beginning a load")?;
        self.load = begun.try_get(0)?;
        // A priority that is new in the queue would take its lock.
        append(&session, self.load, 0, priority(stage)).await
    }

    async fn strike(&mut self, stage: &mut Stage<'_>) -> Result<()> {
        let open = Open::begin(stage).await?;
        let (load, priority) = (self.load, priority(stage));
        let part = if stage.kind == Kind::Sql { FURTHER } else { 1 };
        if part == FURTHER {
            let reserve = include_str!("../../../queries/open_load_reserve.sql");
            let reserved = open.session.execute(reserve, &[&load, &FURTHER]).await;
            reserved.context("reserving parts in a transaction")?;
        }
        append(&open.session, load, part, priority).await?;
        let (beside, calls) = (stage.session().await?, Calls::new());
        let appended = calls.count(append(&beside, load, 2, priority));
        let in_time = tokio::time::timeout(Duration::from_secs(1), appended).await;
        self.beside_ms = calls.longest_ms();
        in_time.context("an append beside the open one waits")??;
        self.publisher = Some(tokio::spawn(async move {
            let publish = include_str!("../../../queries/open_load_publish.sql");
            let row = beside.query_one(publish, &[&load, &MESSAGES]).await;
            Ok(row.context("publishing the load")?.try_get(0)?)
        }));
        open.awaited(stage).await?;
        self.open = Some(open);
        Ok(())
    }

    async fn relent(&mut self, stage: &mut Stage<'_>) -> Result<()> {
        let publisher = self.publisher.take().context("no publication was begun")?;
        self.waited = !publisher.is_finished();
        self.seen = Open::commit(&mut self.open, stage).await?;
        let published = tokio::time::timeout(PATIENCE, publisher).await;
        self.published = published.context("the publication goes on waiting")???;
        Ok(())
    }

    async fn check(&mut self, stage: &mut Stage<'_>) -> Result<Vec<Condition>> {
        let (waited, published) = (f64::from(u8::from(self.waited)), self.published as f64);
        let (all, text) = (MESSAGES as f64, "published after its end".to_owned());
        let own = vec![
            self.seen.waited("waiting for it then, to publish the load"),
            Condition::at_least("waits of the publication".to_owned(), "times", waited, 1.0),
            Condition::at_least(text, "messages", published, all),
            Condition::at_most("an append beside it", "ms", self.beside_ms, UNFELT_MS),
        ];
        let locks = u32::from(stage.kind == Kind::Sql);
        Ok([self.seen.conditions(locks), own].concat())
    }
}
