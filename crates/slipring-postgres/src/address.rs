//! The address of a database, `postgres://user:password@host:port/database?…`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use form_urlencoded::Serializer;
use tokio_postgres::Config;

use crate::options::PostgresOptions;
use crate::tls::Protection;

/// Where a database is, and how it is connected to. Shows everything but the password.
///
/// After the `?` it takes what libpq takes (`host`, `options`, `application_name`,
/// `connect_timeout`, `sslmode`, `sslrootcert`, …), and `connections` and `statement_timeout`
/// (seconds), which set the options of the same names. `prepared_statements`, `on` or `off`, says
/// whether statements are kept on connections: without it they are where connections lead straight
/// to a server. A pooler that hands out sessions by the transaction needs `off`, unless it keeps
/// track of prepared statements itself.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    config: Config,
    protection: Protection,
    root: Option<PathBuf>,
    connections: Option<usize>,
    statement_timeout: Option<Duration>,
    prepares: Option<bool>,
    shown: String,
}

impl Address {
    /// Whether a text is meant as the address of a PostgreSQL database.
    pub fn is_one(text: &str) -> bool {
        text.starts_with("postgres://") || text.starts_with("postgresql://")
    }

    /// The same address with a password, unless it has one.
    #[must_use]
    pub fn or_password(mut self, password: Option<String>) -> Address {
        if let Some(password) = password.filter(|_| self.config.get_password().is_none()) {
            self.config.password(password);
        }
        self
    }

    /// The options with what the address says of them.
    pub(crate) fn overrides(&self, mut options: PostgresOptions) -> PostgresOptions {
        options.connections = self.connections.unwrap_or(options.connections).clamp(1, 1000);
        options.statement_timeout = self.statement_timeout.unwrap_or(options.statement_timeout);
        if let Some(timeout) = self.config.get_connect_timeout() {
            options.connect_timeout = *timeout;
        }
        options
    }

    pub(crate) fn config(&self, options: &PostgresOptions) -> Config {
        let mut config = self.config.clone();
        config.ssl_mode(self.protection.mode());
        config.connect_timeout(options.connect_timeout);
        if config.get_application_name().is_none() {
            config.application_name("slipring");
        }
        config
    }

    /// Whether statements are to be kept on connections, if it says.
    pub(crate) fn prepares(&self) -> Option<bool> {
        self.prepares
    }

    pub(crate) fn protection(&self) -> (Protection, Option<&PathBuf>) {
        (self.protection, self.root.as_ref())
    }

    /// The user's name, for texts.
    pub(crate) fn user(&self) -> &str {
        self.config.get_user().unwrap_or("(none)")
    }
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Address, String> {
        if !Address::is_one(text) {
            return Err("the address must begin with postgres://".to_owned());
        }
        let (base, query) = text.split_once('?').unwrap_or((text, ""));
        let mut address = Address {
            config: Config::new(),
            protection: Protection::default(),
            root: None,
            connections: None,
            statement_timeout: None,
            prepares: None,
            shown: shown(base, query),
        };
        let mut rest = Serializer::new(String::new());
        for (key, value) in form_urlencoded::parse(query.as_bytes()) {
            match key.as_ref() {
                "sslmode" => address.protection = value.parse()?,
                "sslrootcert" => address.root = Some(PathBuf::from(value.as_ref())),
                "connections" => address.connections = Some(number("connections", &value, 1000)?),
                "statement_timeout" => {
                    let seconds = number("statement_timeout", &value, 86_400)?;
                    address.statement_timeout = Some(Duration::from_secs(seconds as u64));
                }
                "prepared_statements" => address.prepares = Some(switch(&key, &value)?),
                _ => {
                    rest.append_pair(&key, &value);
                }
            }
        }
        // The driver takes %20 for a space, but no plus.
        let rest = rest.finish().replace('+', "%20");
        let whole = if rest.is_empty() { base.to_owned() } else { format!("{base}?{rest}") };
        address.config = whole.parse().map_err(|error: tokio_postgres::Error| {
            let why = std::error::Error::source(&error).map(ToString::to_string);
            let why = why.unwrap_or_else(|| "it cannot be read".to_owned());
            format!("{}: {why}; use postgres://USER@HOST:PORT/DATABASE", address.shown)
        })?;
        if address.config.get_hosts().is_empty() {
            let use_this = "use postgres://USER@HOST:PORT/DATABASE";
            return Err(format!("{} names no host; {use_this}", address.shown));
        }
        Ok(address)
    }
}

