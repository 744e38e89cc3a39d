//! A program takes all connections that PostgreSQL has, and keeps them.

use anyhow::Result;
use tokio_postgres::Client;

use crate::badday::day::{About, Day, SINGLE};
use crate::badday::stage::Stage;
use crate::run::condition::Condition;
use crate::targets::Kind;

/// See the file's head.
#[derive(Default)]
pub struct PoolExhausted {
    sessions: Vec<Client>,
    taken: usize,
    refused: bool,
}

/// More than a throw-away PostgreSQL has.
const SESSIONS_MAX: usize = 1000;

impl Day for PoolExhausted {
    const ABOUT: About = About {
        name: "pool-exhausted",
        what: "a program takes all connections that PostgreSQL has left, beside our server",
        contenders: &[Kind::PostgresServer],
        stall_ms_max: 1000.0,
        recovery_s_max: 3.0,
        load: SINGLE,
    };

    async fn strike(&mut self, stage: &mut Stage<'_>) -> Result<()> {
        while self.sessions.len() < SESSIONS_MAX {
            match stage.session().await {
                Ok(session) => self.sessions.push(session),
                Err(_) => {
                    self.refused = true;
                    break;
                }
            }
        }
        self.taken = self.sessions.len();
        Ok(())
    }

    async fn relent(&mut self, _: &mut Stage<'_>) -> Result<()> {
        self.sessions.clear();
        Ok(())
    }

    async fn check(&mut self, _: &mut Stage<'_>) -> Result<Vec<Condition>> {
        let (taken, refused) = (self.taken as f64, f64::from(u8::from(self.refused)));
        Ok(vec![
            Condition::at_least("connections taken".to_owned(), "connections", taken, 1.0),
            Condition::at_least("further ones refused".to_owned(), "times", refused, 1.0),
        ])
    }
}
