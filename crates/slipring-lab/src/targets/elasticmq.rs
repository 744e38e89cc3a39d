//! ElasticMQ: a server of the SQS protocol in Scala. It keeps messages in memory, and on request in
//! a file of the database H2 as well.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::json;

use super::logged;
use super::server::Server;
use crate::peers::install;

/// Starts it on a free port of 127.0.0.1, with its settings and its log in `folder`, and `stored`
/// also with its messages there.
///
/// # Errors
/// When it is not installed or does not start.
pub async fn start(folder: &Path, stored: bool) -> Result<Server> {
    let settings = folder.join("elasticmq.conf");
    let messages = stored.then(|| folder.join("messages"));
    std::fs::write(&settings, text(messages.as_deref())).context("writing ElasticMQ's settings")?;
    let mut command = install::elasticmq()?.command().context("ElasticMQ without a program")?;
    // Otherwise Java keeps figures in the system's folder for temporary files.
    command.arg("-XX:-UsePerfData").arg(format!("-Dconfig.file={}", settings.display()));
    command.arg("org.elasticmq.server.Main");
    logged::start(command, &folder.join("elasticmq.log"), "bind address ").await
}

/// What differs from its defaults, in its own notation, of which JSON is a part.
fn text(messages: Option<&Path>) -> String {
    let mut settings = vec![
        ("rest-sqs", json!({ "bind-hostname": "127.0.0.1", "bind-port": 0 })),
        ("rest-stats", json!({ "enabled": false })),
        // The port is known only when it is bound.
        ("generate-node-address", json!(true)),
    ];
    if let Some(messages) = messages {
        let uri = format!("jdbc:h2:{}", messages.display());
        settings.push(("messages-storage", json!({ "enabled": true, "uri": uri })));
    }
    let lines = settings.iter().map(|(name, value)| format!("{name} = {value}\n"));
    format!("include classpath(\"application.conf\")\n{}", lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_messages_that_are_stored_have_a_place() {
        assert!(!text(None).contains("messages-storage"));
        let stored = text(Some(Path::new("/a \"b\"/messages")));
        let line = r#"messages-storage = {"enabled":true,"uri":"jdbc:h2:/a \"b\"/messages"}"#;
        assert!(stored.lines().any(|found| found == line), "{stored}");
    }
}
