//! `slipring beanstalkd`: the command line of the original beanstalkd.

use std::path::PathBuf;

use clap::builder::BoolishValueParser;
use clap::{ArgAction, Args};
use slipring::Durability;
use slipring_server::listen::{ListenAddress, Reach, Request};
use slipring_server::{BeanstalkdOptions, ServerOptions, beanstalkd, process};

use crate::failure::Failure;
use crate::logging::{self, LogFormat};
use crate::store::StoreSpec;
use crate::user::become_user;

use super::running;

#[derive(Debug, Args)]
#[command(disable_version_flag = true)]
pub struct BeanstalkdArgs {
    /// Listen on this address, or on a Unix socket with unix:/path
    #[arg(short = 'l', value_name = "ADDR", default_value = "127.0.0.1")]
    address: String,
    /// Listen on this port
    #[arg(short = 'p', value_name = "PORT", default_value_t = 11300)]
    port: u16,
    /// Keep jobs in this folder, in a file slipring.db; without it nothing outlives the process
    #[arg(short = 'b', value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Largest job in bytes
    #[arg(short = 'z', value_name = "BYTES", default_value_t = 65_535)]
    job_bytes_max: u32,
    /// Accepted for the original's scripts; every acknowledged change is flushed, whatever MS is
    #[arg(short = 'f', value_name = "MS")]
    flush_ms: Option<u64>,
    /// Do not flush: acknowledged jobs survive the process, but not a loss of power
    #[arg(short = 'F')]
    never_flush: bool,
    /// Accepted for the original's scripts; there are no log files to size
    #[arg(short = 's', value_name = "BYTES")]
    log_file_bytes: Option<u64>,
    /// Accepted for the original's scripts
    #[arg(short = 'c', hide = true)]
    compact: bool,
    /// Accepted for the original's scripts
    #[arg(short = 'n', hide = true)]
    never_compact: bool,
    /// Become this user once the port is open
    #[arg(short = 'u', value_name = "USER")]
    user: Option<String>,
    /// Log more; repeat for still more
    #[arg(short = 'V', action = ArgAction::Count)]
    verbose: u8,
    /// Print the version and end
    #[arg(short = 'v', action = ArgAction::Version)]
    version: Option<bool>,
    /// Listen on addresses other machines can reach; the protocol knows no credentials
    #[arg(long, env = "SLIPRING_INSECURE")]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    #[arg(value_parser = BoolishValueParser::new())]
    insecure: Option<bool>,
}

impl BeanstalkdArgs {
    pub async fn run(self) -> Result<(), Failure> {
        let filter = match self.verbose {
            0 => "warn",
            1 => "info",
            _ => "debug",
        };
        logging::start(filter, LogFormat::Human)?;
        running::run(self.start()).await
    }

    /// Opens the listener and then the store; answers what the server is started with, and its
    /// first line.
    async fn start(self) -> Result<(ServerOptions, String), Failure> {
        process::raise_open_files();
        let address = self.listen_address()?;
        let reach = if self.insecure == Some(true) { Reach::Anybody } else { Reach::Loopback };
        let remedy = "add --insecure (or SLIPRING_INSECURE=true) if they may";
        let listener = Request { usage: "-p PORT", address: &address, reach, remedy }.any().await?;
        if let Some(user) = &self.user {
            become_user(user)?;
        }
        let store = match &self.folder {
            Some(folder) => StoreSpec::Sqlite(folder.join("slipring.db")),
            None => StoreSpec::Memory,
        };
        let durability = if self.never_flush { Durability::Relaxed } else { Durability::Full };
        let engine = store.open(true).await?;
        let ready = format!(
            "slipring is ready: beanstalkd on {}, storing in {}",
            listener.address(),
            store.in_words(durability),
        );
        let settings = beanstalkd::Settings {
            job_bytes_max: self.job_bytes_max,
            durability,
            ..beanstalkd::Settings::default()
        };
        let beanstalkd = Some(BeanstalkdOptions { listener, settings });
        let (sqs, admin, leaving_bytes_max, audit) = (None, None, None, None);
        let options = ServerOptions { engine, sqs, beanstalkd, admin, leaving_bytes_max, audit };
        Ok((options, ready))
    }

    fn listen_address(&self) -> Result<ListenAddress, Failure> {
        let text = match self.address.strip_prefix("unix:") {
            Some(_) => self.address.clone(),
            None if self.address.contains(':') && !self.address.starts_with('[') => {
                format!("[{}]:{}", self.address, self.port)
            }
            None => format!("{}:{}", self.address, self.port),
        };
        text.parse().map_err(|error| Failure::usage(format!("-l {}: {error}", self.address)))
    }
}
