//! Embeds the migrations, in the order of their numbers, and the functions, each after those it
//! needs and with its constants in their places.

#[path = "build/constants.rs"]
mod constants;
#[path = "build/order.rs"]
mod order;

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use order::{Source, order};

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    println!("cargo::rerun-if-changed=migrations");
    println!("cargo::rerun-if-changed=functions");
    let constants = constants::read(&fs::read_to_string(root.join("functions/constants.txt"))?)?;
    let mut functions = functions(&root.join("functions"))?;
    constants::put_in(&constants, &mut functions)?;
    let mut text = String::new();
    list(&mut text, "MIGRATIONS", &migrations(&root.join("migrations"))?)?;
    list(&mut text, "FUNCTIONS", &order(functions)?)?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("embedded.rs"), text)?;
    fs::write(out.join("constants.rs"), constants::in_rust(&constants))?;
    Ok(())
}

fn migrations(folder: &Path) -> Result<Vec<Source>, Box<dyn Error>> {
    let mut files = sources(folder)?;
    files.sort_by(|a, b| a.name.cmp(&b.name));
    for (at, file) in files.iter().enumerate() {
        let number = format!("{:04}_", at + 1);
        if !file.name.starts_with(&number) {
            return Err(format!("migration {} must begin with {number}", file.name).into());
        }
    }
    Ok(files)
}

/// The files of all folders, each folder a subject.
fn functions(folder: &Path) -> Result<Vec<Source>, Box<dyn Error>> {
    let mut files = sources(folder)?;
    if let Some(file) = files.first() {
        return Err(format!("{} is in no folder of its subject", file.path).into());
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(sources(&path)?);
        }
    }
    Ok(files)
}

/// The files of SQL in a folder.
fn sources(folder: &Path) -> Result<Vec<Source>, Box<dyn Error>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "sql") {
            println!("cargo::rerun-if-changed={}", path.display());
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let text = fs::read_to_string(&path)?;
            files.push(Source { name, path: path.display().to_string(), text });
        }
    }
    Ok(files)
}

fn list(text: &mut String, name: &str, files: &[Source]) -> Result<(), Box<dyn Error>> {
    writeln!(text, "static {name}: &[(&str, &str)] = &[")?;
    for Source { name, text: sql, .. } in files {
        writeln!(text, "    ({name:?}, {sql:?}),")?;
    }
    writeln!(text, "];")?;
    Ok(())
}
