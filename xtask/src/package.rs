//! `cargo xtask package`: the Debian package and the container image, each started once.
//!
//! Both are made of the release binary. What they hold is laid out under `target/package`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{self, Outcome};
use crate::repository::Repository;
use crate::server::Server;

/// The tool that makes the Debian package, in the version that is tried.
const CARGO_DEB: &str = "3.6.2";
const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];
/// The most that a stripped binary takes; it was 84 MB with its debug information.
const BINARY_BYTES_MAX: u64 = 20_000_000;
/// The highest exposure of the unit, in tenths, as `systemd-analyze security` counts.
const EXPOSURE_TENTHS_MAX: &str = "--threshold=29";
/// What the unit is called in the package.
const UNIT: &str = "usr/lib/systemd/system/slipring.service";
const IMAGE: &str = "localhost/slipring:test";
/// The user of the image, for `chroot`.
const USER: &str = "--userspec=65532:65532";
const SERVER_SECONDS: u32 = 120;

/// Makes both, and starts what is in them.
///
/// # Errors
/// When one cannot be made, lacks something, or does not serve.
pub fn run(repository: &Repository) -> Outcome {
    let binary = repository.release_binary()?;
    let bytes = std::fs::metadata(&binary).map_err(|error| error.to_string())?.len();
    if bytes > BINARY_BYTES_MAX {
        return Err(format!("the binary has {bytes} bytes; at most {BINARY_BYTES_MAX} are meant"));
    }
    let made = Made::emptied(repository)?;
    made.descriptions(&binary)?;
    made.debian(repository)?;
    made.image(repository, &binary)
}

/// The folder of all that is made.
struct Made(PathBuf);

impl Made {
    fn emptied(repository: &Repository) -> Outcome<Made> {
        let folder = repository.root().join("target/package");
        if folder.exists() {
            std::fs::remove_dir_all(&folder).map_err(|error| named(&folder, &error))?;
        }
        let made = Made(folder);
        for part in ["man", "completions", "installed", "image/root"] {
            made.folder(part)?;
        }
        Ok(made)
    }

    fn folder(&self, name: &str) -> Outcome<PathBuf> {
        let folder = self.0.join(name);
        std::fs::create_dir_all(&folder).map_err(|error| named(&folder, &error))?;
        Ok(folder)
    }

    /// The manual pages and the completions, as the binary writes them.
    fn descriptions(&self, binary: &Path) -> Outcome {
        process::run(Command::new(binary).args(["man", "--out"]).arg(self.0.join("man")))?;
        for shell in SHELLS {
            let text = process::output(Command::new(binary).args(["completions", shell]))?;
            let file = self.0.join(format!("completions/slipring.{shell}"));
            std::fs::write(&file, text).map_err(|error| named(&file, &error))?;
        }
        Ok(())
    }

    /// Makes the Debian package, looks at what it would install, and serves from that.
    fn debian(&self, repository: &Repository) -> Outcome {
        let tools = repository.root().join("target/tools");
        let cargo_deb = tools.join("bin/cargo-deb");
        let version = process::captured(Command::new(&cargo_deb).arg("--version"));
        if !version.is_ok_and(|(_, version)| version.trim().ends_with(CARGO_DEB)) {
            let mut install = repository.cargo(&["install", "cargo-deb", "--version", CARGO_DEB]);
            install.args(["--locked", "--no-default-features", "--root"]).arg(&tools);
            process::run(&mut install)?;
        }
        let package = self.0.join("slipring.deb");
        let mut make = Command::new(cargo_deb);
        make.args(["deb", "--no-build", "--package", "slipring-cli", "--output"]).arg(&package);
        process::run(make.current_dir(repository.root()))?;
        let installed = self.0.join("installed");
        process::run(Command::new("dpkg-deb").arg("--extract").args([&package, &installed]))?;
        let mut judge = Command::new("systemd-analyze");
        judge.args(["security", "--offline=true", EXPOSURE_TENTHS_MAX]).arg(installed.join(UNIT));
        process::output(&mut judge)?;
        for file in ["etc/slipring/slipring.toml", "usr/share/man/man1/slipring.1.gz"] {
            if !installed.join(file).exists() {
                return Err(format!("the Debian package lacks {file}"));
            }
        }
        self.serves(&installed.join("usr/bin/slipring"), &installed)
    }

