//! The configuration file: TOML, one key per setting, and nothing it does not know.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Deserializer};

use crate::failure::Failure;
use crate::logging::LogFormat;
use crate::store::StoreSpec;

use super::Listen;

/// Looked for when no file is named, in this order.
const PLACES: [&str; 2] = ["slipring.toml", "/etc/slipring/slipring.toml"];

/// The values a file may hold.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FileSettings {
    /// Read by [`FileSettings::store`]: errors of this format repeat the line, which may hold a
    /// password.
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
    pub admin_token: Option<String>,
    pub insecure: Option<bool>,
    pub job_bytes_max: Option<u32>,
    pub connections_max: Option<usize>,
    pub log: Option<String>,
    pub log_format: Option<LogFormat>,
    pub sqs_test_mode: Option<bool>,
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
    let values = toml::from_str(&text).map_err(|error| refuse(&error))?;
    Ok(Some(Found { path: Some(path.to_owned()), values }))
}

fn from_text<'de, D, T>(from: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err = String>,
{
    let text = String::deserialize(from)?;
    text.parse().map(Some).map_err(serde::de::Error::custom)
}

fn account<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let text = String::deserialize(from)?;
    super::account(&text).map(Some).map_err(serde::de::Error::custom)
}

fn region<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let text = String::deserialize(from)?;
    super::region(&text).map(Some).map_err(serde::de::Error::custom)
}
