//! The wait classes of Slipring: from an engine in this process or from a server's `/metrics`, and
//! what came about between two looks.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use slipring::{Engine, WaitSnapshot};

use crate::findings::Table;
use crate::run::condition::number;

/// For connecting and for each read; the server itself gives its store 8 s.
const PATIENCE: Duration = Duration::from_secs(10);
/// Longer answers are taken for a fault of the server.
const ANSWER_BYTES_MAX: u64 = 64 << 20;

/// One wait class: counts since some moment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Class {
    /// Its name.
    pub name: String,
    /// How often the thing was taken.
    pub acquisitions: u64,
    /// How often it had to be waited for.
    pub contended: u64,
    /// Time waited in all, in nanoseconds.
    pub total_ns: u64,
    /// The longest wait in nanoseconds.
    pub max_ns: u64,
    /// Contended waits by their upper bound in nanoseconds, `u64::MAX` for those without.
    pub buckets: BTreeMap<u64, u64>,
}

/// Where wait classes are read.
pub enum Source {
    /// There are none.
    Nothing,
    /// An engine in this process.
    Engine(Engine),
    /// The admin listener of a server.
    Metrics(Metrics),
}

/// A server's `/metrics`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metrics {
    host: String,
    path: String,
    token: Option<String>,
}

impl Source {
    /// The wait table at this moment; empty where there is none.
    ///
    /// # Errors
    /// When a server does not answer with one.
    pub fn read(&self) -> Result<Vec<Class>> {
        match self {
            Source::Nothing => Ok(Vec::new()),
            Source::Engine(engine) => Ok(engine.waits().iter().map(of_engine).collect()),
            Source::Metrics(metrics) => metrics.read(),
        }
    }
}

impl Metrics {
    /// By an address, `host:port` or `http://host:port/metrics`, with an admin token if it asks
    /// for one.
    ///
    /// # Errors
    /// For an address of another kind.
    pub fn new(address: &str, token: Option<&str>) -> Result<Metrics> {
        let plain = match address.split_once("://") {
            None => address,
            Some(("http", rest)) => rest,
            Some((scheme, _)) => {
                bail!("{scheme}:// is not read by the lab; give http://host:port/metrics")
            }
        };
        let (host, path) = plain.split_once('/').unwrap_or((plain, ""));
        if !host.contains(':') {
            bail!("{address:?} names no port; give http://host:port/metrics");
        }
        let path = if path.is_empty() { "metrics" } else { path };
        let token = token.map(str::to_owned);
        Ok(Metrics { host: host.to_owned(), path: format!("/{path}"), token })
    }

    fn read(&self) -> Result<Vec<Class>> {
        let text =
            self.text().with_context(|| format!("reading http://{}{}", self.host, self.path));
        of_metrics(&text?)
    }

    fn text(&self) -> Result<String> {
        let address = self.host.to_socket_addrs()?.next().context("the host has no address")?;
        let mut stream = TcpStream::connect_timeout(&address, PATIENCE).context("connecting")?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let token = self.token.as_ref();
        let token = token.map_or(String::new(), |t| format!("Authorization: Bearer {t}\r\n"));
        // HTTP/1.0 has no chunks: the answer ends with the connection.
        write!(stream, "GET {} HTTP/1.0\r\nHost: {}\r\n{token}\r\n", self.path, self.host)?;
        let mut answer = String::new();
        stream.take(ANSWER_BYTES_MAX).read_to_string(&mut answer)?;
        let (head, body) = answer.split_once("\r\n\r\n").context("the answer is not HTTP")?;
        let status = head.lines().next().unwrap_or_default();
        match status.split(' ').nth(1) {
            Some("200") => Ok(body.to_owned()),
            Some("401" | "403") => bail!("{status}; give the server's token with --metrics-token"),
            _ => bail!("the server answered {status:?}"),
        }
    }
}

fn of_engine(wait: &WaitSnapshot) -> Class {
    let bound = |power: usize| if power < 63 { 1 << (power + 1) } else { u64::MAX };
    let buckets = wait.buckets.iter().enumerate().filter(|(_, count)| **count > 0);
    Class {
        name: wait.name.to_owned(),
        acquisitions: wait.acquisitions,
        contended: wait.contended,
        total_ns: wait.total_ns,
        max_ns: wait.max_ns,
        buckets: buckets.map(|(power, count)| (bound(power), *count)).collect(),
    }
}