    /// Starts the server of the package, and takes a message through it.
    fn serves(&self, binary: &Path, installed: &Path) -> Outcome {
        let check = ["config", "--config"];
        let file = installed.join("etc/slipring/slipring.toml");
        process::output(Command::new(binary).args(check).arg(file))?;
        let store = format!("sqlite:{}", self.0.join("slipring.db").display());
        let server = Server::start(binary, &store, &self.0.join("server.log"))?;
        takes_a_message(binary, &server.addresses().admin)?;
        server.stop()
    }

    /// Makes the image, and takes a message through a server that sees nothing but what is in it.
    fn image(&self, repository: &Repository, binary: &Path) -> Outcome {
        let root = self.0.join("image/root");
        self.folder("image/data")?;
        copied(binary, &root.join("usr/bin/slipring"))?;
        for library in libraries(binary)? {
            copied(&library, &root.join(library.strip_prefix("/").unwrap_or(&library)))?;
        }
        let mut build = Command::new("buildah");
        build.args(["build", "--isolation=chroot", "--tag", IMAGE, "--file"]);
        build.arg(repository.root().join("ops/Containerfile")).arg(self.0.join("image"));
        process::run(&mut build)?;
        let container = process::output(Command::new("buildah").args(["from", IMAGE]))?;
        let container = container.trim();
        let served = self.serves_in(container, binary);
        process::output(Command::new("buildah").args(["rm", container]))?;
        served
    }

    /// Serves from the files of a container, as its user. A machine that is itself a container has
    /// no rights to start one in full.
    fn serves_in(&self, container: &str, binary: &Path) -> Outcome {
        let root = process::output(Command::new("buildah").args(["mount", container]))?;
        let mut command = process::limited_alone(SERVER_SECONDS, "chroot");
        command.args([USER, root.trim(), "/usr/bin/slipring", "serve"]);
        for listener in ["--sqs", "--beanstalkd", "--admin"] {
            command.args([listener, "127.0.0.1:0"]);
        }
        command.args(["--store", "sqlite:/data/slipring.db"]);
        let server = Server::of(command, &self.0.join("image.log"))?;
        takes_a_message(binary, &server.addresses().admin)?;
        server.stop()
    }
}

/// Copies a file and makes the folders above it.
fn copied(file: &Path, to: &Path) -> Outcome {
    let folder = to.parent().unwrap_or(to);
    std::fs::create_dir_all(folder).map_err(|error| named(folder, &error))?;
    std::fs::copy(file, to).map(drop).map_err(|error| named(file, &error))
}

/// Sends, receives and acks one message by the verbs of the command line.
fn takes_a_message(program: &Path, admin: &str) -> Outcome {
    let ask = |arguments: &[&str]| {
        process::output(Command::new(program).args(arguments).args(["--admin", admin]))
    };
    ask(&["queue", "create", "packaged"])?;
    ask(&["send", "packaged", "hello from the package"])?;
    let received = ask(&["receive", "packaged", "--ack"])?;
    match received.contains("hello from the package") {
        true => Ok(()),
        false => Err(format!("what was sent did not come back: {received:?}")),
    }
}

/// The shared libraries that a program names, with the one that loads them.
fn libraries(program: &Path) -> Outcome<Vec<PathBuf>> {
    let text = process::output(Command::new("ldd").arg(program))?;
    let words = text.split_whitespace().filter(|word| word.starts_with('/'));
    let found: Vec<PathBuf> = words.map(PathBuf::from).collect();
    match found.is_empty() {
        true => Err(format!("ldd names no library of {}: {text}", program.display())),
        false => Ok(found),
    }
}

fn named(path: &Path, error: &dyn std::fmt::Display) -> String {
    format!("{}: {error}", path.display())
}
