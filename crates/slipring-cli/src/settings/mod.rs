//! The server's configuration: flags before environment before file before defaults, and where
//! each value came from.

mod check;
mod entrance;
mod file;
mod limits;
mod listen;
mod logs;

use std::fmt;
use std::path::PathBuf;

use clap::builder::BoolishValueParser;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args};
use slipring::QueueName;
use slipring_server::declared::DeclaredQueues;

use crate::failure::Failure;
use crate::logging::LogFormat;
use crate::store::{StoreParser, StoreSpec};

pub use entrance::Entrance;
pub use file::FileSettings;
pub use limits::count;
pub use listen::Listen;
pub use logs::Logs;

/// The flags that configure a server; each can also come from the environment or the file.
#[derive(Debug, Args)]
pub struct SettingsArgs {
    /// Configuration file; default ./slipring.toml if there, else /etc/slipring/slipring.toml
    #[arg(long, value_name = "FILE", env = "SLIPRING_CONFIG")]
    pub config: Option<PathBuf>,
    /// Where messages are kept: sqlite:PATH, postgres://USER@HOST/DATABASE or memory: [default:
    /// sqlite:slipring.db]
    #[arg(long, value_name = "STORE", env = "SLIPRING_STORE", hide_env_values = true)]
    #[arg(value_parser = StoreParser)]
    pub store: Option<StoreSpec>,
    /// Where the SQS protocol listens, or off [default: 127.0.0.1:9324]
    #[arg(long, value_name = "ADDR", env = "SLIPRING_SQS")]
    pub sqs: Option<Listen>,
    /// Where the beanstalkd protocol listens (also unix:/path), or off [default: 127.0.0.1:11300]
    #[arg(long, value_name = "ADDR", env = "SLIPRING_BEANSTALKD")]
    pub beanstalkd: Option<Listen>,
    /// Where the admin API and the metrics listen, or off [default: 127.0.0.1:9325]
    #[arg(long, value_name = "ADDR", env = "SLIPRING_ADMIN")]
    pub admin: Option<Listen>,
    /// The account in SQS queue addresses and ARNs [default: 000000000000]
    #[arg(long, value_name = "ID", env = "SLIPRING_ACCOUNT", value_parser = account)]
    pub account: Option<String>,
    /// The region in SQS ARNs [default: us-east-1]
    #[arg(long, value_name = "NAME", env = "SLIPRING_REGION", value_parser = region)]
    pub region: Option<String>,
    /// Bearer token that the admin API asks for [default: none]
    #[arg(long, value_name = "TOKEN", env = "SLIPRING_ADMIN_TOKEN", hide_env_values = true)]
    pub admin_token: Option<String>,
    #[command(flatten)]
    pub entrance: entrance::EntranceArgs,
    /// Largest beanstalkd job in bytes [default: 65535]
    #[arg(long, value_name = "BYTES", env = "SLIPRING_JOB_BYTES_MAX")]
    pub job_bytes_max: Option<u32>,
    /// Most connections of each protocol at a time [default: 10000]
    #[arg(long, value_name = "COUNT", env = "SLIPRING_CONNECTIONS_MAX")]
    pub connections_max: Option<usize>,
    #[command(flatten)]
    pub limits: limits::LimitsArgs,
    #[command(flatten)]
    pub logs: logs::LogsArgs,
    /// Purge a queue by SQS at most once in 60 seconds, and keep the name of a deleted one for as
    /// long, as AWS does [default: true]
    #[arg(long, value_name = "BOOL", env = "SLIPRING_SQS_MINUTE_RULES")]
    #[arg(value_parser = BoolishValueParser::new())]
    pub sqs_minute_rules: Option<bool>,
    /// Answer what test suites of the SQS protocol need, such as a reset of all queues
    #[arg(long, env = "SLIPRING_SQS_TEST_MODE", hide = true)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    #[arg(value_parser = BoolishValueParser::new())]
    pub sqs_test_mode: Option<bool>,
}

