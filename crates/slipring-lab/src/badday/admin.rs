//! Requests to the admin API of the server that is driven.

use anyhow::{Context, Result};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Posts JSON on a connection of its own; answers the status and what came back.
///
/// # Errors
/// When the server does not answer by HTTP with JSON.
pub async fn post(address: &str, path: &str, json: &Value) -> Result<(u16, Value)> {
    let content = json.to_string();
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{content}",
        content.len()
    );
    let mut stream = TcpStream::connect(address).await.context("connecting to the admin API")?;
    stream.write_all(request.as_bytes()).await.context("writing to the admin API")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.context("reading from the admin API")?;
    parsed(&answer).with_context(|| format!("the admin API answered {answer:?}"))
}

fn parsed(answer: &str) -> Result<(u16, Value)> {
    let (head, body) = answer.split_once("\r\n\r\n").context("no head")?;
    let status = head.split(' ').nth(1).context("no status")?.parse().context("no status")?;
    Ok((status, serde_json::from_str(body).context("no JSON")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_its_status_and_its_json() {
        let (status, json) = parsed("HTTP/1.1 503 No\r\na: b\r\n\r\n{\"kind\": \"x\"}").unwrap();
        assert_eq!((status, json["kind"].as_str()), (503, Some("x")));
        assert!(parsed("HTTP/1.1 200 OK\r\n\r\n").is_err());
        assert!(parsed("").is_err());
    }
}
