//! The configuration file: TOML, one key per setting, and nothing it does not know.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Deserializer};
use slipring_server::declared::DeclaredQueues;
use slipring_server::names::{HostNames, PublicUrl};
use slipring_server::proxies::Proxies;

use crate::failure::Failure;
use crate::logging::{LogFormat, parse_filter};
use crate::store::StoreSpec;

use super::Listen;
use super::limits::FileLimits;

/// Looked for when no file is named, in this order.
const PLACES: [&str; 2] = ["slipring.toml", "/etc/slipring/slipring.toml"];

/// The values a file may hold.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FileSettings {
    /// Read by [`FileSettings::store`], whose errors repeat no password.
    #[serde(deserialize_with = "secret")]
    store: Option<String>,
    #[serde(deserialize_with = "from_text")]
    pub sqs: Option<Listen>,
    #[serde(deserialize_with = "from_text")]
    pub beanstalkd: Option<Listen>,
    #[serde(deserialize_with = "from_text")]
    pub admin: Option<Listen>,
    #[serde(deserialize_with = "account")]
    pub account: Option<String>,
    #[serde(deserialize_with = "region")]
    pub region: Option<String>,
    #[serde(deserialize_with = "secret")]
    pub admin_token: Option<String>,
    pub insecure: Option<bool>,
    #[serde(deserialize_with = "from_text")]
    pub allow_host: Option<HostNames>,
    #[serde(deserialize_with = "from_text")]
    pub public_url: Option<PublicUrl>,
    #[serde(deserialize_with = "from_text")]
    pub trusted_proxy: Option<Proxies>,
    pub job_bytes_max: Option<u32>,
    pub connections_max: Option<usize>,
    pub limits: FileLimits,
    #[serde(deserialize_with = "log")]
    pub log: Option<String>,
    pub log_format: Option<LogFormat>,
    pub audit_file: Option<PathBuf>,
    pub sqs_minute_rules: Option<bool>,
    pub sqs_test_mode: Option<bool>,
    pub queues: DeclaredQueues,
}

/// A file's values, and its path when there is one.
#[derive(Debug, Default)]
pub struct Found {
    pub path: Option<PathBuf>,
    pub values: FileSettings,
}

impl FileSettings {
    /// Takes out the store.
    ///
    /// # Errors
    /// A text that is no store; the error repeats no password.
    pub fn store(&mut self, path: Option<&Path>) -> Result<Option<StoreSpec>, Failure> {
        let Some(text) = self.store.take() else { return Ok(None) };
        text.parse().map(Some).map_err(|error: String| {
            let path = path.unwrap_or(Path::new("")).display();
            Failure::usage(format!("configuration {path}: store: {error}"))
        })
    }

    /// The format of the log in the file that would be read, whatever else is wrong in it.
    pub fn log_format_in(named: Option<&Path>) -> Option<LogFormat> {
        let read = |path: &Path| std::fs::read_to_string(path).ok();
        let text = match named {
            Some(path) => read(path)?,
            // The first one that is there is the one that holds.
            None => PLACES.iter().find_map(|place| read(Path::new(place)))?,
        };
        let table: toml::Table = text.parse().ok()?;
        table.get("log_format")?.clone().try_into().ok()
    }

    /// Reads the named file, or else the first of the usual places that is there.
    ///
    /// # Errors
    /// A named file that is not there, one that cannot be read, or one with a wrong entry.
    pub fn find(named: Option<&Path>) -> Result<Found, Failure> {
        if let Some(path) = named {
            return match read(path)? {
                Some(found) => Ok(found),
                None => Err(Failure::usage(format!("--config {}: no such file", path.display()))),
            };
        }
        for place in PLACES {
            if let Some(found) = read(Path::new(place))? {
                return Ok(found);
            }
        }
        Ok(Found::default())
    }
}

fn read(path: &Path) -> Result<Option<Found>, Failure> {
    let refuse = |error: &dyn std::fmt::Display| {
        Failure::usage(format!("configuration {}: {error}", path.display()))
    };
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(refuse(&error)),
    };
    let values = toml::from_str(&text).map_err(|error| refuse(&without_lines(error, &text)))?;
    Ok(Some(Found { path: Some(path.to_owned()), values }))
}

/// What is wrong in a file and where, but not the line itself: a password or a token may be on it.
fn without_lines(mut error: toml::de::Error, text: &str) -> String {
    // Without the text it names the key in a second line, and repeats no line of the file.
    error.set_input(None);
    let what = error.to_string();
    let (what, key) = match what.trim_end().rsplit_once("\nin ") {
        Some((what, key)) => (what, format!("in {key}: ")),
        None => (what.trim_end(), String::new()),
    };
    let Some(before) = error.span().and_then(|span| text.get(..span.start)) else {
        return format!("{key}{what}");
    };
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    format!("line {line}, column {column}: {key}{what}")
}

fn from_text<'de, D, T>(from: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err = String>,
{
    let text = String::deserialize(from)?;
    text.parse().map(Some).map_err(serde::de::Error::custom)
}

/// Reads a text that no error may repeat, not even one of another type.
fn secret<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    match toml::Value::deserialize(from)? {
        toml::Value::String(text) => Ok(Some(text)),
        other => {
            let text = format!("it is of type {}; use a text in quotes", other.type_str());
            Err(serde::de::Error::custom(text))
        }
    }
}

fn account<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let text = String::deserialize(from)?;
    super::account(&text).map(Some).map_err(serde::de::Error::custom)
}

fn region<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let text = String::deserialize(from)?;
    super::region(&text).map(Some).map_err(serde::de::Error::custom)
}

fn log<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let text = String::deserialize(from)?;
    parse_filter(&text).map(Some).map_err(serde::de::Error::custom)
}
