//! What is written down, and where: the log, and the file of administrative acts.

use std::path::PathBuf;

use clap::Args;

use crate::logging::{LogFormat, parse_filter};

use super::file::FileSettings;
use super::{Layers, Row, Setting, row, shown};

/// The flags of the log.
#[derive(Debug, Args)]
pub struct LogsArgs {
    /// What is logged: a level, or a list such as info,slipring_server=debug [default: info]
    #[arg(long, value_name = "FILTER", env = "SLIPRING_LOG", value_parser = parse_filter)]
    log: Option<String>,
    /// How log lines look [default: human]
    #[arg(long, value_name = "FORMAT", env = "SLIPRING_LOG_FORMAT", value_enum)]
    pub log_format: Option<LogFormat>,
    /// Append administrative acts to this file too, one JSON object per line [default: none]
    #[arg(long, value_name = "PATH", env = "SLIPRING_AUDIT_FILE")]
    audit_file: Option<PathBuf>,
}

/// The log as it is.
#[derive(Debug)]
pub struct Logs {
    /// Log filter.
    pub log: Setting<String>,
    /// Log format.
    pub log_format: Setting<LogFormat>,
    /// Where administrative acts are written beside the log.
    pub audit_file: Setting<Option<PathBuf>>,
}

impl Logs {
    pub(super) fn load(args: LogsArgs, file: &mut FileSettings, layers: &Layers<'_>) -> Logs {
        let (log, audit_file) = (file.log.take(), file.audit_file.take().map(Some));
        let default = LogFormat::default;
        Logs {
            log: layers.pick("log", args.log, log, || "info".into()),
            log_format: layers.pick("log_format", args.log_format, file.log_format, default),
            audit_file: layers.pick("audit_file", args.audit_file.map(Some), audit_file, || None),
        }
    }

    pub(super) fn rows(&self) -> Vec<Row> {
        let audit_file = shown(&self.audit_file, |path| match path {
            Some(path) => path.display().to_string(),
            None => "(none)".to_owned(),
        });
        vec![
            row("log", &self.log),
            row("log_format", &self.log_format),
            row("audit_file", &audit_file),
        ]
    }
}