impl SettingsArgs {
    /// The format of the log, as far as it can be known before the configuration is read: errors
    /// in that are told in it.
    pub fn format_of_errors(&self) -> LogFormat {
        let given = self.logs.log_format;
        let in_file = || FileSettings::log_format_in(self.config.as_deref());
        given.or_else(in_file).unwrap_or_default()
    }
}

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The command line.
    Flag,
    /// The environment.
    Environment,
    /// This file.
    File(PathBuf),
    /// Nobody said anything.
    Default,
}

/// A value and where it came from.
#[derive(Debug, Clone)]
pub struct Setting<T> {
    /// The value that holds.
    pub value: T,
    /// Where it came from.
    pub source: Source,
}

/// The configuration that holds.
#[derive(Debug)]
pub struct Settings {
    /// Where messages are kept.
    pub store: Setting<StoreSpec>,
    /// The SQS listener.
    pub sqs: Setting<Listen>,
    /// The beanstalkd listener.
    pub beanstalkd: Setting<Listen>,
    /// The admin listener.
    pub admin: Setting<Listen>,
    /// The account in ARNs.
    pub account: Setting<String>,
    /// The region in ARNs.
    pub region: Setting<String>,
    /// The admin API's token; empty for none.
    pub admin_token: Setting<String>,
    /// Who may come in, and under which names.
    pub entrance: Entrance,
    /// Largest beanstalkd job.
    pub job_bytes_max: Setting<u32>,
    /// Most connections of each protocol.
    pub connections_max: Setting<usize>,
    /// How many, how much and how long.
    pub limits: limits::Limits,
    /// What is written down, and where.
    pub logs: Logs,
    /// The two rules of 60 seconds of SQS.
    pub sqs_minute_rules: Setting<bool>,
    /// The SQS test mode.
    pub sqs_test_mode: Setting<bool>,
    /// Queues that the file declares.
    pub queues: Setting<DeclaredQueues>,
}

/// One row of `slipring config`.
pub struct Row {
    /// The key, as in the file.
    pub key: &'static str,
    /// The value; secrets are not shown.
    pub value: String,
    /// Where it came from, in words.
    pub source: String,
}

impl Settings {
    /// Puts the layers together.
    ///
    /// # Errors
    /// A file that cannot be read, has an unknown key, or a value out of range.
    pub fn load(args: SettingsArgs, given: &ArgMatches) -> Result<Settings, Failure> {
        let file = FileSettings::find(args.config.as_deref())?;
        let (path, mut file) = (file.path, file.values);
        let store = file.store(path.as_deref())?;
        let layers = Layers { given, path: path.as_deref() };
        let logs = Logs::load(args.logs, &mut file, &layers);
        let entrance = Entrance::load(args.entrance, &mut file, &layers);
        let admin_token =
            layers.pick("admin_token", args.admin_token, file.admin_token, String::new);
        check::check_token(&admin_token)?;
        let connections_max =
            layers.pick("connections_max", args.connections_max, file.connections_max, || 10_000);
        check::check_connections(&connections_max)?;
        Ok(Settings {
            store: layers.pick("store", args.store, store, || {
                StoreSpec::Sqlite(PathBuf::from("slipring.db"))
            }),
            sqs: layers.pick("sqs", args.sqs, file.sqs, || Listen::loopback(9324)),
            beanstalkd: layers
                .pick("beanstalkd", args.beanstalkd, file.beanstalkd, || Listen::loopback(11300)),
            admin: layers.pick("admin", args.admin, file.admin, || Listen::loopback(9325)),
            account: layers.pick("account", args.account, file.account, || "000000000000".into()),
            region: layers.pick("region", args.region, file.region, || "us-east-1".into()),
            admin_token,
            entrance,
            job_bytes_max: layers.pick(
                "job_bytes_max",
                args.job_bytes_max,
                file.job_bytes_max,
                || 65_535,
            ),
            connections_max,
            limits: limits::Limits::load(&args.limits, &file.limits, &layers),
            logs,
            sqs_minute_rules: layers.pick(
                "sqs_minute_rules",
                args.sqs_minute_rules,
                file.sqs_minute_rules,
                || true,
            ),
            sqs_test_mode: layers.pick(
                "sqs_test_mode",
                args.sqs_test_mode,
                file.sqs_test_mode,
                || false,
            ),
            queues: {
                let declared = Some(file.queues).filter(|queues| !queues.is_empty());
                layers.pick("queues", None, declared, DeclaredQueues::default)
            },
        })
    }

