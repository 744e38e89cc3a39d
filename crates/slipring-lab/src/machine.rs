//! The machine and the versions that a report names.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};

/// What a figure was measured on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Processor model as the kernel names it.
    pub cpu: String,
    /// Processors this process may use.
    pub cores: usize,
    /// Memory in mebibytes.
    pub memory_mib: u64,
    /// Kernel release.
    pub kernel: String,
    /// File system of the folder that holds the data.
    pub filesystem: String,
    /// Versions of everything that took part.
    pub versions: BTreeMap<String, String>,
}

impl Machine {
    /// This machine, with the file system of `data`.
    pub fn here(data: &Path) -> Machine {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let field = |text: &str, key: &str| {
            let line = text.lines().find(|line| line.starts_with(key))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        };
        let unknown = || "unknown".to_owned();
        let memory = field(&read("/proc/meminfo"), "MemTotal").unwrap_or_default();
        let kib = memory.split_whitespace().next().and_then(|kib| kib.parse::<u64>().ok());
        Machine {
            cpu: field(&read("/proc/cpuinfo"), "model name").unwrap_or_else(unknown),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory_mib: kib.unwrap_or(0) / 1024,
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            filesystem: filesystem(&read("/proc/self/mounts"), data).unwrap_or_else(unknown),
            versions: versions(),
        }
    }

    /// A short name for folders, such as `2-core-intel-xeon`.
    pub fn short_name(&self) -> String {
        let plain = self.cpu.replace("(R)", "").replace("(TM)", "").to_lowercase();
        let words: Vec<&str> = plain
            .split(|c: char| !c.is_ascii_alphanumeric())
            .filter(|word| !word.is_empty() && *word != "processor" && *word != "cpu")
            .take(3)
            .collect();
        format!("{}-core-{}", self.cores, words.join("-"))
    }
}

/// The file system type of the longest mount point that `data` lies under.
fn filesystem(mounts: &str, data: &Path) -> Option<String> {
    let data = data.canonicalize().ok()?;
    let fields = mounts.lines().filter_map(|line| {
        let mut fields = line.split_whitespace();
        Some((fields.nth(1)?, fields.next()?))
    });
    let under = fields.filter(|(point, _)| data.starts_with(point));
    under.max_by_key(|(point, _)| point.len()).map(|(_, kind)| kind.to_owned())
}

fn versions() -> BTreeMap<String, String> {
    let commit = output("git", &["describe", "--always", "--dirty"]);
    let own = format!("{} ({})", env!("CARGO_PKG_VERSION"), commit.as_deref().unwrap_or("?"));
    let mut versions = BTreeMap::from([
        ("slipring".to_owned(), own),
        ("sqlite".to_owned(), rusqlite::version().to_owned()),
    ]);
    versions.insert("beanstalkd".to_owned(), version_of("beanstalkd", "-v"));
    versions.insert("rustc".to_owned(), version_of("rustc", "-V"));
    versions
}

/// What an installed program says its version is, asked by `flag`.
pub fn version_of(program: &str, flag: &str) -> String {
    output(program, &[flag]).unwrap_or_else(|| "not installed".to_owned())
}

fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.lines().next()?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_mount_point_decides() {
        let mounts = "/dev/a / ext4 rw 0 0\nproc /proc proc rw 0 0\n";
        assert_eq!(filesystem(mounts, Path::new("/proc/self")).as_deref(), Some("proc"));
        assert_eq!(filesystem(mounts, Path::new("/usr")).as_deref(), Some("ext4"));
    }

    #[test]
    fn a_machine_has_a_short_name_without_trade_marks() {
        let mut machine = Machine::here(Path::new("/"));
        machine.cpu = "Intel(R) Xeon(R) Processor @ 2.20GHz".into();
        machine.cores = 2;
        assert_eq!(machine.short_name(), "2-core-intel-xeon-2");
        assert!(machine.memory_mib > 0 && !machine.kernel.is_empty());
    }
}
