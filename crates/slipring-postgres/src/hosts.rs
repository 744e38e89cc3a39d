//! Connecting to one of several hosts. The driver tries one after the other and waits for each as
//! long as a whole connection may take, so a host that is mute, as a machine without power is,
//! would keep everybody from the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use deadpool_postgres::Connect;
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use tokio::task::JoinHandle;
use tokio_postgres::config::TargetSessionAttrs;
use tokio_postgres::{Client, Config, Error};
use tokio_postgres_rustls::MakeRustlsConnect;

/// A host that has not answered for so long does not keep the next one waiting; it may still be
/// the first that answers.
const HEAD_START: Duration = Duration::from_millis(500);

/// Makes the connections of a pool.
pub(crate) struct Hosts {
    connector: MakeRustlsConnect,
    /// The host that took the last connection, by its place in the address.
    last: Arc<AtomicUsize>,
}

impl Hosts {
    pub(crate) fn new(connector: MakeRustlsConnect) -> Hosts {
        Hosts { connector, last: Arc::default() }
    }
}

impl Connect for Hosts {
    fn connect(&self, config: &Config) -> BoxFuture<'_, Result<(Client, JoinHandle<()>), Error>> {
        let mut hosts: Vec<(usize, Config)> = each(config).into_iter().enumerate().collect();
        // Where only one of them is the right one, it is the same as before most often.
        if config.get_target_session_attrs() != TargetSessionAttrs::Any {
            let last = self.last.load(Ordering::Relaxed) % hosts.len();
            hosts.rotate_left(last);
        }
        Box::pin(async move {
            let (at, client, task) = first(hosts, &self.connector).await?;
            self.last.store(at, Ordering::Relaxed);
            Ok((client, task))
        })
    }
}

/// Connects to the first host that answers with success, and answers which it is.
async fn first(
    hosts: Vec<(usize, Config)>,
    connector: &MakeRustlsConnect,
) -> Result<(usize, Client, JoinHandle<()>), Error> {
    let mut rest = hosts.into_iter();
    let mut trying = FuturesUnordered::new();
    loop {
        if let Some((at, config)) = rest.next() {
            let connector = connector.clone();
            trying.push(async move { (at, config.connect(connector).await) });
        }
        let answer = match rest.len() {
            0 => trying.next().await,
            // Whoever is late goes on beside the next.
            _ => match tokio::time::timeout(HEAD_START, trying.next()).await {
                Ok(answer) => answer,
                Err(_) => continue,
            },
        };
        match answer {
            Some((at, Ok((client, connection)))) => {
                let task = tokio::spawn(async move {
                    if let Err(error) = connection.await {
                        tracing::warn!(%error, "a connection to the database was lost");
                    }
                });
                return Ok((at, client, task));
            }
            Some((_, Err(error))) if trying.is_empty() && rest.len() == 0 => return Err(error),
            Some((_, Err(_))) | None => {}
        }
    }
}

/// What to connect with, host by host.
fn each(config: &Config) -> Vec<Config> {
    let (hosts, addresses) = (config.get_hosts(), config.get_hostaddrs());
    let count = hosts.len().max(addresses.len());
    if count < 2 {
        return vec![config.clone()];
    }
    let one = |at: usize| {
        let mut one = without_hosts(config);
        match hosts.get(at) {
            Some(tokio_postgres::config::Host::Tcp(host)) => {
                one.host(host);
            }
            #[cfg(unix)]
            Some(tokio_postgres::config::Host::Unix(path)) => {
                one.host_path(path);
            }
            None => {}
        }
        if let Some(address) = addresses.get(at) {
            one.hostaddr(*address);
        }
        if let Some(port) = config.get_ports().get(at).or(config.get_ports().first()) {
            one.port(*port);
        }
        one
    };
    (0..count).map(one).collect()
}

/// All that an address says but where the server is.
fn without_hosts(config: &Config) -> Config {
    let mut rest = Config::new();
    rest.ssl_mode(config.get_ssl_mode())
        .ssl_negotiation(config.get_ssl_negotiation())
        .keepalives(config.get_keepalives())
        .keepalives_idle(config.get_keepalives_idle())
        .target_session_attrs(config.get_target_session_attrs())
        .channel_binding(config.get_channel_binding())
        .load_balance_hosts(config.get_load_balance_hosts());
    if let Some(user) = config.get_user() {
        rest.user(user);
    }
    if let Some(password) = config.get_password() {
        rest.password(password);
    }
    if let Some(name) = config.get_dbname() {
        rest.dbname(name);
    }
    if let Some(options) = config.get_options() {
        rest.options(options);
    }
    if let Some(name) = config.get_application_name() {
        rest.application_name(name);
    }
    if let Some(timeout) = config.get_connect_timeout() {
        rest.connect_timeout(*timeout);
    }
    if let Some(timeout) = config.get_tcp_user_timeout() {
        rest.tcp_user_timeout(*timeout);
    }
    if let Some(interval) = config.get_keepalives_interval() {
        rest.keepalives_interval(interval);
    }
    if let Some(retries) = config.get_keepalives_retries() {
        rest.keepalives_retries(retries);
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_host_has_its_port_and_all_else_of_the_address() {
        let text = "postgres://me:secret@one:1,two:2/db?target_session_attrs=read-write\
                    &application_name=app&connect_timeout=3&tcp_user_timeout=4&keepalives=0\
                    &keepalives_idle=5&keepalives_interval=6&keepalives_retries=7&sslmode=disable\
                    &channel_binding=disable&load_balance_hosts=random&options=-ca%3Db";
        let config: Config = text.parse().unwrap();
        let place = |host: &str| format!("postgres://me:secret@{host}/db");
        let rest = text.split_once('?').unwrap().1;
        let expected = ["one:1", "two:2"].map(|host| format!("{}?{rest}", place(host)));
        let expected = expected.map(|text| text.parse::<Config>().unwrap());
        assert_eq!(each(&config), expected);
    }

    #[test]
    fn one_port_is_that_of_all_hosts() {
        let config: Config = "host=one,two hostaddr=127.0.0.1,127.0.0.2 port=7".parse().unwrap();
        let expected = ["host=one hostaddr=127.0.0.1 port=7", "host=two hostaddr=127.0.0.2 port=7"];
        assert_eq!(each(&config), expected.map(|text| text.parse::<Config>().unwrap()));
    }
}