    /// Every setting with its value and source.
    pub fn rows(&self) -> Vec<Row> {
        let token = if self.admin_token.value.is_empty() { "(none)" } else { "(set, not shown)" };
        let token = Setting { value: token, source: self.admin_token.source.clone() };
        let mut rows = vec![
            row("store", &self.store),
            row("sqs", &self.sqs),
            row("beanstalkd", &self.beanstalkd),
            row("admin", &self.admin),
            row("account", &self.account),
            row("region", &self.region),
            row("admin_token", &token),
        ];
        rows.extend(self.entrance.rows());
        rows.extend([
            row("job_bytes_max", &self.job_bytes_max),
            row("connections_max", &self.connections_max),
            row("sqs_minute_rules", &self.sqs_minute_rules),
        ]);
        rows.extend(self.logs.rows());
        rows.extend(self.limits.rows());
        if !self.queues.value.is_empty() {
            let names = |queues: &DeclaredQueues| {
                queues.names().map(QueueName::as_str).collect::<Vec<_>>().join(", ")
            };
            rows.push(row("queues", &shown(&self.queues, names)));
        }
        if self.sqs_test_mode.value {
            rows.push(row("sqs_test_mode", &self.sqs_test_mode));
        }
        rows
    }
}

/// The setting as a text.
fn shown<T>(setting: &Setting<T>, text: impl FnOnce(&T) -> String) -> Setting<String> {
    Setting { value: text(&setting.value), source: setting.source.clone() }
}

fn row(key: &'static str, setting: &Setting<impl fmt::Display>) -> Row {
    Row { key, value: setting.value.to_string(), source: of_source(key, &setting.source) }
}

fn of_source(key: &str, source: &Source) -> String {
    match source {
        Source::Flag => format!("flag --{}", key.replace('_', "-")),
        Source::Environment => format!("environment SLIPRING_{}", key.to_uppercase()),
        Source::File(path) => format!("file {}", path.display()),
        Source::Default => "default".to_owned(),
    }
}

/// The layers below the flags that came with the call.
struct Layers<'a> {
    given: &'a ArgMatches,
    path: Option<&'a std::path::Path>,
}

impl Layers<'_> {
    fn pick<T>(
        &self,
        key: &'static str,
        given: Option<T>,
        file: Option<T>,
        default: impl FnOnce() -> T,
    ) -> Setting<T> {
        if let Some(value) = given {
            let source = match self.given.value_source(key) {
                Some(ValueSource::EnvVariable) => Source::Environment,
                _ => Source::Flag,
            };
            return Setting { value, source };
        }
        match (file, self.path) {
            (Some(value), Some(path)) => Setting { value, source: Source::File(path.to_owned()) },
            _ => Setting { value: default(), source: Source::Default },
        }
    }
}

/// An SQS account: twelve digits.
fn account(text: &str) -> Result<String, String> {
    if text.len() == 12 && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(text.to_owned());
    }
    Err(format!("{text:?} is no account; use 12 digits such as 000000000000"))
}

/// A region: letters, digits and dashes, as it stands in ARNs.
fn region(text: &str) -> Result<String, String> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    if (1..=64).contains(&text.len()) && text.bytes().all(fits) {
        return Ok(text.to_owned());
    }
    Err(format!("{text:?} is no region; use 1 to 64 letters, digits and dashes"))
}
