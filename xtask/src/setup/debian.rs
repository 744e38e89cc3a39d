//! Programs of the operating system: checked, and installed with apt-get where that is possible.

use std::process::Command;

use crate::process::{self, Outcome};

/// A program that the tests need.
pub struct Need {
    what: &'static str,
    /// A command that ends with status 0 when the program is there and new enough.
    check: &'static [&'static str],
    packages: &'static [&'static str],
}

/// Runs the Python clients and makes their virtual environment.
pub const PYTHON: Need = Need {
    what: "Python 3.10 or newer with venv",
    check: &["python3", "-c", "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))"],
    packages: &["python3", "python3-venv"],
};

/// Runs the JavaScript clients.
pub const NODE: Need = Need {
    what: "Node.js 18 or newer",
    check: &["node", "-e", "process.exit(parseInt(process.versions.node) < 18 ? 1 : 0)"],
    packages: &["nodejs"],
};

/// Installs the JavaScript clients.
pub const NPM: Need = Need { what: "npm", check: &["npm", "--version"], packages: &["npm"] };

/// Builds and runs the Go clients.
pub const GO: Need = Need { what: "Go", check: &["go", "version"], packages: &["golang-go"] };

/// Compiles and runs the Java client.
pub const JAVA: Need = Need {
    what: "a JDK 17 or newer",
    check: &["sh", "-c", "javac --version | grep -Eq '^javac (1[7-9]|[2-9][0-9])'"],
    packages: &["default-jdk-headless"],
};

/// Installs the Java client.
pub const MAVEN: Need = Need { what: "Maven", check: &["mvn", "--version"], packages: &["maven"] };

/// The PHP client is tested as Debian ships it.
pub const PHP: Need = Need {
    what: "PHP 8 with pcntl and posix, Laravel's queue, bus and events, and Pheanstalk",
    check: &[
        "php",
        "-r",
        "error_reporting(E_ALL & ~E_DEPRECATED); \
         foreach (['Bus', 'Events', 'Queue'] as $part) \
             require_once \"Illuminate/$part/autoload.php\"; \
         require_once 'Pheanstalk/autoload.php'; \
         exit(function_exists('pcntl_alarm') && function_exists('posix_kill') ? 0 : 1);",
    ],
    packages: &[
        "php-cli",
        "php-illuminate-bus",
        "php-illuminate-events",
        "php-illuminate-queue",
        "php-pda-pheanstalk",
    ],
};

/// The lab measures against it.
pub const BEANSTALKD: Need =
    Need { what: "beanstalkd", check: &["beanstalkd", "-v"], packages: &["beanstalkd"] };

/// The tests of the PostgreSQL store start a server of their own from it.
pub const POSTGRES: Need = Need {
    what: "PostgreSQL 14 or newer",
    check: &[
        "sh",
        "-c",
        "for folder in \"$SLIPRING_POSTGRES_BIN\" /usr/lib/postgresql/1[4-9]/bin \
         /usr/lib/postgresql/[2-9]?/bin; do test -x \"$folder/postgres\" && exit 0; done; exit 1",
    ],
    packages: &["postgresql"],
};

/// Steps the wall clock of a server on a bad day of the lab.
pub const FAKETIME: Need = Need {
    what: "libfaketime",
    check: &["sh", "-c", "ls /usr/lib/*/faketime/libfaketime.so.1"],
    packages: &["libfaketime"],
};

/// The report of the lab is opened in it, and pages that try to reach a server of this machine.
pub const CHROMIUM: Need =
    Need { what: "Chromium", check: &["chromium", "--version"], packages: &["chromium"] };

/// Pages that try to reach a server of this machine are opened in it and in Chromium.
pub const FIREFOX: Need =
    Need { what: "Firefox ESR", check: &["firefox-esr", "--version"], packages: &["firefox-esr"] };

/// The lab's cases measure designs on it. Debian keeps the server where only root looks.
pub const MARIADB: Need = Need {
    what: "MariaDB server",
    check: &[
        "sh",
        "-c",
        "PATH=\"$PATH:/usr/sbin\" mariadbd --version && command -v mariadb-install-db",
    ],
    packages: &["mariadb-server"],
};

/// The lab measures against it.
pub const REDIS: Need = Need {
    what: "Redis server",
    check: &["redis-server", "--version"],
    packages: &["redis-server"],
};

