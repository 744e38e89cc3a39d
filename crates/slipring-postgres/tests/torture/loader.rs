//! Loads by SQL: begun in transactions that stay open while others send and receive, appended in
//! parts and published (S15.1).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use slipring::{Randomness, SeededRandomness};
use tokio_postgres::{Client, Error};

use super::worker::{Common, QUEUES, REFUSED};

/// Looks at what others have sent meanwhile; they may all be waiting for this transaction.
const LOOKS_MAX: usize = 40;
/// So many more are to be sent while a load is begun.
const MEANWHILE: usize = 4;

/// One who loads, with a session and choices.
pub struct Loader {
    common: Arc<Common>,
    client: Client,
    random: SeededRandomness,
    next: u64,
}

impl Loader {
    pub fn new(common: Arc<Common>, client: Client, seed: u64) -> Loader {
        Loader { common, client, random: SeededRandomness::new(!seed), next: 0 }
    }

    fn below(&self, end: u64) -> u64 {
        (self.random.unit() * end as f64) as u64
    }

    /// Loads until nothing more is to be sent, once at least; answers how many loads were
    /// published.
    pub async fn work(mut self) -> u64 {
        let mut published = 0;
        while published == 0 || !self.common.ending.load(Ordering::Relaxed) {
            match self.load().await {
                Ok(done) => published += u64::from(done),
                Err(error) => {
                    let code = error.code().map_or_else(String::new, |code| code.code().to_owned());
                    if !REFUSED.contains(&code.as_str()) {
                        println!("load: {error:?}");
                    }
                    *self.common.refused.lock().entry(code).or_default() += 1;
                    self.run("ROLLBACK").await.expect("a session can always roll back");
                }
            }
        }
        published
    }

    async fn run(&self, sql: &str) -> Result<(), Error> {
        self.client.batch_execute(sql).await
    }

    /// One load; answers whether it was published.
    async fn load(&mut self) -> Result<bool, Error> {
        let queue = if self.below(2) == 0 { QUEUES[0] } else { QUEUES[2] };
        self.run("BEGIN").await?;
        let begin = format!("SELECT slipring.load_begin('{queue}', {})", 1 + self.below(40));
        let load: i64 = self.client.query_one(&begin, &[]).await?.get(0);
        let sent = self.common.ledger.counts().0;
        for _ in 0..LOOKS_MAX {
            if self.common.ledger.counts().0 >= sent + MEANWHILE {
                break;
            }
            self.run("SELECT").await?;
        }
        if self.below(6) == 0 {
            return self.run("ROLLBACK").await.map(|()| false);
        }
        self.run("COMMIT").await?;
        let mut bodies = Vec::new();
        for part in 0..=self.below(2) {
            let from = bodies.len();
            for _ in 0..=self.below(4) {
                self.next += 1;
                bodies.push(format!("{queue}-load:{}", self.next));
            }
            let append = format!(
                "SELECT slipring.load_append({load}, {part}, '{{{}}}'::text[])",
                bodies[from..].join(",")
            );
            self.run(&append).await?;
        }
        bodies.iter().for_each(|body| self.common.ledger.sending(body));
        let publish = format!("SELECT slipring.load_publish({load}, {})", bodies.len());
        let published = self.run(&publish).await;
        self.common.ledger.sent(&bodies, published.is_ok());
        published.map(|()| true)
    }
}