/// Reads the wait classes out of Prometheus' text format.
///
/// # Errors
/// When there are none in it.
fn of_metrics(text: &str) -> Result<Vec<Class>> {
    let mut classes: BTreeMap<String, Class> = BTreeMap::new();
    let lines = text.lines().filter_map(|line| line.strip_prefix("slipring_wait_"));
    for (name, label, value) in lines.filter_map(sample) {
        let Some(class) = label("class") else { continue };
        let class =
            classes.entry(class.clone()).or_insert(Class { name: class, ..Class::default() });
        let ns = (value * 1e9).round() as u64;
        match name {
            "acquisitions_total" => class.acquisitions = value as u64,
            "max_seconds" => class.max_ns = ns,
            "seconds_sum" => class.total_ns = ns,
            "seconds_count" => class.contended = value as u64,
            "seconds_bucket" => {
                let bound = label("le").and_then(|le| le.parse::<f64>().ok());
                let bound_ns = match bound {
                    Some(bound) if bound.is_finite() => (bound * 1e9).round() as u64,
                    _ => u64::MAX,
                };
                class.buckets.insert(bound_ns, value as u64);
            }
            _ => {}
        }
    }
    if classes.is_empty() {
        bail!("there are no wait classes in the answer; is it the /metrics of a Slipring server?");
    }
    let mut classes: Vec<Class> = classes.into_values().collect();
    for class in &mut classes {
        // Prometheus counts up to each bound; here each bucket stands for itself.
        let mut below = 0;
        for count in class.buckets.values_mut() {
            let up_to = *count;
            *count = up_to.saturating_sub(below);
            below = up_to;
        }
        class.buckets.retain(|_, count| *count > 0);
    }
    Ok(classes)
}

/// The name behind the prefix, a look-up of labels, and the value of one line.
fn sample(line: &str) -> Option<(&str, impl Fn(&str) -> Option<String>, f64)> {
    let (name, rest) = line.split_once('{')?;
    let (labels, value) = rest.rsplit_once('}')?;
    let value = value.trim().parse().ok()?;
    let label = move |wanted: &str| {
        // The values of these labels hold no commas and no quotes.
        let pairs = labels.split(',').filter_map(|pair| pair.split_once('='));
        let mut found = pairs.filter(|(name, _)| *name == wanted);
        found.next().map(|(_, value)| value.trim_matches('"').to_owned())
    };
    Some((name, label, value))
}

impl Class {
    /// Mean contended wait in nanoseconds.
    pub fn mean_ns(&self) -> f64 {
        if self.contended == 0 { 0.0 } else { self.total_ns as f64 / self.contended as f64 }
    }

    /// An upper bound of so large a share of the contended waits, in nanoseconds.
    pub fn percentile_ns(&self, share: f64) -> u64 {
        let all: u64 = self.buckets.values().sum();
        let wanted = (all as f64 * share).ceil() as u64;
        let mut below = 0;
        for (bound_ns, count) in &self.buckets {
            below += count;
            if below >= wanted && below > 0 {
                return (*bound_ns).min(self.max_ns);
            }
        }
        0
    }

    /// What came about since `before`. The longest wait of that time is known exactly when it is
    /// the longest of all; else its bucket gives an upper bound.
    fn since(&self, before: &Class) -> Class {
        let mut buckets = self.buckets.clone();
        for (bound_ns, count) in &before.buckets {
            if let Some(now) = buckets.get_mut(bound_ns) {
                *now = now.saturating_sub(*count);
            }
        }
        buckets.retain(|_, count| *count > 0);
        let contended = self.contended.saturating_sub(before.contended);
        let bound_ns = buckets.keys().last().copied().unwrap_or(0).min(self.max_ns);
        let max_ns = if self.max_ns > before.max_ns { self.max_ns } else { bound_ns };
        Class {
            name: self.name.clone(),
            acquisitions: self.acquisitions.saturating_sub(before.acquisitions),
            contended,
            total_ns: self.total_ns.saturating_sub(before.total_ns),
            max_ns: if contended == 0 { 0 } else { max_ns },
            buckets,
        }
    }
}

/// What came about between two looks: all classes of the later one.
///
/// # Errors
/// When counts went down: the server was started anew meanwhile.
pub fn difference(before: &[Class], after: &[Class]) -> Result<Vec<Class>> {
    let mut all = Vec::with_capacity(after.len());
    for now in after {
        match before.iter().find(|class| class.name == now.name) {
            None => all.push(now.clone()),
            Some(then) if then.acquisitions > now.acquisitions => bail!(
                "{} was taken {} times before and {} after: the server was started anew meanwhile",
                now.name,
                then.acquisitions,
                now.acquisitions
            ),
            Some(then) => all.push(now.since(then)),
        }
    }
    Ok(all)
}