/// The lab measures against it. The program of this name in PATH only changes the user.
pub const RABBITMQ: Need = Need {
    what: "RabbitMQ server",
    check: &["test", "-x", "/usr/lib/rabbitmq/bin/rabbitmq-server"],
    packages: &["rabbitmq-server"],
};

/// The PostgreSQL store is tested behind it. Debian keeps it where only root looks.
pub const PGBOUNCER: Need = Need {
    what: "PgBouncer",
    check: &["sh", "-c", "PATH=\"$PATH:/usr/sbin\" pgbouncer --version"],
    packages: &["pgbouncer"],
};

/// Calls the admin API in the examples of the documentation.
pub const CURL: Need = Need { what: "curl", check: &["curl", "--version"], packages: &["curl"] };

/// Copies a file in the examples of the documentation.
pub const SQLITE: Need =
    Need { what: "the shell of SQLite", check: &["sqlite3", "--version"], packages: &["sqlite3"] };

/// Makes the image.
pub const BUILDAH: Need =
    Need { what: "buildah", check: &["buildah", "--version"], packages: &["buildah"] };

/// Judges the unit of the service.
pub const SYSTEMD: Need = Need {
    what: "systemd-analyze",
    check: &["systemd-analyze", "--version"],
    packages: &["systemd"],
};

/// What `cargo xtask package` needs.
pub const PACKAGING: [&Need; 2] = [&BUILDAH, &SYSTEMD];

/// Everything that `cargo xtask test` needs.
pub const ALL: [&Need; 18] = [
    &PYTHON,
    &NODE,
    &NPM,
    &GO,
    &JAVA,
    &MAVEN,
    &PHP,
    &BEANSTALKD,
    &POSTGRES,
    &PGBOUNCER,
    &MARIADB,
    &FAKETIME,
    &CHROMIUM,
    &FIREFOX,
    &REDIS,
    &RABBITMQ,
    &CURL,
    &SQLITE,
];

/// Makes sure that each of `needs` is there; installs what is missing as root on Debian, else
/// says what to install.
pub fn run(needs: &[&Need]) -> Outcome {
    let missing = missing(needs);
    if missing.is_empty() {
        return Ok(());
    }
    let packages: Vec<&str> = missing.iter().flat_map(|need| need.packages).copied().collect();
    if !can_install() {
        return Err(missing_text(&missing, &packages));
    }
    println!("set-up: installing {}", packages.join(" "));
    let mut update = Command::new("apt-get");
    process::run(update.args(["update", "-q"]))?;
    let mut install = Command::new("apt-get");
    install.args(["install", "-q", "-y", "--no-install-recommends"]).args(&packages);
    // Runlevel 1 keeps a package's own service from starting and taking a port.
    install.env("DEBIAN_FRONTEND", "noninteractive").env("RUNLEVEL", "1");
    process::run(&mut install)?;
    let still = self::missing(needs);
    if still.is_empty() {
        return Ok(());
    }
    Err(missing_text(&still, &packages))
}

fn missing<'n>(needs: &[&'n Need]) -> Vec<&'n Need> {
    let there = |need: &Need| process::succeeds(Command::new(need.check[0]).args(&need.check[1..]));
    needs.iter().copied().filter(|need| !there(need)).collect()
}

/// True for root on a system with apt-get.
fn can_install() -> bool {
    let id = process::captured(Command::new("id").arg("-u"));
    let root = id.is_ok_and(|(_, number)| number.trim() == "0");
    root && process::succeeds(Command::new("apt-get").arg("--version"))
}

fn missing_text(missing: &[&Need], packages: &[&str]) -> String {
    let whats: Vec<&str> = missing.iter().map(|need| need.what).collect();
    format!(
        "missing: {}. On Debian: sudo apt-get install {}. Elsewhere install the same programs \
         so that they are on PATH, then run this again",
        whats.join(", "),
        packages.join(" ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_names_what_is_missing_and_the_packages() {
        let absent =
            Need { what: "Absent 3", check: &["no-such-program-here"], packages: &["absent"] };
        let found = missing(&[&absent]);
        assert_eq!(found.len(), 1);
        let text = missing_text(&found, &["absent"]);
        assert!(text.starts_with("missing: Absent 3. On Debian: sudo apt-get install absent."));
    }

    #[test]
    fn a_program_that_is_there_is_not_missing() {
        let there = Need { what: "cargo", check: &["cargo", "--version"], packages: &[] };
        assert!(missing(&[&there]).is_empty());
    }
}
