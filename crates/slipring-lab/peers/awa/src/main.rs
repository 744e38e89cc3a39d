//! Drives awa by its batch paths: COPY into its queue storage, claims of 512, and the receipts of
//! jobs without a deadline. It speaks the lab's line protocol: work comes in as JSON lines,
//! windows and answers go out as JSON lines (see `src/driver/protocol.rs`).
//!
//! With the word `adapter` it is a system of the public benchmark instead.

mod adapter;
#[path = "../../../src/interrupt.rs"]
#[allow(dead_code)] // the flag is for runs that are no futures
mod interrupt;
mod peer;
mod seen;
mod work;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};

use peer::Peer;

/// As the lab itself has.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<()> {
    let last = std::env::args().next_back().context("the address of a database is missing")?;
    match last.as_str() {
        "adapter" => adapter::run(),
        url => tokio::runtime::Runtime::new()?.block_on(drive(url)),
    }
}

async fn drive(url: &str) -> Result<()> {
    let peer = Peer::open(url).await?;
    let version = format!("awa {}", peer::VERSION);
    say(&json!({"ready": {"version": version, "how": peer::HOW}}));
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        let answer = match serde_json::from_str(&line) {
            Ok(command) => work::run(command, &peer).await,
            Err(error) => Err(error.into()),
        };
        match answer {
            Ok(answer) => say(&json!({"done": answer})),
            Err(error) => {
                say(&json!({"failed": format!("{error:#}")}));
                std::process::exit(1);
            }
        }
    }
    Ok(())
}

fn say(line: &Value) {
    println!("{line}");
}