/// A table of classes, the longest waited for first; those that nothing took are left out.
pub fn table(title: &str, classes: &[Class]) -> Table {
    let columns =
        ["wait class", "acquisitions", "contended", "total ms", "mean µs", "P95 µs ≤", "max µs ≤"];
    let mut table = Table::new(title, &columns);
    let mut sorted: Vec<&Class> = classes.iter().filter(|class| class.acquisitions > 0).collect();
    sorted.sort_by(|a, b| b.total_ns.cmp(&a.total_ns).then_with(|| a.name.cmp(&b.name)));
    for class in sorted {
        let whole = |count: u64| number(count as f64);
        table.row([
            class.name.clone(),
            whole(class.acquisitions),
            whole(class.contended),
            number(class.total_ns as f64 / 1e6),
            number(class.mean_ns() / 1e3),
            number(class.percentile_ns(0.95) as f64 / 1e3),
            number(class.max_ns as f64 / 1e3),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# HELP slipring_wait_seconds Waits.\n\
        slipring_wait_acquisitions_total{class=\"sqlite.flush\"} 40\n\
        slipring_wait_max_seconds{class=\"sqlite.flush\"} 0.003\n\
        slipring_wait_seconds_bucket{class=\"sqlite.flush\",le=\"0.001024\"} 10\n\
        slipring_wait_seconds_bucket{class=\"sqlite.flush\",le=\"0.004096\"} 12\n\
        slipring_wait_seconds_bucket{class=\"sqlite.flush\",le=\"+Inf\"} 12\n\
        slipring_wait_seconds_sum{class=\"sqlite.flush\"} 0.015\n\
        slipring_wait_seconds_count{class=\"sqlite.flush\"} 12\n\
        slipring_queues 3\n";

    fn class(acquisitions: u64, max_ns: u64, buckets: &[(u64, u64)]) -> Class {
        let contended = buckets.iter().map(|(_, count)| count).sum();
        let total_ns = buckets.iter().map(|(bound, count)| bound * count / 2).sum();
        let buckets = buckets.iter().copied().collect();
        Class { name: "c".into(), acquisitions, contended, total_ns, max_ns, buckets }
    }

    #[test]
    fn classes_are_read_from_the_text_of_a_server() {
        let classes = of_metrics(TEXT).unwrap();
        let [class] = classes.as_slice() else { panic!("{classes:?}") };
        assert_eq!((class.acquisitions, class.contended), (40, 12));
        assert_eq!((class.total_ns, class.max_ns), (15_000_000, 3_000_000));
        assert_eq!(class.buckets, BTreeMap::from([(1_024_000, 10), (4_096_000, 2)]));
        assert_eq!(class.percentile_ns(0.5), 1_024_000);
        assert_eq!(class.percentile_ns(0.95), 3_000_000);
        assert!(of_metrics("up 1\n").unwrap_err().to_string().contains("no wait classes"));
    }

    #[test]
    fn a_difference_counts_what_came_between_and_bounds_the_longest_wait() {
        let before = class(10, 5000, &[(1024, 4), (8192, 1)]);
        let after = class(25, 5000, &[(1024, 9), (4096, 2), (8192, 1)]);
        let found = difference(&[before], &[after]).unwrap();
        assert_eq!((found[0].acquisitions, found[0].contended), (15, 7));
        assert_eq!(found[0].buckets, BTreeMap::from([(1024, 5), (4096, 2)]));
        // The longest wait since the start was before; of this time only its bucket is known.
        assert_eq!(found[0].max_ns, 4096);
        assert_eq!(found[0].total_ns, 512 * 5 + 2048 * 2);
    }

    #[test]
    fn a_new_longest_wait_is_known_exactly_and_no_wait_has_none() {
        let before = [class(10, 5000, &[(8192, 1)])];
        let longer = class(11, 9000, &[(8192, 1), (16384, 1)]);
        assert_eq!(difference(&before, &[longer]).unwrap()[0].max_ns, 9000);
        let same = class(12, 5000, &[(8192, 1)]);
        let found = difference(&before, &[same]).unwrap();
        assert_eq!((found[0].acquisitions, found[0].contended, found[0].max_ns), (2, 0, 0));
        assert!(difference(&before, &[class(3, 1, &[])]).is_err());
    }

    #[test]
    fn a_table_begins_with_what_was_waited_for_longest() {
        let mut short = class(5, 10, &[(16, 1)]);
        short.name = "short".into();
        let long = class(5, 4000, &[(4096, 1)]);
        let unused = Class { name: "unused".into(), ..Class::default() };
        let table = table("t", &[short, unused, long]);
        let names: Vec<&str> = table.rows.iter().map(|row| row[0].as_str()).collect();
        assert_eq!(names, ["c", "short"]);
    }

    #[test]
    fn the_address_of_a_server_is_read_in_both_forms() {
        let metrics = |address| Metrics::new(address, None);
        assert_eq!(metrics("h:1").unwrap(), metrics("http://h:1/metrics").unwrap());
        assert!(metrics("https://h:1").unwrap_err().to_string().contains("https"));
        assert!(metrics("h").unwrap_err().to_string().contains("port"));
    }
}
