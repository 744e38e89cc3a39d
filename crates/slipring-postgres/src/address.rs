//! The address of a database, `postgres://user:password@host:port/database?…`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use form_urlencoded::Serializer;
use slipring::Error;
use tokio_postgres::{Client, Config};

use crate::fault::storage_error;
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

    /// A session of its own, encrypted as the address says, for a program that asks PostgreSQL
    /// itself. It is open until the client is dropped. It needs a runtime of tokio.
    ///
    /// # Errors
    /// `StorageUnavailable` and others when the server cannot be reached or refuses, or a file of
    /// certificates cannot be read.
    pub async fn connect(&self, application: &str) -> Result<Client, Error> {
        let connector = self.protection.connector(self.root.as_ref())?;
        let mut config = self.config(&PostgresOptions::default());
        config.application_name(application);
        let (client, connection) = config.connect(connector).await.map_err(storage_error)?;
        // What breaks it fails the calls that wait for it; they say so.
        tokio::spawn(connection);
        Ok(client)
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
        if query.split('=').next().is_some_and(|key| key.contains('@')) {
            return Err(format!(
                "{}://…: a ? ends the address before its @; a ? in a password must be written \
                 %3F; {USE}",
                scheme(base)
            ));
        }
        one_at(base)?;
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
                "sslmode" => {
                    address.protection = value.parse().map_err(|_| {
                        "sslmode is none that is known; use disable, prefer, require, verify-ca \
                         or verify-full"
                    })?;
                }
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
            refused(base, query, why.as_deref().unwrap_or("it cannot be read"))
        })?;
        if address.config.get_hosts().is_empty() {
            return Err(refused(base, query, "it names no host"));
        }
        Ok(address)
    }
}

const USE: &str = "use postgres://USER@HOST:PORT/DATABASE";

/// Why an address is none. What stands after the `?` is not repeated: a password that is not
/// escaped, or whose key is misspelt, ends up there.
fn refused(base: &str, query: &str, why: &str) -> String {
    if query.contains('@') {
        // The `?` may be one of the password, whose parts are then taken for a port and a key.
        let scheme = scheme(base);
        return format!("{scheme}://…: it cannot be read; {USE}, with %3F for ? and %40 for @");
    }
    format!("{}: {why}; {USE}", shown(base, ""))
}

/// The driver takes what follows the first `@` for the host, and shows it in errors.
fn one_at(base: &str) -> Result<(), String> {
    let place = base.split_once("://").map_or(base, |(_, rest)| rest);
    if place.split('/').next().is_some_and(|place| place.matches('@').count() > 1) {
        return Err(format!(
            "{}://…: a second @ before the host; an @ in a password must be written %40; {USE}",
            scheme(base)
        ));
    }
    Ok(())
}

fn switch(key: &str, value: &str) -> Result<bool, String> {
    match value {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(format!("{key} is neither on nor off; use on or off")),
    }
}

fn number(key: &str, value: &str, most: usize) -> Result<usize, String> {
    match value.parse() {
        Ok(number) if (1..=most).contains(&number) => Ok(number),
        _ => Err(format!("{key} is out of range; use a number from 1 to {most}")),
    }
}

fn scheme(base: &str) -> &str {
    base.split_once("://").map_or("postgres", |(scheme, _)| scheme)
}

/// The address with `***` for the password before the `@`, and without those after the `?`.
fn shown(base: &str, query: &str) -> String {
    let (scheme, rest) = base.split_once("://").unwrap_or(("postgres", base));
    // A password may hold any character but '@' unescaped; the last one ends it.
    let shown = match rest.rsplit_once('@') {
        Some((who, place)) => match who.split_once(':') {
            Some((user, _)) => format!("{scheme}://{user}:***@{place}"),
            None => format!("{scheme}://{who}@{place}"),
        },
        None => {
            let (place, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            // Without an @ a password stands where a port should.
            let hosts = place.split(',').map(|host| match host.rsplit_once(':') {
                Some((host, port))
                    if !port.ends_with(']') && !port.bytes().all(|byte| byte.is_ascii_digit()) =>
                {
                    format!("{}:***", host.split(':').next().unwrap_or_default())
                }
                _ => host.to_owned(),
            });
            let hosts = hosts.collect::<Vec<_>>().join(",");
            // What follows a password that holds a slash is a part of it.
            let path = if hosts.contains("***") { "" } else { path };
            format!("{scheme}://{hosts}{path}")
        }
    };
    let kept: Vec<&str> =
        query.split('&').filter(|pair| !pair.is_empty() && !is_secret(pair)).collect();
    if kept.is_empty() { shown } else { format!("{shown}?{}", kept.join("&")) }
}

/// Whether a pair after the `?` holds a password: by its key, however it is escaped or written.
fn is_secret(pair: &str) -> bool {
    form_urlencoded::parse(pair.as_bytes()).any(|(key, _)| {
        ["password", "sslpassword"].iter().any(|secret| key.eq_ignore_ascii_case(secret))
    })
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
            "postgres://me:se%40secret@db/queue",
        ] {
            let address: Address = text.parse().unwrap();
            let shown = format!("{address} {address:?}");
            assert!(!shown.contains("secret") && shown.contains("queue"), "{shown}");
        }
        let query = "application_name=x&Password=secret&pass%77ord=secret&sslpassword=secret";
        assert_eq!(
            shown("postgres://me@db/queue", query),
            "postgres://me@db/queue?application_name=x"
        );
    }

    #[test]
    fn no_error_repeats_a_password_or_what_stands_after_the_question_mark() {
        for (text, why) in [
            ("postgres://me:secret@db:port/q", "`port`"),
            ("postgres://me:secret/q", "`port`"),
            ("postgres://me:SEC/secret/q", "`port`"),
            ("postgres://[::1],me:secret", "`port`"),
            ("postgres://me:secret@db/q?oops=1", "`oops`"),
            ("postgres://me:SEC?secret@db/q", "must be written %3F"),
            ("postgres://me:SE@SEC?secret@db/q", "must be written %3F"),
            ("postgres://me:SEC@secret@db/q", "must be written %40"),
            ("postgres://me:SEC@secret@db/q?connections=3", "must be written %40"),
            ("postgres://me:SEC?secret=secret@db/q", "%3F for ?"),
            ("postgres://me@db/q?application_name=secret&Password=secret", "`Password`"),
            ("postgres://me@db/q?pass%57ord=secret", "`passWord`"),
            ("postgres:///q?application_name=secret", "no host"),
            ("postgres://me@db/q?sslmode=require;password=secret", "verify-full"),
            ("postgres://me@db/q?connections=5;password=secret", "1 to 1000"),
            ("postgres://me@db/q?prepared_statements=on;password=secret", "on or off"),
        ] {
            let error = text.parse::<Address>().unwrap_err();
            assert!(!error.contains("secret") && !error.contains("SEC"), "{error}");
            assert!(error.contains(why), "{text}: {error}");
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