fn switch(key: &str, value: &str) -> Result<bool, String> {
    match value {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(format!("{key} is {value:?}; use on or off")),
    }
}

fn number(key: &str, value: &str, most: usize) -> Result<usize, String> {
    match value.parse() {
        Ok(number) if (1..=most).contains(&number) => Ok(number),
        _ => Err(format!("{key} is {value:?}; use a number from 1 to {most}")),
    }
}

/// The address with `***` for every password.
fn shown(base: &str, query: &str) -> String {
    let (scheme, rest) = base.split_once("://").unwrap_or(("postgres", base));
    // A password may hold any character but '@' unescaped; the last one ends it.
    let shown = match rest.rsplit_once('@') {
        Some((who, place)) => match who.split_once(':') {
            Some((user, _)) => format!("{scheme}://{user}:***@{place}"),
            None => format!("{scheme}://{who}@{place}"),
        },
        None => format!("{scheme}://{rest}"),
    };
    let kept: Vec<&str> = query
        .split('&')
        .filter(|pair| !pair.is_empty() && !pair.starts_with("password="))
        .collect();
    if kept.is_empty() { shown } else { format!("{shown}?{}", kept.join("&")) }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Address").field(&self.shown).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_shown() {
        for text in [
            "postgres://me:secret@db.example:5433/queue?sslmode=require",
            "postgresql://me@db/queue?password=secret&application_name=x",
            "postgres://me:se@secret@db/queue",
        ] {
            let address: Address = text.parse().unwrap();
            let shown = format!("{address} {address:?}");
            assert!(!shown.contains("secret") && shown.contains("queue"), "{shown}");
        }
        for text in ["postgres://me:secret@db:port/q", "postgres://me:secret@db/q?oops=1"] {
            let error = text.parse::<Address>().unwrap_err();
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn what_is_written_after_the_question_mark_counts() {
        let text = "postgres:///queue?host=/run/pg%20one&connections=3&statement_timeout=7\
                    &sslmode=verify-ca&sslrootcert=/etc/ca.pem\
                    &prepared_statements=off&options=-c%20geqo%3Doff";
        let address: Address = text.parse().unwrap();
        let options = address.overrides(PostgresOptions::default());
        assert_eq!((options.connections, options.statement_timeout.as_secs()), (3, 7));
        assert_eq!(address.protection, Protection::VerifyCa);
        assert_eq!(address.root, Some(PathBuf::from("/etc/ca.pem")));
        assert_eq!(address.prepares(), Some(false));
        assert_eq!(address.config.get_options(), Some("-c geqo=off"));
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_the_reason() {
        for (text, why) in [
            ("mysql://db/q", "postgres://"),
            ("postgres://db/q?sslmode=maybe", "verify-full"),
            ("postgres://db/q?connections=0", "1 to 1000"),
            ("postgres://db/q?prepared_statements=maybe", "on or off"),
            ("postgres://db:notaport/q", "postgres://USER@HOST"),
        ] {
            let error = text.parse::<Address>().unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn a_password_from_elsewhere_fills_the_gap_only() {
        let address: Address = "postgres://me@db/q".parse().unwrap();
        let address = address.or_password(Some("one".into())).or_password(Some("two".into()));
        assert_eq!(address.config.get_password(), Some(&b"one"[..]));
    }
}
