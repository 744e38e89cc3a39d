//! A RabbitMQ of one node with its data in a folder: on 127.0.0.1 with everything it listens on,
//! and apart from an installed one. The daemon in which Erlang's nodes find each other is its own.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::guarded::Guarded;
use crate::programs;
use crate::targets::server::free_address;

/// Debian's package.
pub const PACKAGE: &str = "rabbitmq-server";
/// Where packages put it. The one in PATH would start it as another user, with that one's data.
const PROGRAM: &str = "/usr/lib/rabbitmq/bin/rabbitmq-server";
/// Where Erlang's nodes find each other. Erlang would start one of its own that never ends.
const PORT_MAPPER: &str = "epmd";

/// Where the program is.
///
/// # Errors
/// When it is not installed.
pub fn program() -> Result<PathBuf> {
    let path = PathBuf::from(PROGRAM);
    if !path.exists() || programs::find(PORT_MAPPER).is_none() {
        bail!("RabbitMQ is not installed; on Debian: {PACKAGE}");
    }
    Ok(path)
}

/// What the installed server is; its program lies in a folder that is named by the version.
///
/// # Errors
/// When it is not installed.
pub fn version() -> Result<String> {
    let path = program()?.canonicalize().context("finding RabbitMQ")?;
    let parts = path.iter().filter_map(|part| part.to_str());
    let number = parts.filter_map(|part| part.strip_prefix("rabbitmq_server-")).next();
    Ok(format!("RabbitMQ {}", number.unwrap_or("?")))
}

/// A running server.
pub struct Server {
    // Dropped in this order.
    node: Guarded,
    mapper: Guarded,
    address: String,
}

impl Server {
    /// Starts it as the user of this process.
    ///
    /// # Errors
    /// When it is not installed, or takes no connections within a minute.
    pub async fn start(folder: &Path) -> Result<Server> {
        let program = program()?;
        let (address, distribution, mapper) = (free_address()?, free_address()?, free_address()?);
        let mut command = Command::new(programs::find(PORT_MAPPER).context("there is no epmd")?);
        command.args(["-port", port(&mapper), "-address", "127.0.0.1"]);
        let log = folder.join("epmd.log");
        let mut own = Guarded::start("Erlang's port mapper", command, &log, None)?;
        own.until_listening(&mapper).await?;

        std::fs::write(folder.join("enabled_plugins"), "[].\n").context("writing settings")?;
        let settings = format!("listeners.tcp.1 = {address}\n");
        std::fs::write(folder.join("rabbitmq.conf"), settings).context("writing settings")?;
        let mut command = Command::new(program);
        command.current_dir(folder);
        command.envs(environment(folder, port(&distribution), port(&mapper)));
        let log = folder.join("rabbitmq.log");
        let mut node = Guarded::start("RabbitMQ", command, &log, None)?;
        node.until_listening(&address).await?;
        Ok(Server { node, mapper: own, address })
    }

    /// Where it listens, host:port.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The process id of the node.
    pub fn pid(&self) -> u32 {
        self.node.pid()
    }

    /// Stops both processes.
    ///
    /// # Errors
    /// When one had ended by itself before.
    pub fn stop(self) -> Result<()> {
        self.node.stop()?;
        self.mapper.stop()
    }
}

/// What keeps it apart from an installed server. It says what it does on stdout.
fn environment(folder: &Path, distribution: &str, mapper: &str) -> Vec<(&'static str, OsString)> {
    let within = |name: &str| folder.join(name).into_os_string();
    let set = |name, value: &str| (name, OsString::from(value));
    vec![
        // Erlang keeps the secret of its nodes there.
        ("HOME", folder.into()),
        set("RABBITMQ_NODENAME", "lab@localhost"),
        ("RABBITMQ_CONF_ENV_FILE", within("none")),
        ("RABBITMQ_CONFIG_FILE", within("rabbitmq")),
        ("RABBITMQ_CONFIG_FILES", within("none")),
        ("RABBITMQ_ADVANCED_CONFIG_FILE", within("none")),
        ("RABBITMQ_ENABLED_PLUGINS_FILE", within("enabled_plugins")),
        ("RABBITMQ_GENERATED_CONFIG_DIR", within("generated")),
        ("RABBITMQ_MNESIA_BASE", within("data")),
        ("RABBITMQ_LOG_BASE", within("log")),
        ("RABBITMQ_PID_FILE", within("pid")),
        set("RABBITMQ_LOGS", "-"),
        set("RABBITMQ_DIST_PORT", distribution),
        set("RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS", "-kernel inet_dist_use_interface {127,0,0,1}"),
        // Ctrl-C is for the lab, which then stops the server.
        set("RABBITMQ_SERVER_START_ARGS", "+B i"),
        // The script becomes the node, so that a signal to it reaches the node.
        set("RUNNING_UNDER_SYSTEMD", "true"),
        set("ERL_EPMD_ADDRESS", "127.0.0.1"),
        set("ERL_EPMD_PORT", mapper),
    ]
}

/// The port of an address.
fn port(address: &str) -> &str {
    address.rsplit(':').next().unwrap_or_default()
}
